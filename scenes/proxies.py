"""Collision proxies: one box per collision geom."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray
from pxr import Usd, UsdGeom, UsdPhysics

from scenes.scene import matrix_value


def collides(model: mujoco.MjModel, geom: int) -> bool:
    """Tell whether a geom takes part in collisions."""
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def proxy_pose(
    model: mujoco.MjModel, geom: int, T_body_geom: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Pose of the box around a geom in its body [m], [4, 4], its half extents as scale.

    The box is the geom's axis-aligned bounding box in the geom's own frame. None for a geom
    without a box of finite, positive volume (planes, flat meshes).
    """
    center, half = model.geom_aabb[geom][:3], model.geom_aabb[geom][3:]
    is_plane = model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE
    if is_plane or not np.all(np.isfinite(half)) or np.any(half <= 0):
        return None
    box = np.diag([*half, 1.0]).astype(np.float64)
    box[:3, 3] = center
    return T_body_geom @ box


def write_proxy(stage: Usd.Stage, path: str, pose: NDArray[np.float64]) -> Usd.Prim:
    """Write an invisible collision box."""
    cube = UsdGeom.Cube.Define(stage, path)
    cube.CreateSizeAttr(2.0)
    cube.CreatePurposeAttr(UsdGeom.Tokens.guide)
    cube.CreateVisibilityAttr(UsdGeom.Tokens.invisible)
    cube.AddTransformOp().Set(matrix_value(pose))
    prim = cube.GetPrim()
    UsdPhysics.CollisionAPI.Apply(prim)
    return prim
