"""Collision proxies: one box per collision geom."""

from __future__ import annotations

import mujoco
import numpy as np
from pxr import UsdGeom, UsdPhysics

from scenes.conversion import Conversion
from scenes.info import BodyInfo
from scenes.names import provenance
from scenes.scene import Matrix, matrix_value


def collides(model: mujoco.MjModel, geom: int) -> bool:
    """Tell whether a geom takes part in collisions."""
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def proxy_pose(model: mujoco.MjModel, geom: int, T_body_geom: Matrix) -> Matrix | None:
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


def convert_proxy(conversion: Conversion, body: BodyInfo, geom: int, T_body_geom: Matrix) -> None:
    """Write the invisible collision box of a geom, or report that it has none."""
    name = conversion.name(mujoco.mjtObj.mjOBJ_GEOM, geom)
    pose = proxy_pose(conversion.model, geom, T_body_geom)
    if pose is None:
        conversion.report.left_out.append(
            f"collision box of geom {name or geom}: its bounding box has no finite, positive volume"
        )
        return
    scope = f"{body.path}/collision"
    UsdGeom.Scope.Define(conversion.stage, scope)
    cube = UsdGeom.Cube.Define(conversion.stage, f"{scope}/geom_{geom}")
    cube.CreateSizeAttr(2.0)
    cube.CreatePurposeAttr(UsdGeom.Tokens.guide)
    cube.CreateVisibilityAttr(UsdGeom.Tokens.invisible)
    cube.AddTransformOp().Set(matrix_value(pose))
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    provenance(cube.GetPrim(), "geom", name, geom)
    conversion.proxies += 1
