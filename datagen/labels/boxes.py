"""Boxes: tight ones from label maps, 3D ones from vertices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datagen.labels.affine import Floats, apply

TightBox = tuple[int, int, int, int]


@dataclass(frozen=True)
class Box3D:
    """A box along the axes of a frame [m]."""

    center: Floats
    """[3]."""
    size: Floats
    """Edge lengths, [3]."""


def pixel_counts(ids: NDArray[np.int32], count: int) -> NDArray[np.intp]:
    """Pixels of each number in a label map, [count + 1]."""
    return np.bincount(ids.reshape(-1), minlength=count + 1)


def tight_boxes(ids: NDArray[np.int32], count: int) -> dict[int, TightBox]:
    """Half-open boxes x0, y0, x1, y1 of the numbers in a label map: `[x0, x1) x [y0, y1)`.

    A number without a pixel has none.

    Args:
        ids: Numbers from 0 to `count`, [h, w].
        count: The highest number; 0 stands for nothing.
    """
    height, width = ids.shape
    rows = np.zeros((count + 1, height), dtype=np.bool_)
    columns = np.zeros((count + 1, width), dtype=np.bool_)
    rows[ids, np.arange(height)[:, None]] = True
    columns[ids, np.arange(width)[None, :]] = True
    x0, y0 = columns.argmax(axis=1), rows.argmax(axis=1)
    x1 = width - columns[:, ::-1].argmax(axis=1)
    y1 = height - rows[:, ::-1].argmax(axis=1)
    return {
        int(number): (int(x0[number]), int(y0[number]), int(x1[number]), int(y1[number]))
        for number in np.flatnonzero(rows.any(axis=1))
        if number
    }


def extent(points: Floats, transform: Floats) -> Floats:
    """Lower and upper corner, [2, 3], of points, [3, n], moved by a transform, [4, 4]."""
    moved = apply(transform, points)
    return np.stack([moved.min(axis=1), moved.max(axis=1)])


def box_around(extents: list[Floats]) -> Box3D:
    """Box around several extents, each [2, 3]."""
    lower = np.min([each[0] for each in extents], axis=0)
    upper = np.max([each[1] for each in extents], axis=0)
    return Box3D((lower + upper) / 2, upper - lower)
