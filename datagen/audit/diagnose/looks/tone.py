"""Faults of a whole picture's colours: gamma, brightness and swapped channels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from datagen.audit.measure.similarity import box_mean
from scenes import srgb_decode, srgb_encode

Floats = NDArray[np.floating]
_DARK, _BRIGHT = 0.04, 0.97
_BINS = 12
_BIN_PIXELS_MIN = 40
_RISE_MIN = 0.1
"""Logarithm of the ratio of two levels that steps of 8 bits do not disturb."""
_VALUES_MAX = 8000
_NO_FIT = 10.0
_EXPOSURES = (-2.5, 2.5)
"""Logarithms of exposures that are looked for."""
_COLORED = 0.02
_WINDOW = 5
_BLACK = 0.002
_TINTED = 0.04
"""Least reflectance in every channel: on darker surfaces white highlights make the ratios."""
_RATIO_MIN = 0.08
"""Logarithm of a ratio of channels from which a surface counts as coloured."""
_RATIOS_MIN = 600


def level_exponent(reference: Floats, candidate: Floats) -> float | None:
    """Exponent of the curve from one picture's levels to the other's; None for too little range.

    For pictures that must be equal, such as diffuse colours: 1 is no curve at all.

    Args:
        reference: Display values, [n, 3].
        candidate: Display values of the same places, [n, 3].
    """
    first, second = reference.mean(axis=1), candidate.mean(axis=1)
    usable = (first > _DARK) & (first < _BRIGHT) & (second > _DARK / 4) & (second < _BRIGHT)
    if np.count_nonzero(usable) < 3 * _BIN_PIXELS_MIN:
        return None
    x, y = np.log(first[usable]), np.log(second[usable])
    slot = np.digitize(x, np.linspace(x.min(), x.max() + 1e-9, _BINS + 1)) - 1
    full = [k for k in range(_BINS) if np.count_nonzero(slot == k) >= _BIN_PIXELS_MIN]
    if len(full) < 3:
        return None
    levels = np.array([[np.median(x[slot == k]), np.median(y[slot == k])] for k in full])
    low, high = np.triu_indices(len(levels), 1)
    rise = levels[high] - levels[low]
    rise = rise[rise[:, 0] > _RISE_MIN]
    if not len(rise):
        return None
    return float(np.median(rise[:, 1] / rise[:, 0]))


def development_exponent(radiance: Floats, picture: Floats) -> float | None:
    """Exponent of the curve from a picture's own radiance to its levels, whatever its exposure.

    The display curve is no power: an exposure alone would look like one, so it is taken out first.

    Args:
        radiance: Linear radiance, [n, 3].
        picture: Display values of the same places, [n, 3].

    Returns:
        The exponent, 1 for a picture that is developed once; None for too little range.
    """
    usable = (picture > _DARK) & (picture < _BRIGHT) & (radiance > 0.0)
    light, level = (each[usable].astype(np.float64) for each in (radiance, picture))
    every = max(1, len(light) // _VALUES_MAX)
    light, level = light[::every], np.log(level[::every])
    if len(light) < 3 * _BIN_PIXELS_MIN or np.ptp(np.percentile(level, (5, 95))) < _RISE_MIN:
        return None

    def fitted(exposure: float) -> tuple[float, float]:
        """Exponent at an exposure, and the mean error of logarithms that it leaves."""
        shown = srgb_encode(light * np.exp(exposure))
        # What the screen cannot show was clipped, whatever its radiance.
        within = shown < 1.0
        if np.count_nonzero(within) < 0.5 * len(shown):
            return 1.0, _NO_FIT
        developed, wanted = np.log(shown[within]), level[within]
        exponent = float(np.sum(developed * wanted) / np.sum(developed**2))
        return exponent, float(np.mean(np.abs(wanted - exponent * developed)))

    best = minimize_scalar(lambda at: fitted(at)[1], bounds=_EXPOSURES, method="bounded")
    return fitted(float(best.x))[0]


def chroma_exponent(
    rgb: NDArray[np.float32], albedo: NDArray[np.float32], where: NDArray[np.bool_]
) -> float | None:
    """Exponent between a picture's channel ratios and those of its surfaces' diffuse colour.

    White light scales all channels of a surface alike, so their ratios do not depend on light and
    shadow: without a curve too many or too few the exponent is about 1, whatever the renderer.

    Args:
        rgb: Display picture in [0, 1], [h, w, 3].
        albedo: Linear diffuse colour, [h, w, 3].
        where: Pixels within one part, [h, w].

    Returns:
        The exponent, None where there is too little colour to tell.
    """
    surface = box_mean(albedo, _WINDOW)
    light = box_mean(srgb_decode(rgb.astype(np.float64)), _WINDOW)
    usable = where & (rgb.max(axis=2) < _BRIGHT) & (rgb.min(axis=2) > _DARK)
    usable &= (surface.min(axis=2) > _TINTED) & (light.min(axis=2) > _BLACK)
    surface, light = np.log(surface[usable]), np.log(light[usable])
    x, y = ((v - v[:, [1, 2, 0]]).ravel() for v in (surface, light))
    colored = np.abs(x) > _RATIO_MIN
    if np.count_nonzero(colored) < _RATIOS_MIN:
        return None
    return float(np.median(y[colored] / x[colored]))


@dataclass(frozen=True)
class ChannelOrder:
    """Which order of the candidate's channels fits the reference's colours best."""

    order: str
    """`rgb` when nothing is swapped: the candidate's channels to be shown as red, green, blue."""
    margin: float
    """How much better its correlation is than that of `rgb`."""


def channel_order(reference: Floats, candidate: Floats) -> ChannelOrder | None:
    """Compare the colours of the same places, [n, 3] each; None where all is grey or empty."""
    if not len(reference):
        return None
    first = reference - reference.mean(axis=1, keepdims=True)
    second = candidate - candidate.mean(axis=1, keepdims=True)
    # A swap leaves the mean of the colours behind when it is taken out, so it stays in.
    strength = float(np.sqrt((first**2).mean() * (second**2).mean()))
    if strength < _COLORED**2:
        return None
    scores = {
        order: float((first * second[:, list(order)]).mean()) / strength
        for order in permutations(range(3))
    }
    best = max(scores, key=lambda order: scores[order])
    name = "".join("rgb"[channel] for channel in best)
    return ChannelOrder(name, scores[best] - scores[0, 1, 2])
