"""Lights of a scene as records, in the sample shown.

A strength of 1 is what MuJoCo's display values are made from: a white surface that faces a light of
linear colour c at its reference distance shows c, so it gets the irradiance pi c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Usd, UsdLux

from scenes.stage import attributes
from scenes.stage.colors import srgb_decode, srgb_encode
from scenes.stage.info import LightInfo
from scenes.stage.matrices import Matrix
from scenes.stage.scene import Scene

Color = NDArray[np.float64]
AMBIENT_WITHOUT_LIGHTS = 0.3
"""Display value that MuJoCo adds everywhere where no light shines at all."""

_WORLD = "/World"


@dataclass(frozen=True)
class Distant:
    """A light whose rays are parallel."""

    angle: float
    """Angle that it is wide, seen from the scene [deg]."""


@dataclass(frozen=True)
class Spot:
    """A light at a place, that shines within a cone."""

    radius: float
    """Radius of the ball that shines [m]."""
    reference_distance: float
    """Distance along the axis at which it is as strong as MuJoCo's, which has no falloff [m]."""
    cutoff: float
    """Half angle of the cone [deg]; 180 for a light that shines everywhere."""
    exponent: float
    """Power of the cosine to the axis by which it fades within the cone."""
    attenuation: tuple[float, float, float]
    """Constant, linear [1/m] and quadratic [1/m^2] term by which MuJoCo divides the light."""


@dataclass(frozen=True)
class Light:
    """A light of the scene."""

    name: str
    path: str
    """Prim path."""
    T_world_light: Matrix
    """Pose [m], [4, 4]; it shines along -z."""
    shape: Distant | Spot
    """Where it shines from."""
    color: Color
    """Linear colour, [3]."""
    intensity: float
    """Factor of the colour, in units of `unit_intensity`."""
    unit_intensity: float
    """Intensity at which the light is as strong as its colour says."""
    ambient: Color
    """Display value that it adds everywhere, [3]."""
    specular: Color
    """Display value of its highlights, [3]."""
    casts_shadow: bool
    """Whether MuJoCo draws shadows of it."""
    shines: bool
    """False for a light that the sample leaves dark."""

    @property
    def diffuse(self) -> Color:
        """Linear value of a white surface that faces it, were it to shine, [3]."""
        return self.color * (self.intensity / self.unit_intensity)

    @property
    def display_diffuse(self) -> Color:
        """`diffuse` as a display value, which MuJoCo calls the light's diffuse colour, [3]."""
        return srgb_encode(self.diffuse)

    @property
    def power(self) -> Color:
        """What it gives physically, 0 where it is dark, [3].

        Of a distant light it is the irradiance across its axis, of any other the radiant intensity
        along its axis: irradiance at 1 m, where it falls off with the square of the distance.
        """
        shown = self.diffuse * self.shines
        if isinstance(self.shape, Distant):
            return np.pi * shown
        return np.pi * self.shape.reference_distance**2 * shown


@dataclass(frozen=True)
class Headlight:
    """MuJoCo's light along the camera's axis, from everywhere; display values."""

    active: bool
    ambient: Color
    """What it adds everywhere, [3]."""
    diffuse: Color
    """What it adds to a white surface across the axis, [3]."""
    specular: Color
    """Colour of its highlights, [3]."""

    @property
    def linear_diffuse(self) -> Color:
        """Linear value of `diffuse`, 0 where the headlight is off, [3]."""
        return srgb_decode(self.diffuse) if self.active else np.zeros(3)


@dataclass(frozen=True)
class Surroundings:
    """Light that comes from no place, and how pictures are exposed."""

    headlight: Headlight
    fill: float
    """Linear radiance from everywhere that stands for bounce light."""
    exposure: float
    """Factor on the linear radiance of path-traced pictures."""


def read_lights(scene: Scene) -> tuple[Light, ...]:
    """All lights of a scene, in the order of its table."""
    infos = scene.info.lights
    poses = scene.world_transforms(info.path for info in infos)
    return tuple(_light(scene, info, pose) for info, pose in zip(infos, poses, strict=True))


def read_surroundings(scene: Scene) -> Surroundings:
    """What `/World` says of the scene's light."""
    world = scene.stage.GetPrimAtPath(_WORLD)
    headlight = Headlight(
        bool(_value(world, attributes.HEADLIGHT_ACTIVE)),
        _color(world, attributes.HEADLIGHT_AMBIENT),
        _color(world, attributes.HEADLIGHT_DIFFUSE),
        _color(world, attributes.HEADLIGHT_SPECULAR),
    )
    return Surroundings(
        headlight,
        float(_value(world, attributes.FILL)),
        float(_value(world, attributes.EXPOSURE)),
    )


def light_kinds(scene: Scene) -> dict[str, str]:
    """Type of each light's prim, `DistantLight` or `SphereLight`, by its path."""
    return {
        info.path: str(scene.stage.GetPrimAtPath(info.path).GetTypeName())
        for info in scene.info.lights
    }


def black_body(kelvin: float) -> Color:
    """Linear colour of a black body of a temperature [K], [3]."""
    return np.array(UsdLux.BlackbodyTemperatureAsRgb(kelvin), dtype=np.float64)


def _light(scene: Scene, info: LightInfo, pose: Matrix) -> Light:
    prim = scene.stage.GetPrimAtPath(info.path)
    api = UsdLux.LightAPI(prim)
    return Light(
        name=info.name,
        path=info.path,
        T_world_light=pose,
        shape=_shape(prim),
        color=np.array(api.GetColorAttr().Get(), dtype=np.float64),
        intensity=float(api.GetIntensityAttr().Get()),
        unit_intensity=float(_value(prim, attributes.UNIT_INTENSITY)),
        ambient=_color(prim, attributes.LIGHT_AMBIENT),
        specular=_color(prim, attributes.LIGHT_SPECULAR),
        casts_shadow=bool(_value(prim, attributes.CAST_SHADOW)),
        shines=scene.is_visible(info.path),
    )


def _shape(prim: Usd.Prim) -> Distant | Spot:
    if prim.IsA(UsdLux.DistantLight):
        return Distant(float(UsdLux.DistantLight(prim).GetAngleAttr().Get()))
    constant, linear, quadratic = map(float, _value(prim, attributes.ATTENUATION))
    return Spot(
        radius=float(UsdLux.SphereLight(prim).GetRadiusAttr().Get()),
        reference_distance=float(_value(prim, attributes.REFERENCE_DISTANCE)),
        cutoff=float(_value(prim, attributes.CUTOFF)),
        exponent=float(_value(prim, attributes.EXPONENT)),
        attenuation=(constant, linear, quadratic),
    )


def _value(prim: Usd.Prim, name: str) -> Any:
    return prim.GetAttribute(name).Get()


def _color(prim: Usd.Prim, name: str) -> Color:
    return np.array(_value(prim, name), dtype=np.float64)
