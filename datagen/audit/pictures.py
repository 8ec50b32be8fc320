"""The pictures of a view for the page, encoded as soon as the view is compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datagen.audit.view import ViewPair
from datagen.report.colors import NOTHING
from datagen.report.embedding import drawing, photo

LARGEST_SIDE = 384
"""Largest side of a picture in full size [px]."""
DIFFERENCE_GAIN = 4
"""How many times stronger than it is a difference of pictures is shown."""
_MARK = np.array((255, 40, 40), np.float64)
_STOPS = np.array(
    [(16, 18, 22), (48, 26, 96), (140, 41, 129), (222, 73, 104), (254, 159, 109), (252, 253, 191)],
    np.float64,
)
"""From no difference to the greatest, ever lighter."""

REFERENCE, CANDIDATE, DIFFERENCE = "reference", "candidate", "difference"


def view_pictures(pair: ViewPair, maps: Mapping[str, NDArray[Any]]) -> dict[str, bytes]:
    """Encode what a page shows of a view, as WebP files by name.

    Args:
        pair: The view.
        maps: Pictures of the comparisons: uint8 [h, w, 3] as they are, float32 [h, w] in colours
            from 0 to the map's greatest value, bool [h, w] in red over the reference.
    """
    found: dict[str, bytes] = {}
    left, right = pair.reference.buffers.rgb, pair.candidate.buffers.rgb
    if left is not None:
        found[REFERENCE] = photo(left, LARGEST_SIDE)
    if right is not None:
        found[CANDIDATE] = photo(right, LARGEST_SIDE)
    if left is not None and right is not None:
        found[DIFFERENCE] = photo(difference_picture(left, right), LARGEST_SIDE)
    for name, each in maps.items():
        found[name] = drawing(map_picture(each, left), LARGEST_SIDE)
    return found


def difference_picture(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Give the absolute difference of two pictures [h, w, 3], amplified."""
    difference = np.abs(left.astype(np.int16) - right.astype(np.int16)) * DIFFERENCE_GAIN
    return np.minimum(difference, 255).astype(np.uint8)


def map_picture(values: NDArray[Any], under: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
    """Colour a map of a comparison as a picture [h, w, 3]; see `view_pictures`."""
    if values.dtype == np.bool_:
        return _marked(values, under)
    if values.ndim == 3:
        return values.astype(np.uint8)
    return _heat(values)


def _marked(mask: NDArray[np.bool_], under: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
    if under is None:
        gray = np.full((*mask.shape, 3), NOTHING, np.float64)
    else:
        gray = np.repeat(under.mean(axis=-1, keepdims=True), 3, axis=-1) * 0.6
    return np.where(mask[..., None], _MARK, gray).astype(np.uint8)


def _heat(values: NDArray[Any]) -> NDArray[np.uint8]:
    numbers = np.abs(values.astype(np.float64))
    shown = np.isfinite(numbers)
    greatest = float(numbers[shown].max(initial=0.0))
    place = np.where(shown, numbers, 0.0) / (greatest or 1.0)
    steps = np.linspace(0.0, 1.0, len(_STOPS))
    channels = [np.interp(place, steps, _STOPS[:, channel]) for channel in range(3)]
    return np.rint(np.stack(channels, axis=-1)).astype(np.uint8)
