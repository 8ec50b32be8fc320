"""Camera pose and field of view, drawn about the authored ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from randomizers.changes import Changes
from randomizers.draw import Draw, Drawn
from randomizers.errors import RandomizerError
from randomizers.geometry.boxes import Floats
from randomizers.geometry.rotations import X_AXIS, Z_AXIS, rotation, rotation_vector, translation
from randomizers.randomizer import Randomizer
from randomizers.settings import Factor, Number, Settings, Triple
from randomizers.trial import Trial

if TYPE_CHECKING:
    from scenes import SampleLayer, SceneInfo

WIDEST = 170.0
"""Widest vertical field of view [deg]; near 180 a pinhole picture has no use."""


class Orbit(Settings, frozen=True):
    """A turn of the camera about a point on its optical axis, which stays in its place."""

    look_at: float = Field(gt=0)
    """Distance of the point from the authored camera, along the optical axis [m]."""

    azimuth: Number | None = None
    """Turn about the vertical through the point [deg]: the z axis of the frame that carries the
    camera (the world's, for a camera that no body carries)."""

    elevation: Number | None = None
    """Turn about the camera's x axis through the point [deg]; positive looks from higher up."""

    @model_validator(mode="after")
    def _turns(self) -> Orbit:
        if self.azimuth is None and self.elevation is None:
            raise ValueError("draws nothing: set one of azimuth, elevation")
        return self


class CameraPose(Randomizer, frozen=True):
    """Moves cameras about their authored poses, also those that a body carries.

    The order is fixed: the orbit turns the authored pose, position and rotation then apply in the
    turned camera's own frame (x right, y up, z backwards).
    """

    noun: ClassVar[str] = "camera"
    by_view: ClassVar[bool] = True

    type: Literal["camera_pose"] = "camera_pose"
    """Kind of randomizer."""

    position: Triple | None = None
    """Offset along the camera's own axes [m]."""

    rotation: Triple | None = None
    """Rotation vector in the camera's own axes [deg]: about x it tilts, about y it pans, about
    z it rolls."""

    orbit: Orbit | None = None
    """Turn about a point in front of the camera."""

    fovy: Factor | None = None
    """Factor on the vertical field of view."""

    @classmethod
    def candidates(cls, info: SceneInfo) -> Mapping[str, str]:
        """Paths of all cameras by name."""
        return {camera.name: camera.path for camera in info.cameras}

    def draw(self, target: str, trial: Trial) -> list[Draw]:
        """Draw for one camera."""
        draws: list[Draw] = []
        if self.orbit is not None:
            draws.append(trial.state(self, target, "look_at", self.orbit.look_at))
            draws += trial.draw(self, target, "azimuth", self.orbit.azimuth)
            draws += trial.draw(self, target, "elevation", self.orbit.elevation)
        draws += trial.draw(self, target, "position", self.position, 3)
        draws += trial.draw(self, target, "rotation", self.rotation, 3)
        draws += trial.draw(self, target, "fovy", self.fovy)
        return draws

    @classmethod
    def meaning(cls, sample: SampleLayer, target: str, drawn: Drawn) -> Changes:
        """Compute what drawn parameters make of a camera.

        Raises:
            RandomizerError: The field of view leaves (0, 170] degrees.
        """
        poses: dict[str, Floats] = {}
        values: dict[str, Any] = {}
        if drawn.keys() & {"look_at", "position", "rotation"}:
            poses[target] = _moved(sample.start_pose(target), drawn)
        if "fovy" in drawn:
            values[f"{target}.focalLength"] = _focal_length(sample, target, drawn["fovy"])
        return Changes(poses, values)


def _moved(pose: Floats, drawn: Drawn) -> Floats:
    if "look_at" in drawn:
        point = (pose @ [0.0, 0.0, -drawn["look_at"], 1.0])[:3]
        turn = rotation(Z_AXIS, drawn.get("azimuth", 0.0))
        pose = translation(point) @ turn @ translation(-point) @ pose
        ahead = translation([0.0, 0.0, -drawn["look_at"]])
        # A camera that should look from higher up turns its view down: about -x.
        turn = rotation(X_AXIS, -drawn.get("elevation", 0.0))
        pose = pose @ ahead @ turn @ np.linalg.inv(ahead)
    pose = pose @ translation(drawn.get("position", (0.0, 0.0, 0.0)))
    return pose @ rotation_vector(drawn.get("rotation", (0.0, 0.0, 0.0)))


def _focal_length(sample: SampleLayer, target: str, factor: float) -> float:
    """Focal length for a scaled field of view; it alone keeps aspect ratio and principal point."""
    half = sample.start(f"{target}.verticalAperture") / 2
    authored = 2 * math.degrees(math.atan(half / sample.start(f"{target}.focalLength")))
    fovy = authored * factor
    if not 0 < fovy <= WIDEST:
        raise RandomizerError(
            f"{sample.scene.info.scene_id}: {target}: the field of view would be {fovy:g} "
            f"degrees ({authored:g} x {factor:g}); it should be above 0 and at most {WIDEST:g}."
        )
    return half / math.tan(math.radians(fovy) / 2)
