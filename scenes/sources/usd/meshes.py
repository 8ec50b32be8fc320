"""`UsdGeom.Mesh` prims as triangles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pxr import Usd, UsdGeom

from scenes.sources.usd.polygons import triangulated
from scenes.sources.usd.reading.stage import TIME, UsdStage

_SMOOTH = ("catmullClark", "loop")


@dataclass(frozen=True)
class UsdTriangles:
    """Triangles of a prim in its own frame, in the stage's units."""

    points: NDArray[np.float64]
    """Vertices, [n, 3]."""
    faces: NDArray[np.int64]
    """Vertices of each triangle, counter-clockwise seen from outside, [m, 3]."""
    normals: NDArray[np.float64]
    """Unit normal at each corner, [m, 3, 3]."""
    polygon: NDArray[np.int64]
    """Face of the source that each triangle is cut from, [m]."""
    corner: NDArray[np.int64]
    """Face-vertex of the source at each corner, [m, 3]."""
    polygon_count: int
    double_sided: bool

    def __len__(self) -> int:
        """Count the triangles."""
        return len(self.faces)


def mesh_triangles(stage: UsdStage, prim: Usd.Prim) -> UsdTriangles:
    """Read a mesh.

    Raises:
        AssetError: Its points are missing or not finite, or its faces do not fit them; names
            prim, attribute, index and value.
    """
    mesh = UsdGeom.Mesh(prim)
    points = stage.array(mesh.GetPointsAttr(), 3)
    counts, indices = (
        None if values is None else values.astype(np.int64)
        for values in (
            stage.array(mesh.GetFaceVertexCountsAttr()),
            stage.array(mesh.GetFaceVertexIndicesAttr()),
        )
    )
    _check_extent(stage, mesh)
    if points is None or not len(points):
        raise stage.refusal(prim, "an empty mesh: it has no points. Repair the file or hide it.")
    if counts is None or indices is None or not len(counts):
        raise stage.refusal(prim, "an empty mesh: it has no faces. Repair the file or hide it.")
    _check_faces(stage, prim, len(points), counts, indices)
    corner, polygon = triangulated(points, counts, indices)
    holes = stage.array(mesh.GetHoleIndicesAttr())
    keep = ~np.isin(polygon, np.empty(0) if holes is None else holes)
    faces = indices[corner]
    keep &= np.all(faces != np.roll(faces, 1, axis=1), axis=1)
    corner, polygon, faces = corner[keep], polygon[keep], faces[keep]
    corners = points[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    if not np.any(across):
        raise stage.refusal(prim, "an empty mesh: no face of it has an area.")
    if int(counts.max()) > 3:
        stage.notes.differs(f"{prim.GetPath()}: faces of more than three corners became triangles")
    scheme = str(stage.value(mesh.GetSubdivisionSchemeAttr(), "catmullClark"))
    if scheme != "none":
        stage.notes.differs(
            f"{prim.GetPath()}: subdivisionScheme {scheme}: its base cage is shown, not divided"
        )
    normals = _normals(stage, mesh, points, faces, corner, polygon, scheme)
    if stage.value(mesh.GetOrientationAttr()) == UsdGeom.Tokens.leftHanded:
        faces, corner, normals = faces[:, ::-1], corner[:, ::-1], normals[:, ::-1]
    return UsdTriangles(
        points,
        np.ascontiguousarray(faces),
        np.ascontiguousarray(normals),
        polygon,
        np.ascontiguousarray(corner),
        len(counts),
        bool(stage.value(mesh.GetDoubleSidedAttr(), False)),
    )


def corner_values(
    stage: UsdStage, prim: Usd.Prim, triangles: UsdTriangles, primvar: UsdGeom.Primvar, width: int
) -> NDArray[np.float64]:
    """Values of a primvar at each corner of the triangles, [m, 3, width].

    Raises:
        AssetError: A value is not finite, or their number does not fit; names the primvar.
    """
    attribute = primvar.GetAttr()
    values = stage.array(attribute, width)
    if values is None:
        raise stage.refusal(prim, f"{attribute.GetName()} has no value.")
    values = values.reshape(-1, width)
    if primvar.IsIndexed():
        values = _picked(stage, prim, values, primvar)
    interpolation = str(primvar.GetInterpolation())
    return _spread(stage, prim, triangles, values, interpolation, str(attribute.GetName()))


def _picked(
    stage: UsdStage, prim: Usd.Prim, values: NDArray[np.float64], primvar: UsdGeom.Primvar
) -> NDArray[np.float64]:
    indices = np.array(primvar.GetIndices(TIME), dtype=np.int64)
    wrong = np.flatnonzero((indices < 0) | (indices >= len(values)))
    if len(wrong):
        raise stage.refusal(
            prim,
            f"{primvar.GetIndicesAttr().GetName()}[{wrong[0]}] = {indices[wrong[0]]}; there are "
            f"{len(values)} values.",
        )
    return values[indices]


def _spread(
    stage: UsdStage,
    prim: Usd.Prim,
    triangles: UsdTriangles,
    values: NDArray[np.float64],
    interpolation: str,
    name: str,
) -> NDArray[np.float64]:
    corners = int(triangles.corner.max()) + 1
    match interpolation:
        case "constant":
            place, least = np.zeros_like(triangles.faces), 1
        case "uniform":
            place, least = np.tile(triangles.polygon[:, None], 3), triangles.polygon_count
        case "vertex" | "varying":
            place, least = triangles.faces, len(triangles.points)
        case _:
            place, least = triangles.corner, corners
    if len(values) < least:
        raise stage.refusal(
            prim,
            f"{name} has {len(values)} values; with interpolation {interpolation} at least "
            f"{least} are needed.",
        )
    return values[place]


def _check_faces(
    stage: UsdStage,
    prim: Usd.Prim,
    point_count: int,
    counts: NDArray[np.int64],
    indices: NDArray[np.int64],
) -> None:
    small = np.flatnonzero(counts < 3)
    if len(small):
        raise stage.refusal(
            prim,
            f"faceVertexCounts[{small[0]}] = {counts[small[0]]}; a face has at least 3 corners.",
        )
    if int(counts.sum()) != len(indices):
        raise stage.refusal(
            prim,
            f"faceVertexCounts add up to {counts.sum()}, but there are {len(indices)} "
            "faceVertexIndices.",
        )
    wrong = np.flatnonzero((indices < 0) | (indices >= point_count))
    if len(wrong):
        raise stage.refusal(
            prim,
            f"faceVertexIndices[{wrong[0]}] = {indices[wrong[0]]}; there are {point_count} points.",
        )


def _check_extent(stage: UsdStage, mesh: UsdGeom.Mesh) -> None:
    if mesh.GetExtentAttr().HasAuthoredValue():
        stage.array(mesh.GetExtentAttr(), 3)


def _normals(
    stage: UsdStage,
    mesh: UsdGeom.Mesh,
    points: NDArray[np.float64],
    faces: NDArray[np.int64],
    corner: NDArray[np.int64],
    polygon: NDArray[np.int64],
    scheme: str,
) -> NDArray[np.float64]:
    """Unit normals at corners, [m, 3, 3], on the side that the winding of the file says."""
    corners = points[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    left = stage.value(mesh.GetOrientationAttr()) == UsdGeom.Tokens.leftHanded
    flat = _unit(-across if left else across, np.array([0.0, 0.0, 1.0]))
    face_normals = np.repeat(flat[:, None], 3, axis=1)
    primvar = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("normals")
    prim, count = mesh.GetPrim(), int(polygon.max()) + 1
    counts = len(np.array(mesh.GetFaceVertexCountsAttr().Get(TIME)))
    triangles = UsdTriangles(
        points, faces, face_normals, polygon, corner, max(count, counts), False
    )
    if primvar.HasAuthoredValue():
        return _unit(corner_values(stage, prim, triangles, primvar, 3), face_normals)
    authored = stage.array(mesh.GetNormalsAttr(), 3)
    if authored is not None and len(authored):
        way = str(mesh.GetNormalsInterpolation())
        return _unit(_spread(stage, prim, triangles, authored, way, "normals"), face_normals)
    if scheme not in _SMOOTH:
        return face_normals
    total = np.zeros_like(points)
    np.add.at(total, faces.ravel(), np.repeat(-across if left else across, 3, axis=0))
    return _unit(total[faces], face_normals)


def _unit(vectors: NDArray[np.float64], fallback: NDArray[np.float64]) -> NDArray[np.float64]:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.where(length > 0, vectors / np.where(length > 0, length, 1.0), fallback)
