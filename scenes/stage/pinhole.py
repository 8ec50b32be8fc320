"""Cameras of a scene, read as pinholes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pxr import UsdGeom

from scenes.errors import SceneError
from scenes.stage.attributes import FIXED_ASPECT
from scenes.stage.scene import Scene

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
    if prim.GetPrim().GetAttribute(FIXED_ASPECT).Get():
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
