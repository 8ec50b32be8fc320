"""Texture coordinates as MuJoCo projects them; rules checked by pixels against its renderer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scenes.convert.shapes.primitives import Surface
from scenes.stage.mesh_prims import Triangles
from scenes.stage.skybox import CUBE_FACES

_CUBE_BEND = 0.02
_CUBE_DEPTH = 5
_ON_THE_CUT = 1e-9


@dataclass(frozen=True)
class Projection:
    """How a material lays its texture on a geom without texture coordinates."""

    repeat: NDArray[np.float64]
    """MuJoCo's texrepeat, [2]."""
    uniform: bool
    """MuJoCo's texuniform: repeat per metre instead of per object."""
    size: NDArray[np.float64]
    """Extent of the geom along its axes, as MuJoCo scales it [m], [3]."""
    metric: bool
    """True for planes and meshes, whose coordinates are metres."""


def flat_st(surface: Surface, projection: Projection) -> NDArray[np.float32]:
    """Coordinates of a 2D texture, [n, 2], v up.

    A primitive has coordinates of its own, which the material repeats; on anything else the
    texture is projected along local z.
    """
    size = projection.size[:2]
    finite = size > 0
    scale = np.where(finite & projection.uniform, projection.repeat * size, projection.repeat)
    if surface.uv is not None:
        # One infinite side moves a plane's texture along both.
        shift = -0.5 if projection.metric and not finite.all() else 0.0
        u, v_down = (surface.uv * scale + shift).T
    else:
        scale = np.where(finite, scale / np.where(finite, size, 1.0), scale)
        u = 0.5 * scale[0] * surface.coordinates[:, 0] - 0.5
        v_down = -0.5 * scale[1] * surface.coordinates[:, 1] - 0.5
    return np.stack([u, 1.0 - v_down], axis=1).astype(np.float32)


def cube_mapped(surface: Surface, projection: Projection, stacked: bool) -> Triangles:
    """Lay a cube texture on a surface.

    Triangles are cut where they cross from one side of the cube to another, and where the
    perspective of the cube would bend the coordinates inside one triangle.

    Args:
        surface: The mesh.
        projection: How the material scales it.
        stacked: The picture holds six sides below each other, in the order +x -x +y -y +z -z;
            otherwise one square serves every side.
    """
    scale = projection.size if projection.uniform and not projection.metric else np.ones(3)
    direction = surface.coordinates * np.where(scale > 0, scale, 1.0)
    corners = np.concatenate(
        [surface.points[surface.faces], surface.normals[surface.faces], direction[surface.faces]],
        axis=2,
    )
    for first, second in ((0, 1), (1, 2), (0, 2)):
        for sign in (1.0, -1.0):
            corners = _cut(corners, corners[:, :, 6 + first] - sign * corners[:, :, 6 + second])
    corners = _straightened(corners)
    direction = corners[:, :, 6:]
    side = _side(direction.mean(axis=1))
    st = np.zeros((*corners.shape[:2], 2))
    for number, (axis, sign, s_row, t_row) in enumerate(CUBE_FACES):
        here = side == number
        d = direction[here]
        major = np.maximum(d[..., axis] * sign, 1e-12)
        s = (s_row[1] * d[..., s_row[0]] / major + 1) / 2
        t = (t_row[1] * d[..., t_row[0]] / major + 1) / 2
        if stacked:
            t = (t + number) / 6
        st[here] = np.stack([s, 1.0 - t], axis=-1)
    normals = corners[:, :, 3:6].reshape(-1, 3)
    normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    vertices = np.concatenate(
        [corners[:, :, :3].reshape(-1, 3), normals, st.reshape(-1, 2)], axis=1
    ).astype(np.float32)
    unique, index = np.unique(vertices, axis=0, return_inverse=True)
    return Triangles(
        np.ascontiguousarray(unique[:, :3]),
        index.reshape(-1, 3).astype(np.int32),
        np.ascontiguousarray(unique[:, 3:6]),
        np.ascontiguousarray(unique[:, 6:]),
    )


def _side(direction: NDArray[np.float64]) -> NDArray[np.intp]:
    axis = np.abs(direction).argmax(axis=1)
    negative = direction[np.arange(len(direction)), axis] < 0
    return axis * 2 + negative


def _cut(corners: NDArray[np.float64], distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cut triangles, [m, 3, 9], along the zero set of a linear function, given at their corners."""
    distance = np.where(np.abs(distance) < _ON_THE_CUT, 0.0, distance)
    crossing = (distance.min(axis=1) < 0) & (distance.max(axis=1) > 0)
    if not crossing.any():
        return corners
    cut, distance = corners[crossing], distance[crossing]
    touching = (distance == 0).any(axis=1)
    pieces = [corners[~crossing], *_halves(cut[touching], distance[touching])]
    pieces += _thirds(cut[~touching], distance[~touching])
    return np.concatenate(pieces)


def _halves(
    corners: NDArray[np.float64], distance: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Cut triangles that have one corner on the cut and the others on either side."""
    (a, b, c), (_, db, dc) = _rolled(corners, distance, (distance == 0).argmax(axis=1))
    p = _between(b, c, db, dc)
    return [np.stack(triangle, axis=1) for triangle in ((a, b, p), (a, p, c))]


def _thirds(
    corners: NDArray[np.float64], distance: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Cut triangles that have one corner on one side and two on the other."""
    positive = distance > 0
    lone = np.where(positive.sum(axis=1) == 1, positive.argmax(axis=1), positive.argmin(axis=1))
    (a, b, c), (da, db, dc) = _rolled(corners, distance, lone)
    p, q = _between(a, b, da, db), _between(a, c, da, dc)
    return [np.stack(triangle, axis=1) for triangle in ((a, p, q), (p, b, c), (p, c, q))]


def _rolled(
    corners: NDArray[np.float64], distance: NDArray[np.float64], first: NDArray[np.intp]
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    """Corners and their distances, each triangle turned so that the given corner comes first."""
    rows = np.arange(len(corners))
    order = [(first + step) % 3 for step in range(3)]
    return [corners[rows, at] for at in order], [distance[rows, at][:, None] for at in order]


def _between(
    a: NDArray[np.float64], b: NDArray[np.float64], da: NDArray[np.float64], db: NDArray[np.float64]
) -> NDArray[np.float64]:
    return a + da / (da - db) * (b - a)


def _straightened(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Split triangles until coordinates are nearly linear inside each."""
    done = []
    for _ in range(_CUBE_DEPTH):
        major = np.abs(corners[:, :, 6:]).max(axis=2)
        spread = major.max(axis=1) / np.maximum(major.min(axis=1), 1e-12)
        unit = corners[:, :, 6:] / np.maximum(major, 1e-12)[:, :, None]
        extent = np.abs(unit - np.roll(unit, 1, axis=1)).max(axis=(1, 2))
        bent = (spread - 1.0) * extent > _CUBE_BEND
        done.append(corners[~bent])
        corners = corners[bent]
        if not len(corners):
            break
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
        corners = np.concatenate(
            [np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        )
    return np.concatenate([*done, corners])
