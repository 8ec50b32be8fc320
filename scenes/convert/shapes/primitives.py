"""MuJoCo's primitive shapes as triangle meshes, tessellated as MuJoCo draws them.

Every function gives a shape of unit size, so that its vertices are also the unit coordinates that
MuJoCo projects textures along.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scenes.convert.shapes.tessellation import MUJOCO, Tessellation


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
    """Coordinates that cube textures are projected along, [n, 3]."""
    uv: NDArray[np.float64] | None = None
    """Coordinates of a 2D texture laid once on the shape, v down, [n, 2]; None where MuJoCo
    projects it instead."""


def box(size: NDArray[np.float64]) -> Surface:
    """Box of half extents `size` [m]; every side shows a 2D texture once."""
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
    unit = np.array(points)
    x, y, z = unit.T
    side = np.repeat(np.arange(3), 8)
    uv = np.stack([np.where(side == 0, y, x), -np.where(side == 2, y, z)], axis=1)
    return _scaled(unit, np.array(faces), np.array(normals), size, 0.5 + 0.5 * uv)


def plane(half_width: float, half_height: float, infinite: tuple[bool, bool]) -> Surface:
    """Rectangle in the xy plane facing +z, half extents [m].

    A 2D texture is laid once over a finite side, and once per two metres over an infinite one.

    Args:
        half_width: Half extent along x.
        half_height: Half extent along y.
        infinite: Whether the side along x, along y stands for an infinite one.
    """
    unit = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], dtype=float)
    points = unit * [half_width, half_height, 1.0]
    flat = np.where(infinite, 0.5 * points[:, :2], 0.5 + 0.5 * unit[:, :2])
    down = np.where(infinite[1], 0.0, 1.0) - flat[:, 1]
    faces = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)
    uv = np.stack([flat[:, 0], down], axis=1)
    return Surface(points, faces, np.tile([0.0, 0, 1], (4, 1)), points, uv)


def ellipsoid(size: NDArray[np.float64], tessellation: Tessellation = MUJOCO) -> Surface:
    """Ellipsoid of semi-axes `size` [m]; a sphere has three equal ones."""
    elevations = np.linspace(-np.pi / 2, np.pi / 2, 2 * tessellation.cap_stacks + 1)
    unit, faces, uv = _revolution(
        np.cos(elevations), np.sin(elevations), 0.5 - elevations / np.pi, tessellation.slices
    )
    return _scaled(unit, faces, unit, size, uv)


def capsule(radius: float, half_length: float, tessellation: Tessellation = MUJOCO) -> Surface:
    """Capsule along z [m]; a 2D texture lies once on the side and once on each cap."""
    rise = np.linspace(0, np.pi / 2, tessellation.cap_stacks + 1)
    slices = tessellation.slices
    share = rise / (np.pi / 2)
    south, south_faces, south_uv = _revolution(
        np.cos(rise)[::-1], -np.sin(rise)[::-1], share[::-1], slices
    )
    side, side_faces, side_uv = _revolution(np.ones(2), np.zeros(2), np.array([1.0, 0.0]), slices)
    north, north_faces, north_uv = _revolution(np.cos(rise), np.sin(rise), 1.0 - share, slices)
    ends = np.repeat([-1.0, 1.0], len(side) // 2)
    lift = np.concatenate([np.full(len(south), -1.0), ends, np.full(len(north), 1.0)])
    unit = np.concatenate([south, side, north])
    up = np.array([0.0, 0.0, 1.0])
    first, second = len(south), len(south) + len(side)
    return Surface(
        points=unit * radius + lift[:, None] * half_length * up,
        faces=np.concatenate([south_faces, side_faces + first, north_faces + second]),
        normals=unit,
        coordinates=unit + lift[:, None] * up,
        uv=np.concatenate([south_uv, side_uv, north_uv]),
    )


def cylinder(radius: float, half_length: float, tessellation: Tessellation = MUJOCO) -> Surface:
    """Cylinder along z [m] with flat ends; a 2D texture lies once on the side and on each end."""
    slices = tessellation.slices
    side, side_faces, side_uv = _revolution(
        np.ones(2), np.array([-1.0, 1.0]), np.array([1.0, 0.0]), slices
    )
    angles = 2 * np.pi * np.arange(slices) / slices
    rim = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    fan = np.stack(
        [np.zeros(slices, int), 1 + np.arange(slices), 1 + (np.arange(slices) + 1) % slices], axis=1
    )
    flat = np.vstack([[0.0, 0.0], rim])
    top, bottom = (np.column_stack([flat, np.full(len(flat), sign)]) for sign in (1.0, -1.0))
    up = np.tile([0.0, 0.0, 1.0], (len(flat), 1))
    first = len(side)
    end_uv = 0.5 + 0.5 * flat
    return _scaled(
        np.vstack([side, top, bottom]),
        np.vstack([side_faces, fan + first, fan[:, ::-1] + first + len(flat)]),
        np.vstack([side * [1.0, 1.0, 0.0], up, -up]),
        np.array([radius, radius, half_length]),
        np.vstack([side_uv, end_uv, end_uv]),
    )


def _revolution(
    radii: NDArray[np.float64],
    heights: NDArray[np.float64],
    v: NDArray[np.float64],
    slice_count: int,
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    """Rings of vertices, slice 0 at +x, joined from the lowest to the highest; not to be changed.

    A ring closes on a vertex of its own, where the texture ends; at a pole every slice has one.
    """
    return _rings(tuple(radii.tolist()), tuple(heights.tolist()), tuple(v.tolist()), slice_count)


@lru_cache(maxsize=64)
def _rings(
    radii_of: tuple[float, ...],
    heights: tuple[float, ...],
    v: tuple[float, ...],
    slice_count: int,
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    radii = np.array(radii_of)
    slices = np.arange(slice_count + 1)
    angles = 2 * np.pi * (slices % slice_count) / slice_count
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points, uv, faces = [], [], []
    here, following = slices[:-1], slices[1:]
    poles = radii <= 1e-9
    for stack, (radius, height) in enumerate(zip(radii, heights, strict=True)):
        points.append(np.column_stack([ring * radius, np.full(len(ring), height)]))
        across = (slices + 0.5 * poles[stack]) / slice_count
        uv.append(np.column_stack([across, np.full(len(ring), v[stack])]))
    for stack in range(len(radii) - 1):
        low, high = stack * len(ring), (stack + 1) * len(ring)
        if poles[stack + 1]:
            faces.append(np.stack([low + here, low + following, high + here], axis=1))
            continue
        faces.append(np.stack([low + here, high + following, high + here], axis=1))
        if not poles[stack]:
            faces.append(np.stack([low + here, low + following, high + following], axis=1))
    made = np.concatenate(points), np.concatenate(faces).astype(np.int32), np.concatenate(uv)
    for array in made:
        array.flags.writeable = False
    return made


def _scaled(
    points: NDArray[np.float64],
    faces: NDArray[np.integer],
    normals: NDArray[np.float64],
    size: NDArray[np.float64],
    uv: NDArray[np.float64],
) -> Surface:
    scaled = normals / size
    scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
    return Surface(points * size, faces.astype(np.int32), scaled, points, uv)
