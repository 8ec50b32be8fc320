"""Faults of a whole picture's colours: gamma, brightness and swapped channels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
_DARK, _BRIGHT = 0.04, 0.97
_BINS = 12
_BIN_PIXELS_MIN = 40
_COLORED = 0.02


@dataclass(frozen=True)
class ToneCurve:
    """The curve `candidate = (gain * reference) ^ exponent` through the pictures' levels."""

    exponent: float
    gain: float
    residual: float
    """Median distance of the levels from the curve, in display units."""
    spread: float
    """How far apart the levels are that the curve is fitted to, natural logarithm."""


def tone_curve(reference: Floats, candidate: Floats) -> ToneCurve | None:
    """Fit a tone curve to the same places of two pictures; None where there is too little range.

    Args:
        reference: Display values, [n, 3].
        candidate: Display values of the same places, [n, 3].
    """
    first, second = reference.mean(axis=1), candidate.mean(axis=1)
    usable = (first > _DARK) & (first < _BRIGHT) & (second > _DARK / 4) & (second < _BRIGHT)
    if np.count_nonzero(usable) < 3 * _BIN_PIXELS_MIN:
        return None
    x, y = np.log(first[usable]), np.log(second[usable])
    edges = np.linspace(x.min(), x.max() + 1e-9, _BINS + 1)
    slot = np.digitize(x, edges) - 1
    full = [k for k in range(_BINS) if np.count_nonzero(slot == k) >= _BIN_PIXELS_MIN]
    if len(full) < 3:
        return None
    levels = np.array([[np.median(x[slot == k]), np.median(y[slot == k])] for k in full])
    slope, offset = _line(levels[:, 0], levels[:, 1])
    fitted = np.exp(offset + slope * levels[:, 0])
    return ToneCurve(
        slope,
        float(np.exp(offset / slope)) if abs(slope) > 1e-6 else 1.0,
        float(np.median(np.abs(fitted - np.exp(levels[:, 1])))),
        float(np.ptp(levels[:, 0])),
    )


def _line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Slope and offset by medians of pairwise slopes (Theil and Sen)."""
    first, second = np.triu_indices(len(x), 1)
    apart = np.abs(x[second] - x[first]) > 1e-6
    slopes = (y[second] - y[first])[apart] / (x[second] - x[first])[apart]
    slope = float(np.median(slopes))
    return slope, float(np.median(y - slope * x))


@dataclass(frozen=True)
class ChannelOrder:
    """Which order of the candidate's channels fits the reference's colours best."""

    order: str
    """`rgb` when nothing is swapped: the candidate's channels to be shown as red, green, blue."""
    margin: float
    """How much better its correlation is than that of `rgb`."""


def channel_order(reference: Floats, candidate: Floats) -> ChannelOrder | None:
    """Compare the colours of the same places, [n, 3] each; None where all is grey."""
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
