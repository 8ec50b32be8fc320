"""Lights of a stage as MuJoCo's fixed pipeline sees them, as one term per light.

Their display values are computed here from colour and intensity, and not by the lights' records:
the audit holds pictures that are made from those against these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scenes import Matrix, Scene, srgb_encode
from scenes.stage.lights import (
    AMBIENT_WITHOUT_LIGHTS,
    Distant,
    Light,
    read_lights,
    read_surroundings,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Points:
    """Places on surfaces that are lit."""

    position: Floats
    """World points [m], [n, 3]."""
    normal: Floats
    """World unit normals, [n, 3]."""
    viewer: Floats
    """Unit vectors to the camera, [n, 3]."""
    base: Floats
    """Display colour without texture, [n, 3]."""
    specular: Floats
    """Share of specular light, [n]."""
    exponent: Floats
    """Exponent of the highlight, [n]."""


@dataclass(frozen=True)
class DisplayLight:
    """A light in display values."""

    name: str
    path: str
    """Prim path; `/World` for the headlight."""
    ambient: Floats
    diffuse: Floats
    specular: Floats
    axis: Floats
    """World direction that it shines along."""
    position: Floats | None = None
    """World position [m]; None for a directional light."""
    cutoff: float = 180.0
    """Half angle of the cone [degree]."""
    exponent: float = 0.0
    attenuation: tuple[float, float, float] = (1.0, 0.0, 0.0)
    shines: bool = True
    """False for a light that the sample leaves dark."""
    casts_shadow: bool = False
    """Whether MuJoCo draws shadows of it, which `lit` leaves out."""

    def lit(self, points: Points) -> Floats:
        """Display value that this light adds at points before clipping and texture, [n, 3].

        OpenGL 2.1, section 2.14.1, with a local viewer: attenuation x spot x (ambient + diffuse
        max(N.L, 0) + specular max(N.H, 0)^exponent where N.L > 0).
        """
        direction, strength = self._arrival(points.position)
        cosine = np.einsum("nc,nc->n", points.normal, direction)
        body = self.ambient + np.maximum(cosine, 0.0)[:, None] * self.diffuse
        return points.base * body * strength[:, None] + self.shine(points)

    def in_shadow(self, points: Points) -> Floats:
        """What is left of `lit` where something stands before the light, [n, 3]."""
        _, strength = self._arrival(points.position)
        return points.base * self.ambient * strength[:, None]

    def shine(self, points: Points) -> Floats:
        """Specular part of `lit`, [n, 3]."""
        direction, strength = self._arrival(points.position)
        cosine = np.einsum("nc,nc->n", points.normal, direction)
        half = direction + points.viewer
        half /= np.maximum(np.linalg.norm(half, axis=1, keepdims=True), 1e-12)
        shine = np.maximum(np.einsum("nc,nc->n", points.normal, half), 0.0) ** points.exponent
        shine *= (cosine > 0) * points.specular
        return shine[:, None] * self.specular * strength[:, None]

    def _arrival(self, position: Floats) -> tuple[Floats, Floats]:
        """Unit vectors to the light, [n, 3], and its spot and distance factor, [n]."""
        if self.position is None:
            return np.broadcast_to(-self.axis, position.shape), np.ones(len(position))
        offset = self.position - position
        distance = np.linalg.norm(offset, axis=1)
        direction = offset / np.maximum(distance, 1e-12)[:, None]
        constant, linear, quadratic = self.attenuation
        strength = 1.0 / (constant + linear * distance + quadratic * distance**2)
        if self.cutoff < 180.0:
            along = np.clip(-(direction @ self.axis), 0.0, 1.0)
            inside = along >= np.cos(np.radians(self.cutoff))
            strength = strength * np.where(inside, along**self.exponent, 0.0)
        return direction, strength


def display_lights(scene: Scene, T_world_camera: Matrix) -> tuple[DisplayLight, ...]:
    """All lights in the sample shown, the headlight first.

    Args:
        scene: The scene, with the sample over it.
        T_world_camera: Pose of the camera, OpenCV axes [m].
    """
    headlight = read_surroundings(scene).headlight
    found = [
        DisplayLight(
            "headlight",
            "/World",
            headlight.ambient,
            headlight.diffuse,
            headlight.specular,
            T_world_camera[:3, 2],
            shines=headlight.active,
        )
    ]
    found.extend(map(_displayed, read_lights(scene)))
    if not any(light.shines for light in found):
        ambient, dark = np.full(3, AMBIENT_WITHOUT_LIGHTS), np.zeros(3)
        found.append(DisplayLight("ambient", "/World", ambient, dark, dark, np.array([0, 0, 1.0])))
    return tuple(found)


def _displayed(light: Light) -> DisplayLight:
    strength = light.intensity / light.unit_intensity
    shown = DisplayLight(
        light.name,
        light.path,
        light.ambient,
        srgb_encode(light.color * strength),
        light.specular,
        -light.T_world_light[:3, 2],
        shines=light.shines,
        casts_shadow=light.casts_shadow,
    )
    if isinstance(light.shape, Distant):
        return shown
    return replace(
        shown,
        position=light.T_world_light[:3, 3],
        cutoff=light.shape.cutoff,
        exponent=light.shape.exponent,
        attenuation=light.shape.attenuation,
    )
