"""The pictures of a view for the page, encoded as soon as the view is compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datagen.audit.results import Picture
from datagen.audit.view import ViewPair
from datagen.report.colors import NOTHING
from datagen.report.embedding import drawing, photo

LARGEST_SIDE = 512
"""Largest side of a picture in full size [px]."""
DIFFERENCE_GAIN = 4
"""How many times stronger than it is a difference of pictures is shown."""
SCALES: Mapping[str, float] = {"flip": 1.0, "depth.difference": 1e-3, "normal.angle": 10.0}
"""Fixed ends of the colours of maps: FLIP from 0 to 1, depth to 1 mm, normals to 10 degrees."""
_AGREED = (40, 40, 40)
"""Colour of a map of ids where both sides agree."""
_MARK = np.array((255, 40, 40), np.float64)
_STOPS = np.array(
    [(16, 18, 22), (48, 26, 96), (140, 41, 129), (222, 73, 104), (254, 159, 109), (252, 253, 191)],
    np.float64,
)
"""From no difference to the greatest, ever lighter."""

REFERENCE, CANDIDATE, DIFFERENCE = "reference", "candidate", "difference"
_SHOWN_ALREADY = ("rgb_reference", "rgb_candidate", "rgb_difference")
_FEW_COLORS = 16


def view_pictures(pair: ViewPair, maps: Mapping[str, NDArray[Any]]) -> dict[str, Picture]:
    """Encode what a page shows of a view, by name.

    Args:
        pair: The view.
        maps: Pictures of the comparisons: uint8 [h, w, 3] as they are, float32 [h, w] in colours
            to a fixed end for those of `SCALES` and to the map's greatest value for others, bool
            [h, w] in red over the reference; so is what a map of ids marks.
    """
    found: dict[str, Picture] = {}
    left, right = pair.reference.buffers.rgb, pair.candidate.buffers.rgb
    if left is not None:
        found[REFERENCE] = Picture(photo(left, LARGEST_SIDE))
    if right is not None:
        found[CANDIDATE] = Picture(photo(right, LARGEST_SIDE))
    if "flip" in maps:
        found["flip"] = _map("flip", maps["flip"], left)
    if left is not None and right is not None:
        found[DIFFERENCE] = Picture(photo(difference_picture(left, right), LARGEST_SIDE))
    for name, values in maps.items():
        if name not in _SHOWN_ALREADY and name not in found:
            found[name] = _map(name, values, left)
    return found


def _map(name: str, values: NDArray[Any], under: NDArray[np.uint8] | None) -> Picture:
    if values.dtype == np.bool_:
        return Picture(drawing(_marked(values, under), LARGEST_SIDE))
    if name == "ids.disagreement" and under is not None:
        agreed = (values == _AGREED).all(axis=-1, keepdims=True)
        over = np.where(agreed, _dimmed(under), values)
        return Picture(photo(over.astype(np.uint8), LARGEST_SIDE))
    if values.ndim == 3:
        encode = drawing if _is_drawn(values) else photo
        return Picture(encode(values.astype(np.uint8), LARGEST_SIDE))
    size = np.abs(values[np.isfinite(values)])
    greatest = SCALES.get(name, float(size.max(initial=0.0)))
    return Picture(photo(heat_picture(values, greatest), LARGEST_SIDE), greatest)


def _is_drawn(picture: NDArray[np.uint8]) -> bool:
    """Tell whether a picture has so few colours that they stand for something."""
    colors = picture.astype(np.uint32) @ np.array([1, 1 << 8, 1 << 16], np.uint32)
    return len(np.unique(colors)) <= _FEW_COLORS


def difference_picture(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Give the absolute difference of two pictures [h, w, 3], amplified."""
    difference = np.abs(left.astype(np.int16) - right.astype(np.int16)) * DIFFERENCE_GAIN
    return np.minimum(difference, 255).astype(np.uint8)


def _marked(mask: NDArray[np.bool_], under: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
    dim = np.full((*mask.shape, 3), NOTHING, np.float64) if under is None else _dimmed(under)
    return np.where(mask[..., None], _MARK, dim).astype(np.uint8)


def _dimmed(picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    return picture.astype(np.float64) * 0.6


def heat_picture(values: NDArray[Any], greatest: float) -> NDArray[np.uint8]:
    """Colour the size of numbers [h, w] from 0 to `greatest`, as [h, w, 3]."""
    size = np.abs(np.where(np.isfinite(values), values, 0.0)).astype(np.float64)
    place = np.clip(size / (greatest or 1.0), 0.0, 1.0)
    steps = np.linspace(0.0, 1.0, len(_STOPS))
    channels = [np.interp(place, steps, _STOPS[:, channel]) for channel in range(3)]
    return np.rint(np.stack(channels, axis=-1)).astype(np.uint8)
