"""Intensity, colour, direction and place of lights, drawn about the authored ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import numpy as np
from pydantic import AfterValidator, Field, field_validator

from randomizers.distribution_parsing import parse_distribution
from randomizers.distributions import Distribution
from randomizers.draw import Draw, Value
from randomizers.randomizer import Factor, Factors, Number, Randomizer, Triple, refuse_view
from randomizers.rotations import rotation
from randomizers.trial import Trial

if TYPE_CHECKING:
    from numpy.typing import NDArray

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

    type: Literal["light"] = "light"
    """Kind of randomizer."""

    name: str = Field(default="light", min_length=1)
    """Name of this randomizer, no other's in the run."""

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

    _refuse_view = field_validator("scope")(refuse_view)

    def find(self, info: SceneInfo) -> list[str]:
        """Paths of the lights to draw for."""
        return self.match(info, "light", {light.name: light.path for light in info.lights})

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


def light_values(
    sample: SampleLayer, target: str, parameters: Mapping[str, Value]
) -> dict[str, Any]:
    """Compute what drawn parameters make of a light: attribute path to value."""
    numbers = cast(Mapping[str, Any], parameters)
    values: dict[str, Any] = {}
    if "intensity" in numbers:
        path = f"{target}.inputs:intensity"
        values[path] = sample.start(path) * numbers["intensity"]
    if parameters.keys() & {"tint", "kelvin"}:
        path = f"{target}.inputs:color"
        authored = sample.start(path)
        color = np.array(authored, dtype=np.float64) * numbers.get("tint", (1.0, 1.0, 1.0))
        if "kelvin" in numbers:
            color *= temperature_color(numbers["kelvin"])
        values[path] = type(authored)(*map(float, color))
    if parameters.keys() & {"position", "tilt"}:
        pose = sample.start_pose(target).copy()
        pose[:3, 3] += numbers.get("position", (0.0, 0.0, 0.0))
        side = np.deg2rad(numbers.get("tilt_side", 0.0))
        # The light shines along -z: an axis in its xy plane turns the beam by the whole angle.
        axis = [np.cos(side), np.sin(side), 0.0]
        pose = pose @ rotation(axis, numbers.get("tilt", 0.0))
        values[f"{target}.xformOp:transform"] = pose
    return values


def temperature_color(kelvin: float) -> NDArray[np.float64]:
    """Linear RGB of a black body [K] relative to 6500 K, of luminance 1, [3]."""
    from pxr import UsdLux

    hot, white = (
        np.array(UsdLux.BlackbodyTemperatureAsRgb(value), dtype=np.float64)
        for value in (kelvin, WHITE)
    )
    ratio = hot / white
    return ratio / (ratio @ REC_709_LUMINANCE)
