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
    rows = np.stack([_cross(b, c), _cross(c, a), _cross(a, b)], axis=-2)
    determinant = np.add.reduce(a * rows[..., 0, :], axis=-1)
    rows = rows / determinant[..., None, None]
    result = np.zeros_like(transform)
    result[..., :3, :3] = rows
    result[..., :3, 3] = -np.add.reduce(rows * transform[..., None, :3, 3], axis=-1)
    result[..., 3, 3] = 1.0
    return result


def _cross(first: Floats, second: Floats) -> Floats:
    """Cross products, [..., 3], without numpy's overhead for general shapes."""
    after, before = [1, 2, 0], [2, 0, 1]
    return first[..., after] * second[..., before] - first[..., before] * second[..., after]


def apply(transform: Floats, points: Floats) -> Floats:
    """Move points, [3, n], by a transform, [4, 4]."""
    moved = np.empty_like(points)
    for row, result in zip(transform[:3].tolist(), moved, strict=True):
        np.multiply(points[0], row[0], out=result)
        result += points[1] * row[1]
        result += points[2] * row[2]
        result += row[3]
    return moved
