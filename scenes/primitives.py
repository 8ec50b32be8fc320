"""MuJoCo's primitive shapes as triangle meshes, tessellated as MuJoCo draws them.

Every function gives a shape of unit size, so that its vertices are also the unit coordinates that
MuJoCo projects textures along.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

SLICES = 28
STACKS = 16
CAP_STACKS = 8


@dataclass(frozen=True)
class Surface:
    """A triangle mesh before it has texture coordinates."""

    points: NDArray[np.float64]
    """Vertices [m], [n, 3]."""
    faces: NDArray[np.int32]
    """Counter-clockwise seen from outside, [m, 3]."""
    normals: NDArray[np.float64]
    """Unit normals, [n, 3]."""
    coordinates: NDArray[np.float64]
    """Coordinates that textures are projected along, [n, 3]."""


def box(size: NDArray[np.float64]) -> Surface:
    """Box of half extents `size` [m]."""
    points, normals, faces = [], [], []
    for axis in range(3):
        for sign in (1.0, -1.0):
            normal = np.zeros(3)
            normal[axis] = sign
            u, v = np.roll(np.eye(3), -axis, axis=0)[1:]
            u = u * sign
            first = len(points)
            corners = (normal - u - v, normal + u - v, normal + u + v, normal - u + v)
            points.extend(corners)
            normals.extend([normal] * 4)
            faces += [[first, first + 1, first + 2], [first, first + 2, first + 3]]
    return _scaled(np.array(points), np.array(faces), np.array(normals), size)


def plane(half_width: float, half_height: float) -> Surface:
    """Rectangle in the xy plane facing +z, half extents [m]; coordinates are metres."""
    points = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], dtype=float)
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    surface = _scaled(
        points, faces, np.tile([0.0, 0, 1], (4, 1)), np.array([half_width, half_height, 1.0])
    )
    return replace(surface, coordinates=surface.points)


def ellipsoid(size: NDArray[np.float64]) -> Surface:
    """Ellipsoid of semi-axes `size` [m]; a sphere has three equal ones."""
    elevations = np.linspace(-np.pi / 2, np.pi / 2, STACKS + 1)
    points, faces = _revolution(np.cos(elevations), np.sin(elevations))
    return _scaled(points, faces, points, size)


def capsule(radius: float, half_length: float) -> Surface:
    """Capsule along z [m]."""
    south = np.linspace(-np.pi / 2, 0, CAP_STACKS + 1)
    elevations = np.concatenate([south, -south[::-1]])
    unit, faces = _revolution(np.cos(elevations), np.sin(elevations))
    half = len(unit) // 2
    points = unit * radius
    points[:half, 2] -= half_length
    points[half:, 2] += half_length
    return Surface(points, faces, unit, unit)


def cylinder(radius: float, half_length: float) -> Surface:
    """Cylinder along z [m] with flat ends."""
    side, side_faces = _revolution(np.ones(2), np.array([-1.0, 1.0]))
    angles = 2 * np.pi * np.arange(SLICES) / SLICES
    rim = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    fan = np.stack(
        [np.zeros(SLICES, int), 1 + np.arange(SLICES), 1 + (np.arange(SLICES) + 1) % SLICES], axis=1
    )
    flat = np.vstack([[0.0, 0.0], rim])
    top, bottom = (np.column_stack([flat, np.full(len(flat), sign)]) for sign in (1.0, -1.0))
    up = np.tile([0.0, 0.0, 1.0], (len(flat), 1))
    first = len(side)
    return _scaled(
        np.vstack([side, top, bottom]),
        np.vstack([side_faces, fan + first, fan[:, ::-1] + first + len(flat)]),
        np.vstack([side * [1.0, 1.0, 0.0], up, -up]),
        np.array([radius, radius, half_length]),
    )


def _revolution(
    radii: NDArray[np.float64], heights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Rings of `SLICES` vertices, slice 0 at +x, joined from the lowest to the highest."""
    angles = 2 * np.pi * np.arange(SLICES) / SLICES
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rings = [
        np.column_stack([ring * radius, np.full(SLICES, height)])
        for radius, height in zip(radii, heights, strict=True)
    ]
    faces = []
    here, following = np.arange(SLICES), (np.arange(SLICES) + 1) % SLICES
    for stack in range(len(radii) - 1):
        low, high = stack * SLICES, (stack + 1) * SLICES
        if radii[stack] > 1e-9:
            faces.append(np.stack([low + here, low + following, high + following], axis=1))
        if radii[stack + 1] > 1e-9:
            faces.append(np.stack([low + here, high + following, high + here], axis=1))
    return np.concatenate(rings), np.concatenate(faces).astype(np.int32)


def _scaled(
    points: NDArray[np.float64],
    faces: NDArray[np.integer],
    normals: NDArray[np.float64],
    size: NDArray[np.float64],
) -> Surface:
    scaled = normals / size
    scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
    return Surface(points * size, faces.astype(np.int32), scaled, points)
