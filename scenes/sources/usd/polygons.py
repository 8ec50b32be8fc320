"""Polygons cut into triangles, and triangles into smaller ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def triangulated(
    points: NDArray[np.float64], counts: NDArray[np.int64], indices: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut polygons into triangles of the same winding.

    A convex polygon becomes a fan around its first corner, another is cut ear by ear.

    Args:
        points: Vertices, [n, 3].
        counts: Corners of each polygon, at least three, [f].
        indices: Vertex of each corner, polygon after polygon, [sum of counts].

    Returns:
        Corners of each triangle as places in `indices`, [m, 3], and its polygon, [m]; triangles
        of a polygon stand together, in the order of the polygons.
    """
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    corners: list[NDArray[np.int64]] = []
    owners: list[NDArray[np.int64]] = []
    for count in np.unique(counts):
        faces = np.flatnonzero(counts == count)
        local = starts[faces][:, None] + np.arange(count)
        fan = np.stack(
            [np.zeros(count - 2, int), np.arange(1, count - 1), np.arange(2, count)], axis=1
        )
        cut = local[:, fan]
        if count > 3:
            for row in np.flatnonzero(~_convex(points[indices[local]])):
                cut[row] = local[row][_ears(points[indices[local[row]]])]
        corners.append(cut.reshape(-1, 3))
        owners.append(np.repeat(faces, count - 2))
    if not corners:
        return np.empty((0, 3), dtype=np.int64), np.empty(0, dtype=np.int64)
    face = np.concatenate(owners)
    order = np.argsort(face, kind="stable")
    return np.concatenate(corners)[order], face[order]


COARSE = 64
"""Triangles up to which a mesh counts as coarse."""


def subdivided(
    points: NDArray[np.float64], faces: NDArray[np.int64], *corners: NDArray[np.float64]
) -> tuple[NDArray[Any], ...]:
    """Cut each triangle of a coarse mesh in sixteen; the surface stays the same.

    MuJoCo computes light at vertices only, and cuts its own boxes as finely.

    Args:
        points: Vertices, [n, 3].
        faces: Triangles, [m, 3].
        corners: Values at the corners, [m, 3, k] each.

    Returns:
        Points, faces and values; those given where the mesh is not coarse.
    """
    if len(faces) > COARSE:
        return points, faces, *corners
    for _ in range(2):
        ends = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2), axis=2)
        edges, middle = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
        middle = middle.reshape(-1, 3) + len(points)
        points = np.concatenate([points, points[edges].mean(axis=1)])
        faces = _quartered(faces, middle)
        corners = tuple(
            _quartered(values, (values + np.roll(values, -1, axis=1)) / 2) for values in corners
        )
    return points, faces, *corners


def _quartered(ends: NDArray[Any], middles: NDArray[Any]) -> NDArray[Any]:
    """Corners of four triangles each, from those of one and the middles of its edges."""
    (a, b, c), (ab, bc, ca) = (np.moveaxis(values, 1, 0) for values in (ends, middles))
    quarters = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    cut = np.stack([np.stack(quarter, axis=1) for quarter in quarters], axis=1)
    return cut.reshape(-1, *ends.shape[1:])


def polygon_normals(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Area vectors of polygons with equally many corners, [f, k, 3] to [f, 3] (Newell)."""
    following = np.roll(corners, -1, axis=1)
    return 0.5 * np.cross(corners, following).sum(axis=1)


def _convex(polygons: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which polygons, [f, k, 3], a fan around their first corner fills, [f]."""
    normal = polygon_normals(polygons - polygons[:, :1])
    edges = np.roll(polygons, -1, axis=1) - polygons
    turns = np.cross(edges, np.roll(edges, -1, axis=1))
    return np.einsum("fkx,fx->fk", turns, normal).min(axis=1) >= 0


def _ears(polygon: NDArray[np.float64]) -> NDArray[np.int64]:
    """Cut one polygon, [k, 3], ear by ear; gives corners of triangles, [k - 2, 3]."""
    normal = polygon_normals(polygon[None] - polygon[0])[0]
    drop = int(np.abs(normal).argmax())
    # The plane's axes in an order that keeps the winding counter-clockwise.
    first, second = (drop + 1) % 3, (drop + 2) % 3
    flat = polygon[:, [first, second]] if normal[drop] > 0 else polygon[:, [second, first]]
    left = np.arange(len(polygon))
    triangles: list[tuple[int, int, int]] = []
    place = failed = 0
    while len(left) > 3:
        place %= len(left)
        a, b, c = left[place - 1], left[place], left[(place + 1) % len(left)]
        # A polygon that crosses itself may have no ear: any cut is then as good.
        if failed >= len(left) or _is_ear(flat, left, a, b, c):
            triangles.append((a, b, c))
            left = np.delete(left, place)
            failed = 0
        else:
            failed += 1
        place += 1
    triangles.append((left[0], left[1], left[2]))
    return np.array(triangles, dtype=np.int64)


def _is_ear(flat: NDArray[np.float64], left: NDArray[np.int64], a: int, b: int, c: int) -> bool:
    """Tell whether no corner that is left lies in the triangle of three successive ones."""
    if _turn(flat[a], flat[b], flat[c]) <= 0:
        return False
    others = flat[left[(left != a) & (left != b) & (left != c)]]
    inside = (
        (_turn(flat[a], flat[b], others) >= 0)
        & (_turn(flat[b], flat[c], others) >= 0)
        & (_turn(flat[c], flat[a], others) >= 0)
    )
    return not inside.any()


def _turn(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> Any:
    """Doubled signed area of a triangle; its last corner may be many."""
    return (b[0] - a[0]) * (c[..., 1] - a[1]) - (b[1] - a[1]) * (c[..., 0] - a[0])
