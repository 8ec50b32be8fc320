"""Borders between ids: where two renderers may differ by rounding, and where they must not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Mask = NDArray[np.bool_]
Floats = NDArray[np.floating[Any]]

_BINOMIAL = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)


def interior(ids: Ids) -> Mask:
    """Pixels whose 3 x 3 neighbourhood (cut at the picture's border) holds one id, [h, w]."""
    same = np.ones(ids.shape, dtype=np.bool_)
    across = ids[:, 1:] == ids[:, :-1]
    same[:, 1:] &= across
    same[:, :-1] &= across
    down = ids[1:] == ids[:-1]
    same[1:] &= down
    same[:-1] &= down
    falling = ids[1:, 1:] == ids[:-1, :-1]
    same[1:, 1:] &= falling
    same[:-1, :-1] &= falling
    rising = ids[1:, :-1] == ids[:-1, 1:]
    same[1:, :-1] &= rising
    same[:-1, 1:] &= rising
    return same


def smooth(picture: Floats) -> Floats:
    """Binomial blur of five taps along both axes (sigma 1 pixel), border repeated; [h, w, ...]."""
    for axis in (0, 1):
        widths = [(2, 2) if each == axis else (0, 0) for each in range(picture.ndim)]
        padded = np.pad(picture, widths, mode="edge")
        size = picture.shape[axis]
        picture = sum(  # pyright: ignore[reportAssignmentType]
            weight * np.take(padded, np.arange(tap, tap + size), axis=axis)
            for tap, weight in enumerate(_BINOMIAL)
        )
    return picture


def nearest(depth: Floats, radius: int) -> Floats:
    """Smallest depth in the square of `2 radius + 1` pixels around each pixel, [h, w]."""
    for axis in (0, 1):
        widths = [(radius, radius) if each == axis else (0, 0) for each in range(2)]
        padded = np.pad(depth, widths, mode="edge")
        size = depth.shape[axis]
        depth = np.min(
            [
                np.take(padded, np.arange(tap, tap + size), axis=axis)
                for tap in range(2 * radius + 1)
            ],
            axis=0,
        )
    return depth
