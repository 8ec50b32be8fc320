"""Collision proxies: invisible shapes that stand for the geoms which collide.

Each proxy fills the cube from -1 to 1 of its own frame; its `xformOp:transform` is the pose in the
body with the half extents as scale. Planes have no proxy: MuJoCo's collide without end, and so
does a `UsdGeom.Plane`, which stands beside the body's parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Usd, UsdGeom, UsdPhysics, Vt

from scenes.convert.conversion import Collider, Conversion
from scenes.convert.shapes.geom_extents import geom_extent
from scenes.convert.shapes.meshes import geom_triangles, plane_half_extents
from scenes.stage.info import BodyInfo
from scenes.stage.matrices import Matrix, matrix_value, rigid_inverse
from scenes.stage.names import provenance

if TYPE_CHECKING:
    import trimesh

FLAT = 1e-6
"""Half extent up to which a shape counts as flat [m]."""
THICKENED = 5e-4
"""Half extent that a flat shape's proxy gets [m]."""

_GEOM = mujoco.mjtGeom


def collides(model: mujoco.MjModel, geom: int) -> bool:
    """Tell whether a geom takes part in collisions."""
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def convert_proxies(conversion: Conversion) -> None:
    """Write the proxies of all colliding geoms, by the description's rule.

    `boxes`: a box per geom, in the geom's frame. `body_box`: one per body, in the body's frame.
    `object_box`: one per object, in the frame of its first body, around all of it at its initial
    position. `hull`: a convex hull per geom. Flat shapes are thickened; objects without colliding
    geoms have none. The report tells of both.
    """
    solid: list[Collider] = []
    for collider in conversion.colliders:
        if conversion.model.geom_type[collider.geom] == _GEOM.mjGEOM_PLANE:
            _plane(conversion, collider)
        else:
            solid.append(collider)
    for proxy in _RULES[conversion.description.collision](conversion, solid):
        _write(conversion, proxy)
    for collider in solid:
        _note_unused_vertices(conversion, collider.geom)
    instances = {collider.body.instance for collider in conversion.colliders}
    conversion.report.left_out += [
        f"object {owner.name}: no geom of it collides, so it has no collision proxy"
        for owner in conversion.objects
        if owner.instance not in instances
    ]


def _note_unused_vertices(conversion: Conversion, geom: int) -> None:
    """Tell which bound a mesh's proxy took where vertices in no face reach farther than the faces.

    MuJoCo's own bound, which a box per geom has, holds all vertices; the other proxies hold faces.
    """
    model = conversion.model
    if model.geom_type[geom] != _GEOM.mjGEOM_MESH:
        return
    mesh = int(model.geom_dataid[geom])
    first, face = int(model.mesh_vertadr[mesh]), int(model.mesh_faceadr[mesh])
    points = model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])]
    used = points[np.unique(model.mesh_face[face : face + int(model.mesh_facenum[mesh])])]
    excess = max(
        float(np.max(used.min(axis=0) - points.min(axis=0))),
        float(np.max(points.max(axis=0) - used.max(axis=0))),
    )
    if excess <= FLAT:
        return
    name = conversion.name(mujoco.mjtObj.mjOBJ_GEOM, geom) or geom
    whole = conversion.description.collision == "boxes"
    bound = "they are in the box, as in MuJoCo's bound" if whole else "they are left outside"
    conversion.report.approximated.append(
        f"collision proxy of geom {name}: vertices of its mesh that no face uses reach "
        f"{excess:.3g} m beyond the faces; {bound}"
    )


@dataclass(frozen=True)
class _Proxy:
    body: BodyInfo
    name: str
    """Name of the prim."""
    source: tuple[str, str | None, int]
    """Kind, name and number of what it stands for."""
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    """Ends of the box in its frame [m], [3]."""
    T_body_box: Matrix
    hull: trimesh.Trimesh | None = None


def _geom_boxes(conversion: Conversion, colliders: Iterable[Collider]) -> Iterator[_Proxy]:
    for collider in colliders:
        geom = collider.geom
        center, half = np.split(np.array(conversion.model.geom_aabb[geom]), 2)
        name = conversion.name(mujoco.mjtObj.mjOBJ_GEOM, geom)
        yield _Proxy(
            collider.body,
            f"geom_{geom}",
            ("geom", name, geom),
            center - half,
            center + half,
            collider.T_body_geom,
        )


def _hulls(conversion: Conversion, colliders: Iterable[Collider]) -> Iterator[_Proxy]:
    # They load slowly, and few scenes want hulls.
    import trimesh
    from scipy.spatial import QhullError

    for collider, box in zip(colliders, _geom_boxes(conversion, colliders), strict=True):
        points = geom_triangles(conversion.model, collider.geom, -1).points.astype(np.float64)
        try:
            hull = trimesh.convex.convex_hull(points)
        except QhullError:
            yield box
            continue
        low, high = points.min(axis=0), points.max(axis=0)
        yield _Proxy(box.body, box.name, box.source, low, high, box.T_body_box, hull)


