"""What of a sample Newton's camera shows."""

from __future__ import annotations

from datagen.backends.honoured import LENS, PLACED, Honoured
from scenes.stage import attributes

_LIGHT = PLACED | {
    "inputs:color",
    "inputs:intensity",
    attributes.LIGHT_AMBIENT,
    attributes.LIGHT_SPECULAR,
}

NEWTON_HONOURED = Honoured(
    backend="newton",
    shown={
        "part": PLACED,
        "Camera": LENS,
        "DistantLight": _LIGHT,
        "SphereLight": _LIGHT | {attributes.ATTENUATION, attributes.CUTOFF, attributes.EXPONENT},
        "/World": frozenset(attributes.HEADLIGHT),
        "UsdPreviewSurface": frozenset(
            {"inputs:diffuseColor", attributes.SURFACE_SPECULAR, attributes.SHININESS}
        ),
        "UsdUVTexture": frozenset({"inputs:scale"}),
    },
    # Without meaning for a picture without bounces.
    neutral=frozenset({"horizontalAperture", attributes.FILL, attributes.EXPOSURE}),
)
"""Attributes that the Newton backend shows; a sample that changes any other is refused."""

NEWTON_MISSING: dict[str, str] = {
    "hdr": "no pass: light is added in display values, as MuJoCo's formula does",
    "shadows": "no light casts one",
    "reflections, emission": "not in the formula",
    "opacity": "every surface hides what is behind it",
    "mip maps": "textures are sampled bilinearly at full size and always repeat",
    "far plane": "rays end after 10 km",
}
"""What pictures of the Newton backend lack, and what is there in its place."""
