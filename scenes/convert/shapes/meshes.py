"""Triangles of a compiled geom, as MuJoCo draws it."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from scenes.convert.shapes import primitives
from scenes.convert.shapes.hfields import height_field
from scenes.convert.shapes.primitives import Surface
from scenes.convert.shapes.tessellation import model_tessellation
from scenes.convert.shapes.texture_coordinates import Projection, cube_mapped, flat_st
from scenes.errors import SceneError
from scenes.stage.mesh_prims import Triangles

# Below this cosine MuJoCo shades a mesh without texture coordinates flat.
_SMOOTH_COSINE = 0.8

_GEOM = mujoco.mjtGeom
_METRIC = frozenset({_GEOM.mjGEOM_PLANE, _GEOM.mjGEOM_MESH, _GEOM.mjGEOM_SDF, _GEOM.mjGEOM_HFIELD})


def geom_triangles(model: mujoco.MjModel, geom: int, texture: int) -> Triangles:
    """Triangles of a geom in its own frame, with the coordinates of its texture.

    Args:
        model: The compiled model.
        geom: Index of the geom.
        texture: Index of the texture its material shows, -1 for none.

    Raises:
        SceneError: The geom has a shape that cannot be converted.
    """
    kind = int(model.geom_type[geom])
    is_mesh = kind in (_GEOM.mjGEOM_MESH, _GEOM.mjGEOM_SDF)
    mesh = int(model.geom_dataid[geom])
    if is_mesh and model.mesh_texcoordadr[mesh] >= 0:
        return compiled_mesh(model, mesh)
    surface = _mesh_surface(model, mesh) if is_mesh else _primitive(model, geom)
    if texture < 0:
        return _triangles(surface, None)
    material = int(model.geom_matid[geom])
    projection = Projection(
        repeat=model.mat_texrepeat[material].astype(np.float64),
        uniform=bool(model.mat_texuniform[material]),
        size=_extent(model, geom),
        metric=kind in _METRIC,
    )
    if model.tex_type[texture] == mujoco.mjtTexture.mjTEXTURE_2D:
        return _triangles(surface, flat_st(surface, projection))
    stacked = model.tex_height[texture] == 6 * model.tex_width[texture]
    return cube_mapped(surface, projection, stacked=bool(stacked))


def plane_half_extents(model: mujoco.MjModel, geom: int) -> tuple[float, float]:
    """Half width and height of a plane [m]; an infinite side reaches MuJoCo's far plane."""
    far = float(model.vis.map.zfar * model.stat.extent)
    width, height = (float(s) if s > 0 else far for s in model.geom_size[geom][:2])
    return width, height


def compiled_mesh(model: mujoco.MjModel, mesh: int) -> Triangles:
    """Triangles of a mesh that has texture coordinates."""
    points, faces, normals, normal_index = _mesh_arrays(model, mesh)
    first = int(model.mesh_texcoordadr[mesh])
    texcoords = model.mesh_texcoord[first : first + int(model.mesh_texcoordnum[mesh])]
    st_index = model.mesh_facetexcoord[_face_range(model, mesh)].astype(np.int64)
    if np.array_equal(faces, normal_index) and np.array_equal(faces, st_index):
        point_rows = normal_rows = st_rows = np.arange(int(faces.max()) + 1)
        index = faces
    else:
        point_rows, normal_rows, st_rows = (i.ravel() for i in (faces, normal_index, st_index))
        index = np.arange(faces.size)
    st = texcoords[st_rows] * [1.0, -1.0] + [0.0, 1.0]
    return Triangles(
        points=points[point_rows].astype(np.float32),
        faces=index.reshape(-1, 3).astype(np.int32),
        normals=normals[normal_rows].astype(np.float32),
        st=st.astype(np.float32),
    )


def _mesh_surface(model: mujoco.MjModel, mesh: int) -> Surface:
    points, faces, normals, normal_index = _mesh_arrays(model, mesh)
    corners = points[faces]
    face_normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(face_normals, axis=1, keepdims=True)
    face_normals = face_normals / np.where(length > 0, length, 1.0)
    flat = np.einsum("fcx,fx->fc", normals[normal_index], face_normals) < _SMOOTH_COSINE
    flat &= length > 0
    own = len(normals) + np.arange(len(faces), dtype=np.int64)
    normal_index = np.where(flat, own[:, None], normal_index)
    normals = np.concatenate([normals, face_normals])
    unique, index = np.unique(faces * len(normals) + normal_index, return_inverse=True)
    point_rows, normal_rows = np.divmod(unique, len(normals))
    points = points[point_rows]
    return Surface(points, index.reshape(-1, 3).astype(np.int32), normals[normal_rows], points)


def _mesh_arrays(
    model: mujoco.MjModel, mesh: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    vertex, normal = int(model.mesh_vertadr[mesh]), int(model.mesh_normaladr[mesh])
    points = model.mesh_vert[vertex : vertex + int(model.mesh_vertnum[mesh])]
    normals = model.mesh_normal[normal : normal + int(model.mesh_normalnum[mesh])]
    faces = _face_range(model, mesh)
    return (
        points.astype(np.float64),
        model.mesh_face[faces].astype(np.int64),
        _unit(normals.astype(np.float64)),
        model.mesh_facenormal[faces].astype(np.int64),
    )


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(length > 0, vectors / np.where(length > 0, length, 1.0), [0.0, 0.0, 1.0])


def _face_range(model: mujoco.MjModel, mesh: int) -> slice:
    first = int(model.mesh_faceadr[mesh])
    return slice(first, first + int(model.mesh_facenum[mesh]))


def _primitive(model: mujoco.MjModel, geom: int) -> Surface:
    size = model.geom_size[geom].astype(np.float64)
    match int(model.geom_type[geom]):
        case _GEOM.mjGEOM_PLANE:
            return primitives.plane(
                *plane_half_extents(model, geom), infinite=(size[0] <= 0, size[1] <= 0)
            )
        case _GEOM.mjGEOM_SPHERE:
            return primitives.ellipsoid(np.full(3, size[0]), model_tessellation(model))
        case _GEOM.mjGEOM_ELLIPSOID:
            return primitives.ellipsoid(size, model_tessellation(model))
        case _GEOM.mjGEOM_CAPSULE:
            return primitives.capsule(size[0], size[1], model_tessellation(model))
        case _GEOM.mjGEOM_CYLINDER:
            return primitives.cylinder(size[0], size[1], model_tessellation(model))
        case _GEOM.mjGEOM_BOX:
            return primitives.box(size)
        case _GEOM.mjGEOM_HFIELD:
            return height_field(model, int(model.geom_dataid[geom]))
        case kind:
            name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, geom) or f"#{geom}"
            shape = _GEOM(kind).name.removeprefix("mjGEOM_").lower()
            raise SceneError(f"geom {name}: shape {shape!r} cannot be converted yet.")


def _extent(model: mujoco.MjModel, geom: int) -> NDArray[np.float64]:
    """Half extents by which MuJoCo scales the unit shape it draws [m]."""
    size = model.geom_size[geom].astype(np.float64)
    match int(model.geom_type[geom]):
        case _GEOM.mjGEOM_SPHERE:
            return np.full(3, size[0])
        case _GEOM.mjGEOM_CAPSULE | _GEOM.mjGEOM_CYLINDER:
            return np.array([size[0], size[0], size[1]])
        case _:
            return size


def _triangles(surface: Surface, st: NDArray[np.float32] | None) -> Triangles:
    return Triangles(
        points=surface.points.astype(np.float32),
        faces=surface.faces,
        normals=surface.normals.astype(np.float32),
        st=st,
    )
