"""Cameras of a model as prims."""

from __future__ import annotations

import math

import mujoco
import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom

from scenes.convert.conversion import Conversion
from scenes.convert.grouping import WORLD
from scenes.convert.states import follows
from scenes.stage.attributes import FIXED_ASPECT, author
from scenes.stage.info import CameraInfo
from scenes.stage.matrices import matrix_value, rigid, rotation_from_quaternion
from scenes.stage.names import provenance

_FOCAL_LENGTH = 24.0


def convert_cameras(conversion: Conversion) -> None:
    """Write every camera, under the body that carries it or `/World/cameras`."""
    model, rest = conversion.model, conversion.rest
    for camera in range(model.ncam):
        name = conversion.name(mujoco.mjtObj.mjOBJ_CAMERA, camera)
        pose = rigid(rest.cam_xpos[camera], rest.cam_xmat[camera])
        body, parent = int(model.cam_bodyid[camera]), "/World/cameras"
        if body != WORLD and not follows(model.cam_mode[camera]):
            parent = conversion.body_path(body)
            pose = rigid(model.cam_pos[camera], rotation_from_quaternion(model.cam_quat[camera]))
        path = conversion.child_path(parent, name, "camera", camera)
        prim = _write_lens(conversion.stage, path, model, camera)
        prim.AddTransformOp().Set(matrix_value(pose))
        provenance(prim.GetPrim(), "camera", name, camera)
        conversion.cameras.append(
            CameraInfo(name=name or f"camera_{camera}", path=path, camera_id=camera)
        )


def _write_lens(stage: Usd.Stage, path: str, model: mujoco.MjModel, camera: int) -> UsdGeom.Camera:
    prim = UsdGeom.Camera.Define(stage, path)
    sensor = model.cam_sensorsize[camera].astype(np.float64)
    measured = bool(np.all(sensor > 0))
    if measured:
        focal, principal = model.cam_intrinsic[camera].astype(np.float64).reshape(2, 2)
        aperture = _FOCAL_LENGTH * sensor / focal
        # A positive principal point moves MuJoCo's frustum right and down, USD's right and up.
        offset = _FOCAL_LENGTH * principal / focal * [1.0, -1.0]
    else:
        fovy = math.radians(float(model.cam_fovy[camera]))
        aperture = np.full(2, 2.0 * _FOCAL_LENGTH * math.tan(fovy / 2.0))
        offset = np.zeros(2)
    if model.cam_projection[camera] == mujoco.mjtProjection.mjPROJ_ORTHOGRAPHIC:
        prim.CreateProjectionAttr(UsdGeom.Tokens.orthographic)
        # MuJoCo's fovy is then the height of the picture [m]; USD's aperture is in tenths.
        aperture = np.full(2, 10.0 * float(model.cam_fovy[camera]))
    author(prim.GetPrim(), FIXED_ASPECT, Sdf.ValueTypeNames.Bool, measured)
    prim.CreateFocalLengthAttr(_FOCAL_LENGTH)
    prim.CreateHorizontalApertureAttr(float(aperture[0]))
    prim.CreateVerticalApertureAttr(float(aperture[1]))
    prim.CreateHorizontalApertureOffsetAttr(float(offset[0]))
    prim.CreateVerticalApertureOffsetAttr(float(offset[1]))
    extent = float(model.stat.extent)
    near, far = float(model.vis.map.znear) * extent, float(model.vis.map.zfar) * extent
    prim.CreateClippingRangeAttr(Gf.Vec2f(near, far))
    return prim


def first_camera(model: mujoco.MjModel) -> str | None:
    """Name of a model's first camera, None for a model without."""
    return mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_CAMERA, 0) if model.ncam else None
