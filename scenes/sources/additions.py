"""Cameras and light for a scene whose source has none of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from scenes.convert.settings import Settings
from scenes.errors import SceneError
from scenes.stage.matrices import looking_along, quaternion_from_rotation

VIEW = "view"
"""Name of the camera that is added where there is no other."""

_FOVY = 45.0
_DIRECTION = np.array([-0.75, 0.75, -0.5])
_ROOM = 1.1
_SUN = np.array([-0.5, 0.35, -1.0])
_SUN_DIFFUSE, _SUN_SPECULAR, _AMBIENT = 0.55, 0.1, 0.35

Point = tuple[
    Annotated[float, Field(allow_inf_nan=False)],
    Annotated[float, Field(allow_inf_nan=False)],
    Annotated[float, Field(allow_inf_nan=False)],
]


class AddedCamera(Settings):
    """A camera that stands still in the scene."""

    position: Point
    """Where it stands [m], z up."""

    look_at: Point
    """The point in the middle of its picture [m]."""

    fovy: float = Field(default=45.0, gt=0, lt=180)
    """Vertical field of view [deg]."""


def add_cameras(
    spec: mujoco.MjSpec,
    cameras: Mapping[str, AddedCamera],
    center: ArrayLike,
    radius: float,
    source: object,
) -> str | None:
    """Add cameras to a model, or one that shows all of it where it has none.

    Args:
        spec: The model.
        cameras: Cameras by name.
        center: Middle of the scene [m], [3].
        radius: Distance from there to its farthest point [m].
        source: What the model is made from, for messages.

    Returns:
        What the report should tell of it, if anything.

    Raises:
        SceneError: A camera has the name of another, or stands in the point it looks at.
    """
    taken = {camera.name for camera in spec.cameras}
    for name, camera in cameras.items():
        if name in taken:
            raise SceneError(f"{source}: cameras.{name}: there is a camera of this name already.")
        if camera.position == camera.look_at:
            raise SceneError(f"{source}: cameras.{name}: position and look_at are the same point.")
        position, target = (
            np.array(p, dtype=np.float64) for p in (camera.position, camera.look_at)
        )
        _add(spec, name, position, target - position, camera.fovy)
    if taken or cameras:
        return None
    distance = _ROOM * radius / math.sin(math.radians(_FOVY / 2))
    direction = _DIRECTION / np.linalg.norm(_DIRECTION)
    middle = np.asarray(center, dtype=np.float64)
    _add(spec, VIEW, middle - distance * direction, direction, _FOVY)
    return f"cameras: there is none, so one was added that shows everything: {VIEW}"


def add_light(spec: mujoco.MjSpec, center: ArrayLike, radius: float) -> str:
    """Add a sun from above and the front, and light from everywhere, to a model without lights.

    Args:
        spec: The model.
        center: Middle of the scene [m], [3].
        radius: Distance from there to its farthest point [m].

    Returns:
        What the report should tell of it.
    """
    position = np.asarray(center, dtype=np.float64) - 2 * radius * _SUN / np.linalg.norm(_SUN)
    sun = spec.worldbody.add_light(name="sun", pos=position, dir=_SUN)
    sun.type = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
    sun.diffuse, sun.specular = [_SUN_DIFFUSE] * 3, [_SUN_SPECULAR] * 3
    # MuJoCo's shadow maps speckle surfaces at some sizes of a scene.
    sun.castshadow = False
    head = spec.visual.headlight
    head.ambient, head.diffuse, head.specular = [_AMBIENT] * 3, [0.0] * 3, [0.0] * 3
    return "lights: there is none, so a sun and light from everywhere were added"


def _add(
    spec: mujoco.MjSpec,
    name: str,
    position: NDArray[np.float64],
    direction: NDArray[np.float64],
    fovy: float,
) -> None:
    rotation = looking_along(direction)
    quaternion = quaternion_from_rotation(rotation)
    spec.worldbody.add_camera(name=name, pos=position, quat=quaternion, fovy=fovy)
