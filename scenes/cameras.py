"""Cameras: written as prims, read as pinholes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom

from scenes.conversion import Conversion, author
from scenes.errors import SceneError
from scenes.grouping import WORLD
from scenes.info import CameraInfo
from scenes.names import provenance
from scenes.scene import Scene, matrix_value
from scenes.states import follows
from scenes.transforms import rigid, rotation_from_quaternion

_FOCAL_LENGTH = 24.0
_FIXED_ASPECT = "datagen:fixedAspect"

OPENCV_FROM_USD = np.diag([1.0, -1.0, -1.0, 1.0])


@dataclass(frozen=True)
class Pinhole:
    """A camera of one view.

    Axes are OpenCV's: x right, y down, z forward. Pixel centres lie at +0.5.
    """

    K: NDArray[np.float64]
    """Intrinsics [pixel], [3, 3]."""
    T_world_camera: NDArray[np.float64]
    """Pose [m], [4, 4]."""
    width: int
    height: int
    near: float
    """Depth from which the camera sees [m]."""
    far: float = math.inf
    """Depth up to which it sees [m]."""


def pinhole(scene: Scene, camera: str, width: int, height: int) -> Pinhole:
    """Pinhole of a camera in the sample shown, for a picture size [pixel].

    The vertical field of view is the camera's. The horizontal one follows from the picture's
    aspect ratio (square pixels) or, for a camera with a measured sensor, is the camera's too, as
    in MuJoCo.

    Raises:
        SceneError: The scene has no such camera, or it has no perspective.
    """
    path = camera_path(scene, camera)
    prim = UsdGeom.Camera(scene.stage.GetPrimAtPath(path))
    if prim.GetProjectionAttr().Get() != UsdGeom.Tokens.perspective:
        raise SceneError(
            f"{scene.info.scene_id}: camera {camera!r} is orthographic; "
            "pictures are made by perspective cameras only."
        )
    if prim.GetVerticalApertureAttr().Get() <= 0:
        raise SceneError(
            f"{scene.info.scene_id}: camera {camera!r} has a field of view of 0 degrees; "
            "give it one above 0."
        )
    per_aperture = height / prim.GetVerticalApertureAttr().Get()
    across = per_aperture
    if prim.GetPrim().GetAttribute(_FIXED_ASPECT).Get():
        across = width / prim.GetHorizontalApertureAttr().Get()
    focal = prim.GetFocalLengthAttr().Get()
    shift_x = prim.GetHorizontalApertureOffsetAttr().Get() * across
    shift_y = prim.GetVerticalApertureOffsetAttr().Get() * per_aperture
    K = np.array(
        [
            [focal * across, 0.0, width / 2 - shift_x],
            [0.0, focal * per_aperture, height / 2 + shift_y],
            [0.0, 0.0, 1.0],
        ]
    )
    (T_world_prim,) = scene.world_transforms([path])
    near, far = map(float, prim.GetClippingRangeAttr().Get())
    return Pinhole(K, T_world_prim @ OPENCV_FROM_USD, width, height, near, far)


def camera_path(scene: Scene, camera: str) -> str:
    """Prim path of a camera by its name.

    Raises:
        SceneError: The scene has no such camera.
    """
    for info in scene.info.cameras:
        if info.name == camera:
            return info.path
    known = ", ".join(info.name for info in scene.info.cameras)
    raise SceneError(f"{scene.info.scene_id}: no camera {camera!r}. Known: {known}.")


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
    author(prim.GetPrim(), "fixedAspect", Sdf.ValueTypeNames.Bool, measured)
    prim.CreateFocalLengthAttr(_FOCAL_LENGTH)
    prim.CreateHorizontalApertureAttr(float(aperture[0]))
    prim.CreateVerticalApertureAttr(float(aperture[1]))
    prim.CreateHorizontalApertureOffsetAttr(float(offset[0]))
    prim.CreateVerticalApertureOffsetAttr(float(offset[1]))
    extent = float(model.stat.extent)
    near, far = float(model.vis.map.znear) * extent, float(model.vis.map.zfar) * extent
    prim.CreateClippingRangeAttr(Gf.Vec2f(near, far))
    return prim
