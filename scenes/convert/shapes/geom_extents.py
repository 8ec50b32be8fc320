"""Bounding boxes of geoms in other frames than their own."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from scenes.convert.shapes.meshes import geom_triangles
from scenes.stage.matrices import Matrix

_GEOM = mujoco.mjtGeom


def geom_extent(
    model: mujoco.MjModel, geom: int, T_frame_geom: Matrix
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest coordinates of a geom in a frame [m], [3] each, exact for every shape.

    Args:
        model: The compiled model.
        geom: Index of a geom that is no plane.
        T_frame_geom: Pose of the geom in the frame [m], [4, 4].
    """
    rotation, center = T_frame_geom[:3, :3], T_frame_geom[:3, 3]
    size = model.geom_size[geom].astype(np.float64)
    match int(model.geom_type[geom]):
        case _GEOM.mjGEOM_SPHERE:
            half = np.full(3, size[0])
        case _GEOM.mjGEOM_ELLIPSOID:
            half = np.linalg.norm(rotation * size, axis=1)
        case _GEOM.mjGEOM_CAPSULE:
            half = size[0] + np.abs(rotation[:, 2]) * size[1]
        case _GEOM.mjGEOM_CYLINDER:
            around = size[0] * np.linalg.norm(rotation[:, :2], axis=1)
            half = around + np.abs(rotation[:, 2]) * size[1]
        case _GEOM.mjGEOM_BOX:
            half = np.abs(rotation) @ size
        case _:
            points = geom_triangles(model, geom, -1).points.astype(np.float64)
            placed = points @ rotation.T + center
            return placed.min(axis=0), placed.max(axis=0)
    return center - half, center + half
