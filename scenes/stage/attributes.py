"""Names of the attributes that a scene has beside USD's own, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pxr import Sdf, Usd

# Of `/World`.
HEADLIGHT_ACTIVE = "datagen:headlight:active"
"""Whether MuJoCo's headlight, which shines along the camera's axis, is on."""
HEADLIGHT_AMBIENT = "datagen:headlight:ambient"
"""Display value that the headlight adds everywhere."""
HEADLIGHT_DIFFUSE = "datagen:headlight:diffuse"
"""Display value that the headlight adds to a white surface across its axis."""
HEADLIGHT_SPECULAR = "datagen:headlight:specular"
"""Display value of the headlight's highlights."""
HEADLIGHT = (HEADLIGHT_ACTIVE, HEADLIGHT_AMBIENT, HEADLIGHT_DIFFUSE, HEADLIGHT_SPECULAR)
"""All that is said of the headlight."""
FILL = "datagen:fill"
"""Linear radiance that stands for the bounce light of surfaces out of the picture."""
EXPOSURE = "datagen:exposure"
"""Factor on the linear radiance of path-traced pictures."""

# Of a light.
UNIT_INTENSITY = "datagen:unitIntensity"
"""Value of `inputs:intensity` at which the light is as strong as its colour says."""
LIGHT_AMBIENT = "datagen:ambient"
"""Display value that a light adds everywhere."""
LIGHT_SPECULAR = "datagen:specular"
"""Display value of a light's highlights."""
ATTENUATION = "datagen:attenuation"
"""Constant, linear [1/m] and quadratic [1/m^2] term by which MuJoCo divides a light."""
CUTOFF = "datagen:cutoff"
"""Half angle of a light's cone [deg]."""
EXPONENT = "datagen:exponent"
"""Power of the cosine to the axis by which a light fades within its cone."""
REFERENCE_DISTANCE = "datagen:referenceDistance"
"""Distance along the axis at which a light that falls off is as strong as MuJoCo's [m]."""
CAST_SHADOW = "datagen:castShadow"
"""Whether MuJoCo draws shadows of a light."""

# Of the surface of a material.
SURFACE_SPECULAR = "datagen:specular"
"""Share of specular light in MuJoCo's formula."""
SHININESS = "datagen:shininess"
"""Exponent of MuJoCo's highlights over 128."""
REFLECTANCE = "datagen:reflectance"
"""Share of a mirror picture that MuJoCo adds on planes and boxes."""
HEADLIGHT_REFLECTANCE = "datagen:headlightReflectance"
"""Reflectance at normal incidence under the headlight."""

# Of other prims.
FIXED_ASPECT = "datagen:fixedAspect"
"""Whether a camera's horizontal field of view is its own, whatever the picture's aspect ratio."""
CUBE = "datagen:cube"
"""Picture of the six sides of a skybox."""


def author(prim: Usd.Prim, name: str, kind: Sdf.ValueTypeName, value: object) -> None:
    """Author one of these attributes."""
    prim.CreateAttribute(name, kind).Set(value)
