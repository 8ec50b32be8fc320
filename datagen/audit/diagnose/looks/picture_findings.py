"""What is probably wrong with all colours of a picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datagen.audit.diagnose.findings import Finding
from datagen.audit.diagnose.looks.tone import (
    channel_order,
    chroma_exponent,
    development_exponent,
    level_exponent,
)
from datagen.audit.measure.similarity import box_mean
from datagen.audit.view import ViewPair

Mask = NDArray[np.bool_]
Picture = NDArray[np.float32]
Colors = NDArray[np.float64]

_GAMMA_RANGE = (0.75, 1.45)
"""Exponents of a path-traced picture without a wrong curve: bounce light tints a little."""
_DOUBLE_RANGE = (0.62, 1.7)
_ALBEDO_GAMMA_RANGE = (0.87, 1.15)
_DEVELOPED_RANGE = (0.95, 1.05)
"""Exponents between a picture and its own radiance."""
_SWAP_MARGIN = 0.15
_PLAIN_DEVIATION = 0.04
"""Deviation of display values about a pixel up to which a surface counts as plain."""


@dataclass(frozen=True)
class Looks:
    """Display pictures of a view, where both sides have them."""

    same: Mask
    """Pixels that show one part in both, [h, w]."""
    inside: Mask
    """Those of them whose neighbours show it too, [h, w]."""
    rgb: tuple[Picture, Picture] | None
    """Reference and candidate, [h, w, 3]."""
    albedo: tuple[Picture, Picture] | None


def diagnose_picture(pair: ViewPair, looks: Looks) -> list[Finding]:
    """Name what is wrong with all colours of the candidate."""
    found: list[Finding] = []
    for name, pictures in (("picture", looks.rgb), ("albedo", looks.albedo)):
        if pictures is None:
            continue
        order = channel_order(*(picture[looks.inside] for picture in pictures))
        if order is not None and order.order != "rgb" and order.margin > _SWAP_MARGIN:
            found.append(
                Finding(
                    "channels_swapped",
                    "picture",
                    1.0,
                    "",
                    f"The {name} of {pair.candidate.backend} fits {pair.reference.backend}'s when "
                    f"its channels are read as {order.order}: probably RGB and BGR are mixed up.",
                )
            )
    if found:
        return found[:1]
    curve = _gamma(pair, looks)
    return [] if curve is None else [curve]


def _gamma(pair: ViewPair, looks: Looks) -> Finding | None:
    if looks.albedo is not None:
        plain = looks.inside & _plain(looks.albedo[0]) & _plain(looks.albedo[1])
        exponent = level_exponent(*(albedo[plain] for albedo in looks.albedo))
        if exponent is not None and not _within(exponent, _ALBEDO_GAMMA_RANGE):
            return _curve(pair, exponent, "albedo")
    albedo, hdr = pair.candidate.buffers.albedo, pair.candidate.buffers.hdr
    if albedo is None:
        albedo = pair.reference.buffers.albedo
    if looks.rgb is None or albedo is None:
        return None
    if hdr is not None:
        # Colours may be pale by reflections of the sky, so the radiance itself is asked.
        exponent = development_exponent(hdr[looks.inside], looks.rgb[1][looks.inside])
        if exponent is None or _within(exponent, _DEVELOPED_RANGE):
            return None
        return _curve(pair, exponent, "picture", "its own radiance")
    exponent = chroma_exponent(looks.rgb[1], albedo, looks.inside)
    if exponent is None or _within(exponent, _GAMMA_RANGE):
        return None
    return _curve(pair, exponent, "picture")


def _curve(
    pair: ViewPair, exponent: float, name: str, source: str = "its surfaces' colours"
) -> Finding:
    double = not _within(exponent, _DOUBLE_RANGE)
    way = "encoded" if exponent < 1.0 else "decoded"
    cause = f"it is {way} twice" if double else "its colours pass a tone curve"
    return Finding(
        "double_gamma" if double else "gamma",
        "picture",
        exponent,
        "",
        f"The {name} of {pair.candidate.backend} follows {source} with an exponent of "
        f"{exponent:.2f} instead of 1: probably {cause}.",
    )


def _plain(albedo: Picture) -> Mask:
    """Pixels around which a picture varies little, so that no filter matters, [h, w]."""
    variance = box_mean(albedo**2, 3) - box_mean(albedo, 3) ** 2
    return np.asarray(variance.max(axis=2) < _PLAIN_DEVIATION**2)


def _within(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= value <= limits[1]
