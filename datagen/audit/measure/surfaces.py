"""Depth maps as surfaces in the camera's axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datagen.audit.measure.edges import Floats, Ids, Mask, interior
from scenes import Pinhole


@dataclass(frozen=True)
class Surface:
    """What one side saw, in the axes of the reference's camera (OpenCV)."""

    part: Ids
    """Part numbers, [h, w]."""
    depth: Floats
    """Planar depth [m], inf = nothing, [h, w]."""
    inner: Mask
    """Pixels away from any border between parts, with something seen, [h, w]."""


def surface(part: Ids, depth: Floats) -> Surface:
    """Gather a part map and a depth map, both [h, w]."""
    depth = depth.astype(np.float64)
    return Surface(part, depth, interior(part) & np.isfinite(depth) & (depth > 0))


def rays_of(K: Floats, rows: Floats, columns: Floats) -> Floats:
    """Rays through pixel positions given with centres at +0.5, z = 1, [n, 3]."""
    x = (columns - K[0, 2]) / K[0, 0]
    y = (rows - K[1, 2]) / K[1, 1]
    return np.stack([x, y, np.ones_like(x)], axis=-1)


@dataclass(frozen=True)
class Planes:
    """Tangent planes of a surface, one per pixel."""

    points: Floats
    """[m], [h, w, 3]."""
    normals: Floats
    """Unit, toward the camera, [h, w, 3]."""
    valid: Mask
    """Where a plane could be fitted, [h, w]."""


def planes(seen: Surface, camera: Pinhole) -> Planes:
    """Tangent planes by central differences of the depth map's points."""
    height, width = seen.part.shape
    rows, columns = np.mgrid[0:height, 0:width] + 0.5
    depth = np.where(np.isfinite(seen.depth), seen.depth, 0.0)
    points = rays_of(camera.K, rows, columns) * depth[..., None]
    valid = seen.inner.copy()
    valid[[0, -1]] = False
    valid[:, [0, -1]] = False
    across, down = np.zeros_like(points), np.zeros_like(points)
    across[:, 1:-1] = points[:, 2:] - points[:, :-2]
    down[1:-1] = points[2:] - points[:-2]
    normals = np.cross(down, across)
    length = np.linalg.norm(normals, axis=-1)
    valid &= length > 0
    normals /= np.where(length > 0, length, 1.0)[..., None]
    # A crease or a step inside one part has no tangent plane: the inverse depth of a plane is
    # linear over the picture.
    inverse = np.where(depth > 0, 1.0 / np.where(depth > 0, depth, 1.0), 0.0)
    for axis in (0, 1):
        bend = np.zeros_like(inverse)
        bend[(slice(1, -1), slice(None))[:: 1 - 2 * axis]] = np.diff(inverse, 2, axis=axis)
        valid &= np.abs(bend) <= _FLATNESS * inverse
    return Planes(points, normals, valid)


_FLATNESS = 2e-3
"""Largest second difference of the inverse depth, as a share of it, on a smooth surface."""
