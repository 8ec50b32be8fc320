"""MuJoCo's highlights as reflectances and roughnesses of microfacet surfaces.

MuJoCo adds `specular * light specular * (N.H)^n`, n = 128 times the shininess, to the display
value. A microfacet lobe of the roughness alpha = sqrt(2 / (n + 2)) is as wide (Walter et al. 2007,
Blinn-Phong and Beckmann distributions); under a light of the irradiance pi E its peak, seen along
the normal, is F0 E / (4 alpha^2).
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from scenes.convert.settings import MaterialRule
from scenes.stage.colors import srgb_decode

DIELECTRIC = 0.04
"""Reflectance at normal incidence of what has a refractive index of 1.5."""
_STRONGEST = 0.5
_LUMA = np.array([0.2126, 0.7152, 0.0722])


class Highlight(NamedTuple):
    """What a surface reflects as it is."""

    reflectance: float
    """Reflectance at normal incidence, F0."""
    roughness: float
    """Perceptual roughness, the square root of alpha."""


class LightLevels(NamedTuple):
    """Display values of a model's lights."""

    diffuse: float
    """Mean over the lights that make highlights."""
    specular: float
    """Likewise."""
    lit: float
    """Light on a white surface that leans 45 degrees from all lights, highlights left out, from 0
    to 1, where MuJoCo's pictures saturate."""

    @classmethod
    def of(cls, model: mujoco.MjModel) -> LightLevels:
        """Read the lights of a model; MuJoCo's defaults where none shines."""
        active = np.asarray(model.light_active, dtype=bool)
        if not active.any():
            return cls(0.7, 0.3, _lit(model))
        diffuse, specular = (
            float((values[active] @ _LUMA).mean())
            for values in (model.light_diffuse, model.light_specular)
        )
        return cls(diffuse, specular, _lit(model))

    @classmethod
    def of_headlight(cls, model: mujoco.MjModel) -> LightLevels:
        """Read a model's headlight."""
        head = model.vis.headlight
        return cls(float(head.diffuse @ _LUMA), float(head.specular @ _LUMA), _lit(model))


def _lit(model: mujoco.MjModel) -> float:
    active = np.asarray(model.light_active, dtype=bool)
    head = model.vis.headlight
    ambient = model.light_ambient[active].sum(axis=0) + head.ambient * head.active
    diffuse = model.light_diffuse[active].sum(axis=0) + head.diffuse * head.active
    return float(np.clip((ambient + np.sqrt(0.5) * diffuse) @ _LUMA, 0.0, 1.0))


def highlight(
    rule: MaterialRule,
    rgba: tuple[float, float, float, float],
    specular: float,
    shininess: float,
    levels: LightLevels,
    texture: float = 1.0,
) -> Highlight:
    """Reflectance and roughness of a material.

    Args:
        rule: `mujoco` gives a lobe that adds as much to the picture as MuJoCo's highlight adds to
            the lit material under the model's lights, before both saturate. `physical` gives a
            dielectric. Where the model asks for no highlight both give a matte surface.
        rgba: Display colour and opacity.
        specular: MuJoCo's share of specular light.
        shininess: MuJoCo's exponent, divided by 128.
        levels: The model's lights.
        texture: Mean display value of the texture, with which MuJoCo multiplies highlights too.
    """
    roughness = roughness_from_shininess(shininess)
    if specular <= 0.0:
        return Highlight(0.0, roughness)
    if rule == "physical":
        return Highlight(DIELECTRIC, roughness)
    base = float(np.clip(np.array(rgba[:3]) @ _LUMA * levels.lit, 0.0, 1.0))
    bright = min(base + specular * levels.specular, 1.0)
    added = float(srgb_decode(bright * texture) - srgb_decode(base * texture))
    strength = float(srgb_decode(levels.diffuse))
    if added <= 0.0 or strength <= 0.0:
        return Highlight(0.0, roughness)
    reflectance = 8.0 * added / ((128.0 * shininess + 2.0) * strength)
    return Highlight(min(reflectance, _STRONGEST), roughness)


def roughness_from_shininess(shininess: float) -> float:
    """Perceptual roughness whose microfacet lobe is as wide as MuJoCo's Blinn-Phong lobe."""
    alpha = np.sqrt(2.0 / (128.0 * shininess + 2.0))
    return float(np.sqrt(alpha))