def _body_boxes(conversion: Conversion, colliders: Iterable[Collider]) -> Iterator[_Proxy]:
    carried: dict[str, list[Collider]] = {}
    for collider in colliders:
        carried.setdefault(collider.body.path, []).append(collider)
    for members in carried.values():
        body = members[0].body
        poses = [(member.geom, member.T_body_geom) for member in members]
        low, high = _around(conversion.model, poses)
        source = ("body", body.name, body.body_id)
        yield _Proxy(body, "body", source, low, high, np.eye(4))


def _object_boxes(conversion: Conversion, colliders: Iterable[Collider]) -> Iterator[_Proxy]:
    carried: dict[int, list[Collider]] = {}
    for collider in colliders:
        carried.setdefault(collider.body.instance, []).append(collider)
    for owner in conversion.objects:
        members = carried.get(owner.instance, [])
        if not members:
            continue
        first = next(body for body in conversion.bodies if body.instance == owner.instance)
        T_first_world = rigid_inverse(conversion.body_pose(first.body_id))
        poses = [
            (m.geom, T_first_world @ conversion.body_pose(m.body.body_id) @ m.T_body_geom)
            for m in members
        ]
        low, high = _around(conversion.model, poses)
        yield _Proxy(first, "object", ("object", owner.name, owner.instance), low, high, np.eye(4))
        if any(member.body.path != members[0].body.path for member in members):
            conversion.report.approximated.append(
                f"collision box of object {owner.name}: around all its bodies as they stand "
                "initially; it moves with the first"
            )


_RULES = {
    "boxes": _geom_boxes, "hull": _hulls, "body_box": _body_boxes, "object_box": _object_boxes,
}  # fmt: skip


def _around(
    model: mujoco.MjModel, poses: list[tuple[int, Matrix]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    extents = [geom_extent(model, geom, pose) for geom, pose in poses]
    lows, highs = zip(*extents, strict=True)
    return np.min(lows, axis=0), np.max(highs, axis=0)


def _scale(low: NDArray[np.float64], high: NDArray[np.float64]) -> Matrix:
    half = (high - low) / 2
    box = np.diag([*np.where(half <= FLAT, THICKENED, half), 1.0]).astype(np.float64)
    box[:3, 3] = (low + high) / 2
    return box


def _write(conversion: Conversion, proxy: _Proxy) -> None:
    scope = f"{proxy.body.path}/collision"
    UsdGeom.Scope.Define(conversion.stage, scope)
    path, box = f"{scope}/{proxy.name}", _scale(proxy.low, proxy.high)
    if proxy.hull is None:
        shape = UsdGeom.Cube.Define(conversion.stage, path)
        shape.CreateSizeAttr(2.0)
    else:
        shape = _hull_mesh(conversion.stage, path, proxy.hull, box)
    shape.AddTransformOp().Set(matrix_value(proxy.T_body_box @ box))
    _hide(conversion, shape, proxy.source)
    if np.any((proxy.high - proxy.low) / 2 <= FLAT):
        conversion.report.approximated.append(
            f"collision box of {proxy.source[0]} {proxy.source[1] or proxy.source[2]}: flat, so "
            f"thickened to {2 * THICKENED * 1000:g} mm"
        )


def _hull_mesh(stage: Usd.Stage, path: str, hull: trimesh.Trimesh, box: Matrix) -> UsdGeom.Mesh:
    mesh = UsdGeom.Mesh.Define(stage, path)
    points = (np.asarray(hull.vertices) - box[:3, 3]) / np.diag(box)[:3]
    faces = np.asarray(hull.faces, dtype=np.int32)
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points.astype(np.float32)))
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(np.ascontiguousarray(faces.ravel())))
    mesh.CreateExtentAttr(Vt.Vec3fArray([Gf.Vec3f(-1.0), Gf.Vec3f(1.0)]))
    api = UsdPhysics.MeshCollisionAPI.Apply(mesh.GetPrim())
    api.CreateApproximationAttr(UsdPhysics.Tokens.convexHull)
    return mesh


def _plane(conversion: Conversion, collider: Collider) -> None:
    geom = collider.geom
    path = conversion.child_path(collider.body.path, f"collision_plane_{geom}", "plane", geom)
    plane = UsdGeom.Plane.Define(conversion.stage, path)
    width, length = plane_half_extents(conversion.model, geom)
    plane.CreateAxisAttr(UsdGeom.Tokens.z)
    plane.CreateWidthAttr(2.0 * width)
    plane.CreateLengthAttr(2.0 * length)
    plane.AddTransformOp().Set(matrix_value(collider.T_body_geom))
    name = conversion.name(mujoco.mjtObj.mjOBJ_GEOM, geom)
    _hide(conversion, plane, ("geom", name, geom))


def _hide(
    conversion: Conversion, shape: UsdGeom.Gprim, source: tuple[str, str | None, int]
) -> None:
    shape.CreatePurposeAttr(UsdGeom.Tokens.guide)
    shape.CreateVisibilityAttr(UsdGeom.Tokens.invisible)
    UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
    provenance(shape.GetPrim(), *source)
    conversion.proxies += 1
