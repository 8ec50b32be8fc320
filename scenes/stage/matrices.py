"""Rigid transforms as 4 x 4 matrices for column vectors, and as values of USD."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pxr import Gf, Vt

Matrix = NDArray[np.float64]


def rotation_from_quaternion(quaternion: ArrayLike) -> NDArray[np.float64]:
    """Rotation matrix, [3, 3], of a unit quaternion in wxyz order."""
    w, x, y, z = np.asarray(quaternion, dtype=np.float64)
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def quaternion_from_rotation(rotation: ArrayLike) -> NDArray[np.float64]:
    """Unit quaternion in wxyz order, w >= 0, of a rotation matrix, [3, 3]."""
    R = np.asarray(rotation, dtype=np.float64)
    # The eigenvector of the largest eigenvalue (Bar-Itzhack 2000) has no branch to get wrong.
    K = np.array(
        [
            [R[0, 0] - R[1, 1] - R[2, 2], 0, 0, 0],
            [R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], 0, 0],
            [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1], 0],
            [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], np.trace(R)],
        ]
    )
    _, vectors = np.linalg.eigh(K / 3.0)
    x, y, z, w = vectors[:, -1]
    quaternion = np.array([w, x, y, z])
    return -quaternion if w < 0 else quaternion


def rigid(position: ArrayLike, rotation: ArrayLike) -> NDArray[np.float64]:
    """Transform, [4, 4], of a position [m] and a rotation matrix, [3, 3] or [9]."""
    transform = np.eye(4)
    transform[:3, :3] = np.asarray(rotation, dtype=np.float64).reshape(3, 3)
    transform[:3, 3] = position
    return transform


def rigid_inverse(transform: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inverse of a rigid transform, [4, 4]."""
    inverse = np.eye(4)
    inverse[:3, :3] = transform[:3, :3].T
    inverse[:3, 3] = -transform[:3, :3].T @ transform[:3, 3]
    return inverse


def looking_along(direction: ArrayLike) -> NDArray[np.float64]:
    """Rotation, [3, 3], whose local -z axis is the given direction."""
    z = -np.asarray(direction, dtype=np.float64)
    z /= np.linalg.norm(z)
    up = np.array([0.0, 1.0, 0.0]) if abs(z[2]) > 0.9 else np.array([0.0, 0.0, 1.0])
    x = np.cross(up, z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def matrix_value(transform: Matrix) -> Gf.Matrix4d:
    """USD value of a pose given for column vectors, [4, 4]."""
    return Gf.Matrix4d(Vt.Matrix4dArray.FromNumpy(np.ascontiguousarray(transform.T)[None])[0])


def matrix_array(value: Gf.Matrix4d) -> Matrix:
    """Pose for column vectors, [4, 4], of a USD value."""
    return np.array(value).T
