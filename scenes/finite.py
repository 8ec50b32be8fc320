"""Refusal of numbers that are not finite, or absurd, before anything is converted.

MuJoCo compiles some models with an infinite vertex, scale or pose, and trimesh drops such vertices
without a word. Mesh files are therefore read raw, and every array of the compiled model is checked.
"""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from scenes.errors import AssetError

_STL_HEADER = 84
_STL_FACET = np.dtype([("normal", "<f4", 3), ("vertices", "<f4", (3, 3)), ("attribute", "<u2")])
_MSH_HEADER = 4
_CHECKED = (
    "body_pos", "body_quat", "geom_pos", "geom_quat", "geom_size", "geom_rgba", "mesh_vert",
    "mesh_normal", "mesh_texcoord", "mesh_scale", "hfield_size", "hfield_data", "mat_rgba",
    "mat_texrepeat", "mat_emission", "mat_specular", "mat_shininess", "cam_pos", "cam_quat",
    "cam_fovy", "cam_intrinsic", "cam_sensorsize", "light_pos", "light_dir", "light_diffuse",
    "light_ambient", "light_specular", "light_attenuation", "light_cutoff", "light_exponent",
    "qpos0", "body_mass", "body_inertia", "body_ipos", "body_iquat", "jnt_pos", "jnt_axis",
    "jnt_range", "jnt_stiffness", "jnt_actfrcrange", "dof_damping", "dof_armature",
    "dof_frictionloss",
)  # fmt: skip
FARTHEST = 1e6
"""Greatest distance from the origin [m]."""
_OBJ = mujoco.mjtObj
_NAMED = {
    "body": _OBJ.mjOBJ_BODY, "geom": _OBJ.mjOBJ_GEOM, "mat": _OBJ.mjOBJ_MATERIAL,
    "cam": _OBJ.mjOBJ_CAMERA, "light": _OBJ.mjOBJ_LIGHT, "mesh": _OBJ.mjOBJ_MESH,
    "hfield": _OBJ.mjOBJ_HFIELD, "jnt": _OBJ.mjOBJ_JOINT,
}  # fmt: skip
_STARTS = {
    "mesh_vert": "mesh_vertadr", "mesh_normal": "mesh_normaladr",
    "mesh_texcoord": "mesh_texcoordadr", "hfield_data": "hfield_adr",
}  # fmt: skip


def refuse_non_finite_mesh(path: Path, name: str) -> None:
    """Read a mesh file raw and refuse a vertex that is not finite.

    Args:
        path: The file.
        name: Name of the mesh, for the message.

    Raises:
        AssetError: Names file, mesh and vertex.
    """
    vertices = raw_vertices(path)
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(vertices.astype(np.float32)).all(axis=1))
    if len(bad):
        point = ", ".join(f"{v:g}" for v in vertices[bad[0]])
        raise AssetError(
            f"{path}: mesh {name!r}: vertex {bad[0]} is not finite as a 32-bit number: "
            f"({point}). The scene was refused; repair the file."
        )


def refuse_non_finite_model(model: mujoco.MjModel, source: str) -> None:
    """Refuse a compiled model that holds a number that is not finite.

    Raises:
        AssetError: Names the element and the value.
    """
    for field in _CHECKED:
        values = np.atleast_1d(getattr(model, field))
        if np.isfinite(values).all():
            continue
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise AssetError(
            f"{source}: {_element(model, field, row)} is not finite: {values[row]}. "
            "The scene was refused; repair the file."
        )


def refuse_far(model: mujoco.MjModel, data: mujoco.MjData, source: str) -> None:
    """Refuse what stands or reaches farther than 32-bit renderers can place it.

    Args:
        model: The compiled model.
        data: Its poses.
        source: What the poses come from, for the message.

    Raises:
        AssetError: Names the element and the distance.
    """
    distances = {
        "body": np.linalg.norm(data.xpos, axis=1),
        "geom": np.linalg.norm(data.geom_xpos, axis=1) + model.geom_rbound,
        "cam": np.linalg.norm(data.cam_xpos, axis=1),
    }
    for kind, values in distances.items():
        far = np.flatnonzero(values > FARTHEST)
        if len(far):
            number = int(far[0])
            name = mujoco.mj_id2name(model, _NAMED[kind], number) or f"#{number}"
            word = _NAMED[kind].name.removeprefix("mjOBJ_").lower()
            raise AssetError(
                f"{source}: {word} {name!r} lies or reaches {values[number]:.3g} m from the "
                f"origin; {FARTHEST:g} m are allowed, beyond which 32-bit numbers tell "
                "centimetres no more apart."
            )


def raw_vertices(path: Path) -> NDArray[np.float64]:
    """Vertices of a mesh file exactly as they stand in it, [n, 3].

    Reads OBJ, STL and MuJoCo's legacy `.msh`; what it cannot read is MuJoCo's to judge and gives
    no vertices.
    """
    data = path.read_bytes()
    match path.suffix.lower():
        case ".obj":
            return _obj_vertices(data)
        case ".stl":
            return _stl_vertices(data)
        case ".msh":
            return _msh_vertices(data)
        case _:
            return np.empty((0, 3))


def _obj_vertices(data: bytes) -> NDArray[np.float64]:
    rows = [line.split()[1:4] for line in data.splitlines() if line[:2] in (b"v ", b"v\t")]
    try:
        return np.array(rows, dtype=np.float64).reshape(-1, 3)
    except ValueError:
        return np.empty((0, 3))


def _stl_vertices(data: bytes) -> NDArray[np.float64]:
    if len(data) < _STL_HEADER:
        return np.empty((0, 3))
    count = int.from_bytes(data[80:84], "little")
    if len(data) < _STL_HEADER + count * _STL_FACET.itemsize:
        return np.empty((0, 3))
    facets = np.frombuffer(data, _STL_FACET, count, offset=_STL_HEADER)
    return facets["vertices"].reshape(-1, 3).astype(np.float64)


def _msh_vertices(data: bytes) -> NDArray[np.float64]:
    if len(data) < _MSH_HEADER * 4:
        return np.empty((0, 3))
    count = int.from_bytes(data[:4], "little", signed=True)
    if count <= 0 or len(data) < _MSH_HEADER * 4 + count * 12:
        return np.empty((0, 3))
    vertices = np.frombuffer(data, "<f4", count * 3, offset=_MSH_HEADER * 4)
    return vertices.reshape(-1, 3).astype(np.float64)


def _element(model: mujoco.MjModel, field: str, row: int) -> str:
    kind, _, what = field.partition("_")
    if kind not in _NAMED:
        return f"{field}[{row}]"
    owner, place = row, ""
    if field in _STARTS:
        starts = np.array(getattr(model, _STARTS[field]))
        owner = int(np.flatnonzero((starts >= 0) & (starts <= row))[-1])
        place = f"[{row - starts[owner]}]"
    name = mujoco.mj_id2name(model, _NAMED[kind], owner) or f"#{owner}"
    word = _NAMED[kind].name.removeprefix("mjOBJ_").lower()
    return f"{word} {name!r}: {what}{place}"
