"""Objects that overlap where a state puts them, before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np
from numpy.typing import NDArray

from scenes.stage.info import SceneInfo

OVERLAP = 0.005
"""Depth from which objects count as overlapping [m]; what rests on something sinks in less."""

Mask = NDArray[np.bool_]


def overlapping_objects(
    info: SceneInfo, model: mujoco.MjModel, data: mujoco.MjData
) -> list[tuple[str, str]]:
    """Pairs of objects of which one is free and whose collision geometry overlaps.

    Geometry that MuJoCo lets pass (`contype`, `conaffinity`, `exclude`) does not count. The depth
    is that of `mj_geomDistance`.

    Args:
        info: The scene's tables.
        model: Its compiled model.
        data: The model's data with every geometry posed.

    Returns:
        Names of the objects, each pair once, in alphabetical order.
    """
    instances = _instances(info, model)
    names = {each.instance: each.name for each in info.objects}
    free = {body.instance for body in info.bodies if body.free}
    solid = np.flatnonzero((model.geom_contype != 0) | (model.geom_conaffinity != 0))
    owner = np.array([instances.get(int(model.geom_bodyid[geom]), 0) for geom in solid], dtype=int)
    solid, owner = solid[owner > 0], owner[owner > 0]
    low, high = _boxes(model, data, solid)
    found: set[tuple[str, str]] = set()
    span = np.zeros(6)
    for row, geom in enumerate(solid):
        if owner[row] not in free:
            continue
        near = _near(low, high, row) & (owner != owner[row]) & _collide(model, int(geom), solid)
        for other in np.flatnonzero(near):
            first, second = sorted((names[int(owner[row])], names[int(owner[other])]))
            if (first, second) in found or _excluded(model, int(geom), int(solid[other])):
                continue
            depth = mujoco.mj_geomDistance(model, data, int(geom), int(solid[other]), 0.0, span)
            if depth < -OVERLAP:
                found.add((first, second))
    return sorted(found)


def _instances(info: SceneInfo, model: mujoco.MjModel) -> Mapping[int, int]:
    """Object of each body of the model, by index; a body without a prim is part of its parent."""
    found = {body.body_id: body.instance for body in info.bodies}
    for body in range(1, model.nbody):
        if body not in found:
            found[body] = found.get(int(model.body_parentid[body]), 0)
    return found


def _boxes(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least and greatest corners of boxes around geometries [m], [n, 3] each."""
    boxes = model.geom_aabb[geoms]
    turns = np.abs(data.geom_xmat[geoms].reshape(-1, 3, 3))
    middle = data.geom_xpos[geoms] + np.einsum(
        "nij,nj->ni", data.geom_xmat[geoms].reshape(-1, 3, 3), boxes[:, :3]
    )
    half = np.einsum("nij,nj->ni", turns, boxes[:, 3:])
    # A plane has no end, whatever its drawn size.
    half[model.geom_type[geoms] == mujoco.mjtGeom.mjGEOM_PLANE] = np.inf
    return middle - half, middle + half


def _near(low: NDArray[np.float64], high: NDArray[np.float64], row: int) -> Mask:
    deep = (low < high[row] - OVERLAP) & (high > low[row] + OVERLAP)
    return np.asarray(deep.all(axis=1))


def _collide(model: mujoco.MjModel, geom: int, others: NDArray[np.intp]) -> Mask:
    kind, affinity = model.geom_contype, model.geom_conaffinity
    return np.asarray((kind[geom] & affinity[others] | kind[others] & affinity[geom]) != 0)


def _excluded(model: mujoco.MjModel, *geoms: int) -> bool:
    first, second = sorted(int(model.geom_bodyid[geom]) for geom in geoms)
    return bool(np.any(model.exclude_signature == (first << 16) + second))
