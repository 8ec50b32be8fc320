"""The pinhole of a camera prim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Usd, UsdGeom

from scenes.errors import SceneError
from scenes.scene import Matrix, Scene, matrix_value

if TYPE_CHECKING:
    import mujoco

_FOCAL_LENGTH = 24.0

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
    """Distance from which the camera sees [m]."""


def pinhole(scene: Scene, camera: str, width: int, height: int) -> Pinhole:
    """Pinhole of a camera in the sample shown, for a picture size [pixel].

    The vertical field of view is the camera's; the horizontal one follows from the picture's
    aspect ratio (square pixels), as in MuJoCo.

    Raises:
        SceneError: The scene has no such camera.
    """
    path = camera_path(scene, camera)
    prim = UsdGeom.Camera(scene.stage.GetPrimAtPath(path))
    vertical = prim.GetVerticalApertureAttr().Get()
    focal = height * prim.GetFocalLengthAttr().Get() / vertical
    shift_x = prim.GetHorizontalApertureOffsetAttr().Get() / vertical * height
    shift_y = prim.GetVerticalApertureOffsetAttr().Get() / vertical * height
    K = np.array(
        [
            [focal, 0.0, width / 2 - shift_x],
            [0.0, focal, height / 2 + shift_y],
            [0.0, 0.0, 1.0],
        ]
    )
    (T_world_prim,) = scene.world_transforms([path])
    near = float(prim.GetClippingRangeAttr().Get()[0])
    return Pinhole(K, T_world_prim @ OPENCV_FROM_USD, width, height, near)


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


def write_camera(
    stage: Usd.Stage, path: str, model: mujoco.MjModel, camera: int, pose: Matrix
) -> Usd.Prim:
    """Write a camera of a compiled model.

    Args:
        stage: Stage to write to.
        path: Prim path.
        model: The compiled model.
        camera: Index of the camera.
        pose: Pose in the parent prim [m], [4, 4]; it looks along local -z, y up.
    """
    prim = UsdGeom.Camera.Define(stage, path)
    aperture = 2.0 * _FOCAL_LENGTH * math.tan(math.radians(float(model.cam_fovy[camera])) / 2.0)
    prim.CreateFocalLengthAttr(_FOCAL_LENGTH)
    prim.CreateVerticalApertureAttr(aperture)
    prim.CreateHorizontalApertureAttr(aperture)
    prim.CreateHorizontalApertureOffsetAttr(0.0)
    prim.CreateVerticalApertureOffsetAttr(0.0)
    extent = float(model.stat.extent)
    prim.CreateClippingRangeAttr(
        Gf.Vec2f(float(model.vis.map.znear) * extent, float(model.vis.map.zfar) * extent)
    )
    prim.AddTransformOp().Set(matrix_value(pose))
    return prim.GetPrim()
