"""Affine transforms by plain sums and products, so that every CPU gives the same bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def compose(first: Floats, second: Floats) -> Floats:
    """Products of matrices, [..., n, k] by [..., k, m]; of transforms, `second` is applied first.

    Matrix multiplication in numpy goes through BLAS, whose rounding depends on the CPU.
    """
    return np.add.reduce(first[..., :, :, None] * second[..., None, :, :], axis=-2)


def inverse(transform: Floats) -> Floats:
    """Inverses of affine transforms, [..., 4, 4], by the adjugate."""
    a, b, c = (transform[..., :3, column] for column in range(3))
    rows = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=-2)
    determinant = np.add.reduce(a * rows[..., 0, :], axis=-1)
    rows = rows / determinant[..., None, None]
    result = np.zeros_like(transform)
    result[..., :3, :3] = rows
    result[..., :3, 3] = -np.add.reduce(rows * transform[..., None, :3, 3], axis=-1)
    result[..., 3, 3] = 1.0
    return result


def apply(transform: Floats, points: Floats) -> Floats:
    """Move points, [3, n], by a transform, [4, 4]."""
    x, y, z = points
    return np.stack([row[0] * x + row[1] * y + row[2] * z + row[3] for row in transform[:3]])
