"""Intensity, colour, direction and place of lights, drawn about the authored ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator

from randomizers.changes import Changes
from randomizers.distribution_parsing import parse_distribution
from randomizers.distributions import Distribution
from randomizers.draw import Draw, Drawn
from randomizers.geometry.boxes import Floats
from randomizers.geometry.rotations import rotation
from randomizers.randomizer import Randomizer
from randomizers.settings import Factor, Factors, Number, Triple
from randomizers.trial import Trial

if TYPE_CHECKING:
    from scenes import SampleLayer, SceneInfo

COLDEST, HOTTEST = 1000.0, 10000.0
FULL_TURN = parse_distribution({"uniform": [0.0, 360.0]})
REC_709_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
WHITE = 6500.0
"""Temperature that leaves a colour as it is [K]."""


def _temperature(distribution: Distribution) -> Distribution:
    low, high = distribution.bounds
    if low < COLDEST or high > HOTTEST:
        raise ValueError(
            f"may become {low if low < COLDEST else high!r} K; it should stay within "
            f"{COLDEST:g} and {HOTTEST:g}"
        )
    return distribution


class Light(Randomizer, frozen=True):
    """Changes lights that shine: those of the world and those that a body carries."""

    noun: ClassVar[str] = "light"

    type: Literal["light"] = "light"
    """Kind of randomizer."""

    intensity: Factor | None = None
    """Factor on the intensity."""

    tint: Factors | None = None
    """Factors on the linear red, green and blue."""

    kelvin: Annotated[Number, AfterValidator(_temperature)] | None = None
    """Colour temperature [K]: the colour is multiplied by a black body's, relative to 6500 K, at
    equal luminance."""

    tilt: Number | None = None
    """Angle by which the direction leaves the authored one [deg], to a side drawn evenly."""

    position: Triple | None = None
    """Offset along the axes of the frame that carries the light (the world's, for a light that
    no body carries) [m]."""

    @classmethod
    def candidates(cls, info: SceneInfo) -> Mapping[str, str]:
        """Paths of all lights by name."""
        return {light.name: light.path for light in info.lights}

    def draw(self, target: str, trial: Trial) -> list[Draw]:
        """Draw for one light; one that is off is left as it is."""
        if trial.sample.start(f"{target}.visibility") == "invisible":
            return []
        draws = trial.draw(self, target, "intensity", self.intensity)
        draws += trial.draw(self, target, "tint", self.tint, 3)
        draws += trial.draw(self, target, "kelvin", self.kelvin)
        draws += trial.draw(self, target, "position", self.position, 3)
        if self.tilt is not None:
            draws += trial.draw(self, target, "tilt", self.tilt)
            draws += trial.draw(self, target, "tilt_side", FULL_TURN)
        return draws

    @classmethod
    def meaning(cls, sample: SampleLayer, target: str, drawn: Drawn) -> Changes:
        """Compute what drawn parameters make of a light."""
        poses: dict[str, Floats] = {}
        values: dict[str, Any] = {}
        if "intensity" in drawn:
            path = f"{target}.inputs:intensity"
            values[path] = sample.start(path) * drawn["intensity"]
        if drawn.keys() & {"tint", "kelvin"}:
            path = f"{target}.inputs:color"
            authored = sample.start(path)
            color = np.array(authored, dtype=np.float64) * drawn.get("tint", (1.0, 1.0, 1.0))
            if "kelvin" in drawn:
                color *= temperature_color(drawn["kelvin"])
            values[path] = type(authored)(*map(float, color))
        if drawn.keys() & {"position", "tilt"}:
            pose = sample.start_pose(target).copy()
            pose[:3, 3] += drawn.get("position", (0.0, 0.0, 0.0))
            side = np.deg2rad(drawn.get("tilt_side", 0.0))
            # The light shines along -z: an axis in its xy plane turns the beam by the whole angle.
            axis = [np.cos(side), np.sin(side), 0.0]
            poses[target] = pose @ rotation(axis, drawn.get("tilt", 0.0))
        return Changes(poses, values)


def temperature_color(kelvin: float) -> Floats:
    """Linear RGB of a black body [K] relative to 6500 K, of luminance 1, [3]."""
    from scenes.stage.lights import black_body

    ratio = black_body(kelvin) / black_body(WHITE)
    return ratio / (ratio @ REC_709_LUMINANCE)
