"""What of a sample the path tracer shows."""

from __future__ import annotations

from datagen.backends.honoured import LENS, PLACED, Honoured

_LIGHT = PLACED | {
    "inputs:color",
    "inputs:intensity",
    "datagen:ambient",
    "datagen:unitIntensity",
}

MITSUBA_HONOURED = Honoured(
    backend="mitsuba",
    shown={
        "part": PLACED,
        "Camera": LENS,
        "DistantLight": _LIGHT | {"inputs:angle"},
        "SphereLight": _LIGHT
        | {"inputs:radius", "datagen:referenceDistance", "datagen:cutoff", "datagen:exponent"},
        "/World": frozenset(
            {
                "datagen:headlight:active",
                "datagen:headlight:ambient",
                "datagen:headlight:diffuse",
                "datagen:fill",
                "datagen:exposure",
            }
        ),
    },
    neutral=frozenset({"horizontalAperture"}),
)
"""Attributes that the Mitsuba backend shows; a sample that changes any other is refused.

Materials are read at opening. Light falls off with the square of the distance and every light casts
shadows, so `datagen:attenuation` and `datagen:castShadow` are not among them.
"""
