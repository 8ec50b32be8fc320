"""Whole silhouettes: which pixels an object would cover if nothing stood before it.

The answer is that of one ray per pixel centre against every triangle, found from the object's
outline: double precision, plain sums and products, the same bits on every CPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datagen.labels.affine import Floats, compose, inverse
from datagen.labels.outlines import Outline
from scenes import Pinhole

LooseBox = tuple[float, float, float, float]


@dataclass(frozen=True)
class Silhouette:
    """The pixels whose centre ray meets an object's mesh, from either side, beyond `near`."""

    mask: NDArray[np.bool_]
    """A rectangle of the picture that holds all of them, [rows, columns]."""
    row: int
    """Picture row of the rectangle's first row."""
    column: int
    """Picture column of the rectangle's first column."""
    box: LooseBox | None
    """Bounds x0, y0, x1, y1 of the part of the silhouette inside the picture [pixel]; None where
    it covers no area of the picture."""


EMPTY = Silhouette(np.zeros((0, 0), dtype=np.bool_), 0, 0, None)


@dataclass(frozen=True)
class _Drawn:
    """Weighted, directed segments in the picture [pixel]."""

    x0: Floats
    y0: Floats
    x1: Floats
    y1: Floats
    weights: Floats


def silhouettes(
    outlines: list[Outline],
    T_world_part: Floats,
    owners: list[int],
    camera: Pinhole,
) -> dict[int, Silhouette]:
    """Silhouettes of objects; one that shows nothing is left out.

    A pixel belongs to a silhouette when its centre lies in the projection; a centre exactly on a
    left or top edge belongs, one on a right or bottom edge does not.

    Args:
        outlines: One per drawn part.
        T_world_part: Poses of the parts [m], [n, 4, 4].
        owners: Number of the object that each part belongs to.
        camera: The view.
    """
    if not outlines:
        return {}
    T_camera_part = compose(inverse(camera.T_world_camera), T_world_part)
    eyes = inverse(T_camera_part)[:, :3, 3]
    in_view, straddles = _cull(outlines, T_camera_part, camera)
    pieces: dict[int, list[_Drawn]] = {}
    for index in np.flatnonzero(in_view):
        segments = outlines[index].segments(
            T_camera_part[index], eyes[index], camera.near if straddles[index] else None
        )
        if not segments.weights.size:
            continue
        x0, y0 = _project(segments.starts, camera.K)
        x1, y1 = _project(segments.ends, camera.K)
        pieces.setdefault(owners[index], []).append(_Drawn(x0, y0, x1, y1, segments.weights))
    found: dict[int, Silhouette] = {}
    for owner, drawn in pieces.items():
        silhouette = _draw(drawn, camera.width, camera.height)
        if silhouette.mask.size or silhouette.box is not None:
            found[owner] = silhouette
    return found


