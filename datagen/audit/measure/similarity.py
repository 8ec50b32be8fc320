"""How alike two display pictures are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter
from skimage.color import rgb2lab
from skimage.metrics import structural_similarity

from datagen.shading.formula import LUMA

Floats = NDArray[np.floating]
Mask = NDArray[np.bool_]
_PSNR_MAX = 99.0
_COLORED = 6.0
"""Lab chroma from which a colour has a hue."""
_QUANTILES = 256


def display(rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Picture in [0, 1] of bytes."""
    return rgb.astype(np.float32) / np.float32(255.0)


def psnr(reference: Floats, candidate: Floats, where: Mask | None = None) -> float:
    """Peak signal to noise ratio [dB] of display pictures in [0, 1], at most 99."""
    difference = candidate.astype(np.float64) - reference
    squares = difference**2 if where is None else difference[where] ** 2
    error = float(squares.mean()) if squares.size else 0.0
    return min(-10.0 * float(np.log10(error)), _PSNR_MAX) if error > 0 else _PSNR_MAX


def ssim_map(reference: Floats, candidate: Floats) -> NDArray[np.float64]:
    """Structural similarity of each pixel, mean of the channels, [h, w]."""
    side = min(7, *reference.shape[:2])
    found: Any = structural_similarity(
        reference.astype(np.float64),
        candidate.astype(np.float64),
        channel_axis=2,
        data_range=1.0,
        win_size=side - 1 + side % 2,
        full=True,
    )
    return np.asarray(found[1], dtype=np.float64).mean(axis=2)


def luminance_ratio(
    reference: Floats, candidate: Floats, where: Mask | None = None
) -> float | None:
    """Mean luma of the candidate over the reference's; None where that is black."""
    first, second = (
        float((picture if where is None else picture[where]).reshape(-1, 3).mean(axis=0) @ LUMA)
        for picture in (reference, candidate)
    )
    return second / first if first > 1e-6 else None


def hue_shift(reference: Floats, candidate: Floats) -> float | None:
    """Angle between the hues of two mean colours [degree], in Lab; None where one is grey.

    Args:
        reference: Display colours, [n, 3].
        candidate: Display colours of the same places, [n, 3].
    """
    if not len(reference):
        return None
    first, second = (
        np.asarray(rgb2lab(colors.reshape(1, -1, 3).mean(axis=1, keepdims=True))).ravel()[1:]
        for colors in (reference.astype(np.float64), candidate.astype(np.float64))
    )
    if min(np.hypot(*first), np.hypot(*second)) < _COLORED:
        return None
    angle = np.degrees(np.arctan2(second[1], second[0]) - np.arctan2(first[1], first[0]))
    return float(abs((angle + 180.0) % 360.0 - 180.0))


def histogram_distance(reference: Floats, candidate: Floats) -> float:
    """Earth mover's distance of the channels' histograms, mean of the three, 0 to 1."""
    levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    first, second = (
        np.quantile(picture.reshape(-1, 3), levels, axis=0) for picture in (reference, candidate)
    )
    return float(np.abs(first - second).mean())


def box_mean(picture: Floats, side: int) -> NDArray[np.float64]:
    """Mean of the square of `side` pixels around each pixel, by channel, [h, w, c]."""
    channels = [
        uniform_filter(picture[..., k].astype(np.float64), side) for k in range(picture.shape[2])
    ]
    return np.stack(channels, axis=2)


def interior(part: NDArray[np.integer]) -> Mask:
    """Pixels whose 3 x 3 neighbourhood shows one part, [h, w]."""
    padded = np.pad(part, 1, mode="edge")
    h, w = part.shape
    same = part > 0
    for dy in range(3):
        for dx in range(3):
            same = same & (padded[dy : dy + h, dx : dx + w] == part)
    return same
