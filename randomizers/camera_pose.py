"""Camera pose and field of view, drawn about the authored ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from pydantic import Field, model_validator

from randomizers.draw import Draw, Value
from randomizers.errors import RandomizerError
from randomizers.randomizer import Factor, Number, Randomizer, Settings, Triple
from randomizers.rotations import X_AXIS, Z_AXIS, rotation, rotation_vector, translation
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

    type: Literal["camera_pose"] = "camera_pose"
    """Kind of randomizer."""

    name: str = Field(default="camera_pose", min_length=1)
    """Name of this randomizer, no other's in the run."""

    position: Triple | None = None
    """Offset along the camera's own axes [m]."""

    rotation: Triple | None = None
    """Rotation vector in the camera's own axes [deg]: about x it tilts, about y it pans, about
    z it rolls."""

    orbit: Orbit | None = None
    """Turn about a point in front of the camera."""

    fovy: Factor | None = None
    """Factor on the vertical field of view."""

    def find(self, info: SceneInfo) -> list[str]:
        """Paths of the cameras to draw for."""
        return self.match(info, "camera", {camera.name: camera.path for camera in info.cameras})

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


def camera_values(
    sample: SampleLayer, target: str, parameters: Mapping[str, Value]
) -> dict[str, Any]:
    """Compute what drawn parameters make of a camera: attribute path to value.

    Raises:
        RandomizerError: The field of view leaves (0, 170] degrees.
    """
    numbers = cast(Mapping[str, Any], parameters)
    values: dict[str, Any] = {}
    if parameters.keys() & {"look_at", "position", "rotation"}:
        pose = sample.start_pose(target)
        if "look_at" in numbers:
            point = (pose @ [0.0, 0.0, -numbers["look_at"], 1.0])[:3]
            turn = rotation(Z_AXIS, numbers.get("azimuth", 0.0))
            pose = translation(point) @ turn @ translation(-point) @ pose
            ahead = translation([0.0, 0.0, -numbers["look_at"]])
            # A camera that should look from higher up turns its view down: about -x.
            turn = rotation(X_AXIS, -numbers.get("elevation", 0.0))
            pose = pose @ ahead @ turn @ np.linalg.inv(ahead)
        pose = pose @ translation(numbers.get("position", (0.0, 0.0, 0.0)))
        pose = pose @ rotation_vector(numbers.get("rotation", (0.0, 0.0, 0.0)))
        values[f"{target}.xformOp:transform"] = pose
    if "fovy" in numbers:
        focal = f"{target}.focalLength"
        half = sample.start(f"{target}.verticalAperture") / 2
        authored = 2 * math.degrees(math.atan(half / sample.start(focal)))
        fovy = authored * numbers["fovy"]
        if not 0 < fovy <= WIDEST:
            raise RandomizerError(
                f"{sample.scene.info.scene_id}: {target}: the field of view would be {fovy:g} "
                f"degrees ({authored:g} x {numbers['fovy']:g}); it should be above 0 and at most "
                f"{WIDEST:g}."
            )
        # The focal length alone keeps aspect ratio and principal point.
        values[focal] = half / math.tan(math.radians(fovy) / 2)
    return values
