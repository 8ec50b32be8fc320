"""Triangles as `UsdGeom.Mesh` prims and back.

Points, normals and texture coordinates are each stored once: what shares a position but not a
normal, as at a crease, is told apart by indices, which USD's binary files compress well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, Vt

Floats = NDArray[np.float32]
Index = NDArray[np.int32]
_NORMALS = "normals"
_ST = "st"
_FACTORS = np.random.default_rng(0).integers(1, 2**63, 4, dtype=np.uint64) | 1


@dataclass(frozen=True)
class Triangles:
    """A drawn mesh in the frame of its prim."""

    points: NDArray[np.float32]
    """Vertex positions [m], [n, 3]; one vertex per distinct (position, normal, st)."""
    faces: NDArray[np.int32]
    """Vertex indices, counter-clockwise seen from outside, [m, 3]."""
    normals: NDArray[np.float32]
    """Unit vertex normals, [n, 3]."""
    st: NDArray[np.float32] | None
    """Texture coordinates, v up, [n, 2]."""


def write_triangles(stage: Usd.Stage, path: str, triangles: Triangles) -> UsdGeom.Mesh:
    """Define a mesh prim of triangles, without material, pose or sidedness."""
    points, place = _distinct(triangles.points)
    indices = place[triangles.faces]
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    mesh.CreateOrientationAttr(UsdGeom.Tokens.rightHanded)
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points))
    counts = np.full(len(indices), 3, dtype=np.int32)
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(counts))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(indices.ravel()))
    ends = (points.min(axis=0), points.max(axis=0))
    mesh.CreateExtentAttr(Vt.Vec3fArray([Gf.Vec3f(*map(float, end)) for end in ends]))
    _write_primvar(mesh, _NORMALS, Sdf.ValueTypeNames.Normal3fArray, triangles.normals, triangles)
    if triangles.st is not None:
        _write_primvar(mesh, _ST, Sdf.ValueTypeNames.TexCoord2fArray, triangles.st, triangles)
    return mesh


def without_repeats(triangles: Triangles) -> tuple[Triangles, int]:
    """Leave out the faces with two corners at one point, and the vertices that no other face has.

    They have no area, and programs that build edges from faces may end over them. A mesh of
    nothing else stays as it is. Faces without area whose corners are three points stay too.

    Returns:
        The mesh, and how many faces were left out.
    """
    _, place = _distinct(triangles.points)
    a, b, c = place[triangles.faces].T
    keep = (a != b) & (b != c) & (c != a)
    count = int(np.count_nonzero(~keep))
    if count in (0, len(keep)):
        return triangles, 0
    used, faces = np.unique(triangles.faces[keep], return_inverse=True)
    return Triangles(
        triangles.points[used],
        faces.reshape(-1, 3).astype(np.int32),
        triangles.normals[used],
        None if triangles.st is None else triangles.st[used],
    ), count


def read_triangles(mesh: UsdGeom.Mesh) -> Triangles:
    """Read a mesh that `write_triangles` wrote, with one vertex per distinct corner."""
    points = np.array(mesh.GetPointsAttr().Get(), dtype=np.float32)
    indices = np.array(mesh.GetFaceVertexIndicesAttr().Get(), dtype=np.int64)
    normals, normal_index = _read_primvar(mesh, _NORMALS)
    st, st_index = _read_primvar(mesh, _ST)
    key = indices * len(normals) + normal_index
    if len(st):
        key = key * len(st) + st_index
    _, first, faces = np.unique(key, return_index=True, return_inverse=True)
    return Triangles(
        points=points[indices[first]],
        faces=faces.reshape(-1, 3).astype(np.int32),
        normals=normals[normal_index[first]],
        st=st[st_index[first]] if len(st) else None,
    )


def _write_primvar(
    mesh: UsdGeom.Mesh,
    name: str,
    kind: Sdf.ValueTypeName,
    values: Floats,
    triangles: Triangles,
) -> None:
    distinct, place = _distinct(values)
    primvar = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(name, kind, UsdGeom.Tokens.faceVarying)
    array = Vt.Vec3fArray if distinct.shape[1] == 3 else Vt.Vec2fArray
    primvar.Set(array.FromNumpy(distinct))
    primvar.SetIndices(Vt.IntArray.FromNumpy(place[triangles.faces].ravel()))


def _read_primvar(mesh: UsdGeom.Mesh, name: str) -> tuple[Floats, NDArray[np.int64]]:
    primvar = UsdGeom.PrimvarsAPI(mesh).GetPrimvar(name)
    if not primvar.IsDefined():
        return np.zeros((0, 2), np.float32), np.zeros(0, np.int64)
    values = np.array(primvar.Get(), dtype=np.float32)
    return values, np.array(primvar.GetIndices(), dtype=np.int64)


def _distinct(rows: Floats) -> tuple[Floats, Index]:
    """Rows without repeats, bit by bit, in the order of their first use; where each one went."""
    bits = np.ascontiguousarray(rows).view(np.uint32).astype(np.uint64)
    factors = _FACTORS[: rows.shape[1]]
    hashes = ((bits ^ (bits << 31)) * factors).sum(axis=1, dtype=np.uint64)
    _, first, index = np.unique(hashes, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first[index]], rows):
        # Two rows share a hash.
        return np.ascontiguousarray(rows), np.arange(len(rows), dtype=np.int32)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return np.ascontiguousarray(rows[first[order]]), place[index]
