"""The camera that took a picture, from the world points it says it shows."""

from __future__ import annotations

import numpy as np

from datagen.audit.measure.edges import Floats
from datagen.backends import Buffers

_MOST = 3000
_FEWEST = 60
_ERROR_PX = 0.05
_FLAT = 1e-3
"""Smallest spread of the points relative to the largest that fixes a camera."""


def resect(buffers: Buffers) -> tuple[Floats, Floats] | None:
    """Intrinsics [3, 3] and pose `T_world_camera` [4, 4] from the position buffer.

    Direct linear transform with normalized coordinates (Hartley and Zisserman 2004, 7.1), cut into
    its factors. None without positions, where they are nearly flat, or where no pinhole fits.
    """
    if buffers.position is None:
        return None
    rows, columns = np.nonzero(np.isfinite(buffers.position).all(axis=2))
    if rows.size < _FEWEST:
        return None
    chosen = np.unique(np.linspace(0, rows.size - 1, min(rows.size, _MOST)).astype(int))
    rows, columns = rows[chosen], columns[chosen]
    world = buffers.position[rows, columns].astype(np.float64)
    pixels = np.stack([columns, rows], axis=1) + 0.5
    spread = np.linalg.svd(world - world.mean(axis=0), compute_uv=False)
    if spread[2] < _FLAT * spread[0]:
        return None
    to_unit, points = _normalized(world)
    to_pixel, spots = _normalized(pixels)
    zero = np.zeros_like(points)
    x, y = spots[:, :1], spots[:, 1:2]
    system = np.concatenate(
        [
            np.concatenate([points, zero, -x * points], axis=1),
            np.concatenate([zero, points, -y * points], axis=1),
        ]
    )
    unit = np.linalg.svd(system.T @ system)[0][:, -1].reshape(3, 4)
    projection = np.linalg.inv(to_pixel) @ unit @ to_unit
    homogeneous = np.concatenate([world, np.ones((len(world), 1))], axis=1)
    image = homogeneous @ projection.T
    error = np.linalg.norm(image[:, :2] / image[:, 2:] - pixels, axis=1)
    if not np.median(error) < _ERROR_PX:
        return None
    return _factors(projection, world)


def _normalized(points: Floats) -> tuple[Floats, Floats]:
    """Transform to mean 0 and unit spread, and the transformed homogeneous points."""
    size = points.shape[1]
    scale = 1.0 / max(float(points.std()), 1e-12)
    T = np.eye(size + 1)
    T[:size, :size] *= scale
    T[:size, size] = -scale * points.mean(axis=0)
    homogeneous = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    return T, homogeneous @ T.T


def _factors(projection: Floats, world: Floats) -> tuple[Floats, Floats] | None:
    """Cut a projection into intrinsics and pose."""
    projection = projection * np.sign(np.linalg.det(projection[:, :3]))
    q, r = np.linalg.qr(projection[:, :3][::-1].T)
    signs = np.diag(np.sign(np.diag(r)[::-1]))
    K, R = r.T[::-1, ::-1] @ signs, signs @ q.T[::-1]
    center = -np.linalg.solve(projection[:, :3], projection[:, 3])
    if np.median((world - center) @ R[2]) < 0:
        # Points behind the camera: the picture is mirrored, and no proper camera sees them so.
        return None
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R.T, center
    return K / K[2, 2], T
