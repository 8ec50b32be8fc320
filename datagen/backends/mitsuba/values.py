"""What of a sample the path tracer shows."""

from __future__ import annotations

from datagen.backends.honoured import LENS, PLACED, Honoured
from scenes.stage import attributes

_LIGHT = PLACED | {
    "inputs:color",
    "inputs:intensity",
    attributes.LIGHT_AMBIENT,
    attributes.UNIT_INTENSITY,
}

MITSUBA_HONOURED = Honoured(
    backend="mitsuba",
    shown={
        "part": PLACED,
        "Camera": LENS,
        "DistantLight": _LIGHT | {"inputs:angle"},
        "SphereLight": _LIGHT
        | {
            "inputs:radius",
            attributes.REFERENCE_DISTANCE,
            attributes.CUTOFF,
            attributes.EXPONENT,
        },
        "/World": frozenset(
            {
                attributes.HEADLIGHT_ACTIVE,
                attributes.HEADLIGHT_AMBIENT,
                attributes.HEADLIGHT_DIFFUSE,
                attributes.FILL,
                attributes.EXPOSURE,
            }
        ),
    },
    neutral=frozenset({"horizontalAperture"}),
)
"""Attributes that the Mitsuba backend shows; a sample that changes any other is refused.

Materials are read at opening. Light falls off with the square of the distance and every light casts
shadows, so `ATTENUATION` and `CAST_SHADOW` are not among them.
"""