def _cull(
    outlines: list[Outline], T_camera_part: Floats, camera: Pinhole
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell by bounding boxes which parts can reach the picture and which cross the near plane."""
    corners = np.stack([outline.corners for outline in outlines])
    homogeneous = np.concatenate([corners, np.ones_like(corners[:, :1])], axis=1)
    x, y, z = np.moveaxis(compose(T_camera_part, homogeneous)[:, :3], 1, 0)
    (fx, _, cx), (_, fy, cy) = camera.K[:2]
    u, v = fx * x + cx * z, fy * y + cy * z
    beyond = z.max(axis=1) >= camera.near
    inside = (
        (u.max(axis=1) >= 0)
        & (v.max(axis=1) >= 0)
        & ((u - camera.width * z).min(axis=1) <= 0)
        & ((v - camera.height * z).min(axis=1) <= 0)
    )
    return beyond & inside, z.min(axis=1) < camera.near


def _project(points: Floats, K: Floats) -> tuple[Floats, Floats]:
    """Picture coordinates [pixel] of points in the camera's frame, [3, n]."""
    x, y, z = points
    return K[0, 0] * x / z + K[0, 2], K[1, 1] * y / z + K[1, 2]


def _draw(drawn: list[_Drawn], width: int, height: int) -> Silhouette:
    """Fill the area that directed segments wind around."""
    x0, y0, x1, y1, weights = (
        np.concatenate([getattr(piece, name) for piece in drawn])
        for name in ("x0", "y0", "x1", "y1", "weights")
    )
    # Each segment is walked from top to bottom, so that the two sides of a shared edge agree.
    down = y0 < y1
    top_x, top_y = np.where(down, x0, x1), np.where(down, y0, y1)
    low_x, low_y = np.where(down, x1, x0), np.where(down, y1, y0)
    weights = np.where(down, weights, -weights)
    edges = _Drawn(top_x, top_y, low_x, low_y, weights)
    mask, row, column = _fill(edges, width, height)
    return Silhouette(mask, row, column, _bounds(edges, width, height))


def _fill(edges: _Drawn, width: int, height: int) -> tuple[NDArray[np.bool_], int, int]:
    """Pixels with a winding number other than zero, and the corner of their rectangle."""
    first = np.clip(np.ceil(edges.y0 - 0.5), 0, height).astype(np.intp)
    last = np.clip(np.ceil(edges.y1 - 0.5), 0, height).astype(np.intp)
    counts = last - first
    crossed = np.flatnonzero(counts)
    if not crossed.size:
        return EMPTY.mask, 0, 0
    counts = counts[crossed]
    run = np.cumsum(counts)
    index = np.repeat(crossed, counts)
    rows = np.arange(run[-1]) - np.repeat(run - counts, counts) + first[index]
    x = _x_at(edges, index, rows + 0.5)
    columns = np.clip(np.ceil(x - 0.5), 0, width).astype(np.intp)
    row, column = int(rows.min()), int(columns.min())
    shape = (int(rows.max()) - row + 1, int(columns.max()) - column + 1)
    cells = (rows - row) * shape[1] + (columns - column)
    steps = np.bincount(cells, weights=edges.weights[index], minlength=shape[0] * shape[1])
    winding = np.cumsum(steps.reshape(shape), axis=1)
    return winding[:, :-1] != 0, row, column


def _x_at(edges: _Drawn, index: NDArray[np.intp], y: Floats) -> Floats:
    """Where edges that run from top to bottom cross rows [pixel]."""
    x0, y0 = edges.x0[index], edges.y0[index]
    return x0 + (y - y0) * ((edges.x1[index] - x0) / (edges.y1[index] - y0))


def _bounds(edges: _Drawn, width: int, height: int) -> LooseBox | None:
    """Bounds of the filled area inside the picture.

    They are reached at an end of a segment, where one crosses the picture's border, or in a corner
    of the picture that lies in the area.
    """
    inside = np.all(
        [
            (values >= 0) & (values <= limit)
            for values, limit in (
                (edges.x0, width),
                (edges.x1, width),
                (edges.y0, height),
                (edges.y1, height),
            )
        ],
        axis=0,
    )
    crossing_x, crossing_y = _clip(edges, np.flatnonzero(~inside), width, height)
    x = [edges.x0[inside], edges.x1[inside], crossing_x]
    y = [edges.y0[inside], edges.y1[inside], crossing_y]
    for corner_y in (0, height):
        rows = np.flatnonzero((edges.y0 <= corner_y) & (edges.y1 > corner_y))
        crossings = _x_at(edges, rows, np.full(rows.size, float(corner_y)))
        for corner_x in (0, width):
            if edges.weights[rows[crossings <= corner_x]].sum() != 0:
                x.append(np.array([float(corner_x)]))
                y.append(np.array([float(corner_y)]))
    xs, ys = np.concatenate(x), np.concatenate(y)
    if not xs.size:
        return None
    box = (float(xs.min()), float(ys.min()), float(xs.max()), float(ys.max()))
    return box if box[0] < box[2] and box[1] < box[3] else None


def _clip(edges: _Drawn, index: NDArray[np.intp], width: int, height: int) -> tuple[Floats, Floats]:
    """Ends of the pieces of edges that lie in the picture (Liang and Barsky 1984)."""
    x0, y0, x1, y1 = (each[index] for each in (edges.x0, edges.y0, edges.x1, edges.y1))
    enter, leave = np.zeros_like(x0), np.ones_like(x0)
    with np.errstate(divide="ignore", invalid="ignore"):
        for start, step, limit in ((x0, x1 - x0, width), (y0, y1 - y0, height)):
            a, b = -start / step, (limit - start) / step
            level = np.where((start >= 0) & (start <= limit), -np.inf, np.inf)
            enter = np.maximum(enter, np.where(step == 0, level, np.minimum(a, b)))
            leave = np.minimum(leave, np.where(step == 0, -level, np.maximum(a, b)))
    kept = np.flatnonzero(enter <= leave)
    shares = np.stack([enter[kept], leave[kept]])
    x = x0[kept] + shares * (x1 - x0)[kept]
    y = y0[kept] + shares * (y1 - y0)[kept]
    return np.clip(x, 0, width).reshape(-1), np.clip(y, 0, height).reshape(-1)
