"""Rotations of prims, as 4 x 4 matrices for column vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

X_AXIS, Y_AXIS, Z_AXIS = np.eye(3)


def rotation(axis: ArrayLike, degrees: float) -> NDArray[np.float64]:
    """Rotation about an axis through the origin, [4, 4], by Rodrigues' formula.

    Args:
        axis: Direction of the axis, any length but zero, [3].
        degrees: Angle [deg], right-handed.
    """
    k = np.asarray(axis, dtype=np.float64)
    k = k / np.linalg.norm(k)
    K = np.array([[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]])
    angle = np.deg2rad(degrees)
    turn = np.eye(4)
    turn[:3, :3] += np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)
    return turn


def rotation_vector(degrees: ArrayLike) -> NDArray[np.float64]:
    """Rotation, [4, 4], about the direction of a vector by its length [deg], [3]."""
    vector = np.asarray(degrees, dtype=np.float64)
    length = float(np.linalg.norm(vector))
    return np.eye(4) if length == 0.0 else rotation(vector, length)


def translation(offset: ArrayLike) -> NDArray[np.float64]:
    """Translation by an offset [m], [3], as [4, 4]."""
    move = np.eye(4)
    move[:3, 3] = offset
    return move
