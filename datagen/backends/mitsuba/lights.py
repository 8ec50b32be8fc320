"""MuJoCo's lights of a stage as Mitsuba emitters.

A light with an extent is drawn as a few points within it: each has MuJoCo's cone profile, which no
area emitter of Mitsuba offers, and together their shadows are soft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scenes import srgb_decode
from scenes.stage.lights import (
    AMBIENT_WITHOUT_LIGHTS,
    Distant,
    Light,
    Spot,
    Surroundings,
)

COPIES = 12
BEAM_SHARE = 0.999
"""Beam width of a spot over its cutoff: the profile alone decides what is within."""
_PROFILE_SIZE = 256
_WIDEST_CONE = 85.0
_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))
_AMBIENT = "ambient"


@dataclass(frozen=True)
class Emission:
    """What the emitters of one light must show."""

    poses: NDArray[np.float64]
    """Pose of each copy, shining along local +z as Mitsuba's emitters do, [n, 4, 4]."""
    power: NDArray[np.float64]
    """Linear intensity or irradiance of each copy, [3]."""
    cone: tuple[float, float] | None = None
    """Cutoff [deg] and exponent of a cone."""


def emitter_descriptions(
    mitsuba: ModuleType, lights: Sequence[Light], copies: int
) -> dict[str, dict[str, Any]]:
    """Mitsuba dictionaries of all emitters, by name."""
    emitters: dict[str, dict[str, Any]] = {
        _AMBIENT: {
            "type": "constant",
            "radiance": {"type": "rgb", "value": [1.0, 1.0, 1.0]},
            # Ambient light is smooth: few samples of it suffice beside the lights'.
            "sampling_weight": 0.5 * copies * max(len(lights), 1),
        }
    }
    for light in lights:
        for copy in range(copies):
            emitters[emitter_name(light.path, copy)] = (
                _directional() if isinstance(light.shape, Distant) else _spot(mitsuba, light.shape)
            )
    return emitters


def emitter_name(path: str, copy: int) -> str:
    """Name of one copy of a light in the Mitsuba scene."""
    return f"light_{path.strip('/').replace('/', '_')}_{copy}"


def emission(light: Light, copies: int) -> Emission:
    """Compute what the emitters of a light show."""
    along_z = light.T_world_light @ np.diag([1.0, -1.0, -1.0, 1.0])
    index = np.arange(copies)
    radius = np.sqrt(index / max(copies - 1, 1))
    offsets = radius[:, None] * np.stack(
        [np.cos(index * _GOLDEN_ANGLE), np.sin(index * _GOLDEN_ANGLE)], axis=1
    )
    poses = np.tile(along_z, (copies, 1, 1))
    power = light.power / copies
    if isinstance(light.shape, Distant):
        spread = np.tan(np.radians(light.shape.angle / 2))
        for pose, (x, y) in zip(poses, offsets * spread, strict=True):
            pose[:3, :3] = _turned(along_z[:3, :3], x, y)
        return Emission(poses, power)
    poses[:, :3, 3] += light.shape.radius * (offsets @ along_z[:3, :2].T)
    return Emission(poses, power, cone=_cone(light.shape))


def ambient_radiance(lights: Sequence[Light], surroundings: Surroundings) -> NDArray[np.float64]:
    """Linear radiance of the constant surroundings, [3]: decoded ambient plus fill.

    The fill stands for bounce light, of which there is none where neither the headlight nor a
    light gives any: there MuJoCo's ambient without lights is all.
    """
    headlight = surroundings.headlight
    ambient, given = np.zeros(3), np.zeros(3)
    if headlight.active:
        ambient += headlight.ambient
        given += headlight.diffuse
    shining = [light for light in lights if light.shines]
    for light in shining:
        ambient += light.ambient
        given += light.diffuse
    if not shining and not headlight.active:
        ambient += AMBIENT_WITHOUT_LIGHTS
    elif np.any(ambient + given > 0.0):
        return srgb_decode(ambient) + surroundings.fill
    return srgb_decode(ambient)


def _cone(spot: Spot) -> tuple[float, float]:
    """Cutoff [deg] and exponent of a light's cone, no wider than Mitsuba's may be."""
    return min(spot.cutoff, _WIDEST_CONE), spot.exponent


def _spot(mitsuba: ModuleType, spot: Spot) -> dict[str, Any]:
    cutoff, exponent = _cone(spot)
    return {
        "type": "spot",
        "intensity": {"type": "rgb", "value": [1.0, 1.0, 1.0]},
        "cutoff_angle": cutoff,
        "beam_width": cutoff * BEAM_SHARE,
        "texture": {
            "type": "bitmap",
            "bitmap": mitsuba.Bitmap(cone_profile(cutoff, exponent)),
            "raw": True,
            "wrap_mode": "clamp",
        },
    }


def _directional() -> dict[str, Any]:
    return {"type": "directional", "irradiance": {"type": "rgb", "value": [1.0, 1.0, 1.0]}}


def cone_profile(cutoff: float, exponent: float) -> NDArray[np.float32]:
    """Picture of the cone's cos^(exponent - 2) falloff over the tangent plane, [n, n, 1].

    MuJoCo's factor is cos^exponent with the cosine of incidence left to the surface; two powers
    less make up for the longer way to a plane that physics counts and MuJoCo does not.
    """
    axis = (np.arange(_PROFILE_SIZE) + 0.5) / _PROFILE_SIZE * 2.0 - 1.0
    slope = axis * np.tan(np.radians(cutoff))
    cosine = 1.0 / np.sqrt(1.0 + slope[None, :] ** 2 + slope[:, None] ** 2)
    return (cosine ** (exponent - 2.0)).astype(np.float32)[..., None]


def _turned(rotation: NDArray[np.float64], x: float, y: float) -> NDArray[np.float64]:
    """Rotation whose z axis leans by slopes x and y from the given one's."""
    z = rotation @ np.array([x, y, 1.0])
    z /= np.linalg.norm(z)
    first = rotation[:, 0] - z * (z @ rotation[:, 0])
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(z, first), z], axis=1)
