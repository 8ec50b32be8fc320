"""The movement, lens and scale that carry one side's surface onto the other's.

Gauss-Newton on two kinds of rows: the distance of the candidate's points from the reference's
tangent planes (Chen and Medioni 1992, with projective association), and the difference of the
blurred id pictures (Lucas and Kanade 1981), which sees what slides along a plane. Both are in
pixels or their likeness, robust by Geman and McClure's weight with a scale that shrinks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datagen.audit.diagnose.geometry.warp import Warp
from datagen.audit.measure.edges import Floats, Mask, nearest, smooth
from datagen.audit.measure.surfaces import Planes, Surface, rays_of

ROTATION, TRANSLATION = (0, 1, 2), (3, 4, 5)
FOCAL, PRINCIPAL, SCALE = (6,), (7, 8), (9,)
POSE = ROTATION + TRANSLATION
_PARAMETERS = 10

_MOST_PIXELS = 3000
_MOST_EDGES = 1500
_DEPTH_SCALES = (8, 4, 4, 2, 2, 1, 1, 0.5, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.005, 0.005)
"""Robust scale of each step for distances from planes [pixel]."""
_EDGE_SCALE = 0.15
_SATURATION = 9.0
"""Squared ratio to the scale beyond which a row costs no more."""


@dataclass(frozen=True)
class Evidence:
    """Pixels of the candidate that must come to lie on the reference."""

    K: Floats
    """Intrinsics of the reference."""
    target: Surface
    tangents: Planes
    pixels: Floats
    """Column and row of surface pixels, centres at +0.5, [n, 2]."""
    depths: Floats
    """[n]."""
    parts: NDArray[np.int32]
    """[n]."""
    edge_pixels: Floats
    """Pixels near borders, [m, 2]."""
    edge_depths: Floats
    """Depth of the nearer side of the border [m], [m]."""
    edge_values: Floats
    """Blurred id picture of the candidate there, [m, c]."""
    picture: Floats
    """Blurred id picture of the reference, [h, w, c]."""


def gather(
    K: Floats,
    reference: Surface,
    tangents: Planes,
    candidate: Surface,
    codes: Floats,
    *,
    used: Mask | None = None,
    own: Mask | None = None,
) -> Evidence:
    """Choose pixels evenly.

    Args:
        K: Intrinsics of the reference.
        reference: Its surface.
        tangents: Its tangent planes.
        candidate: The other surface.
        codes: Grey values of each part in the id pictures, [parts + 1, c].
        used: Candidate pixels whose depth counts, [h, w]; all by default.
        own: Pixels whose borders count, [h, w]; all by default.
    """
    inner = candidate.inner if used is None else candidate.inner & used
    rows, columns = _fairly(inner, candidate.part).T
    values, picture = (smooth(smooth(codes[each.part])) for each in (candidate, reference))
    band = np.any(np.abs(values - codes[candidate.part]) > 1e-9, axis=-1)
    band |= np.any(np.abs(picture - codes[reference.part]) > 1e-9, axis=-1)
    if own is not None:
        band &= own
    shown = np.where(codes[candidate.part].any(axis=-1), candidate.depth, np.inf)
    near = nearest(shown, 3)
    band &= np.isfinite(near) & (near > 0)
    edge_rows, edge_columns = _evenly(np.argwhere(band), _MOST_EDGES).T
    return Evidence(
        K=K,
        target=reference,
        tangents=tangents,
        pixels=np.stack([columns, rows], axis=1) + 0.5,
        depths=candidate.depth[rows, columns],
        parts=candidate.part[rows, columns],
        edge_pixels=np.stack([edge_columns, edge_rows], axis=1) + 0.5,
        edge_depths=near[edge_rows, edge_columns],
        edge_values=values[edge_rows, edge_columns],
        picture=picture,
    )


def _fairly(inner: Mask, part: NDArray[np.int32]) -> NDArray[np.intp]:
    """Pixels of a mask, [n, 2], so that a floor does not outweigh what stands on it."""
    places = np.argwhere(inner)
    parts = part[inner]
    kinds = np.unique(parts)
    most = max(_MOST_PIXELS // max(len(kinds), 1), 20)
    chosen = [_evenly(places[parts == each], most) for each in kinds]
    return np.concatenate(chosen) if chosen else places


def _evenly(places: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    if len(places) <= most:
        return places
    return places[np.linspace(0, len(places) - 1, most).astype(np.intp)]


def fit(evidence: Evidence, start: Warp, free: tuple[int, ...]) -> Warp:
    """Move the free parameters until the candidate lies on the reference."""
    warp, columns = start, np.array(free)
    for scale in _DEPTH_SCALES:
        distance, J_distance, _ = _distances(evidence, warp)
        edge, J_edge = _edges(evidence, warp)
        weight = 1.0 / (scale * (1.0 + (distance / scale) ** 2)) ** 2
        edge_weight = 1.0 / (_EDGE_SCALE * (1.0 + (edge / _EDGE_SCALE) ** 2)) ** 2
        J_distance, J_edge = J_distance[:, columns], J_edge[:, columns]
        normal = J_distance.T @ (J_distance * weight[:, None])
        normal += J_edge.T @ (J_edge * edge_weight[:, None])
        b = J_distance.T @ (distance * weight) + J_edge.T @ (edge * edge_weight)
        # What nothing shows stays put; units differ, so each parameter is damped by its own.
        diagonal = np.diag(normal)
        normal += np.diag(1e-6 * diagonal + 1e-9 * diagonal.mean() + 1e-12)
        step = np.zeros(_PARAMETERS)
        step[columns] = -np.linalg.solve(normal, b)
        warp = warp.stepped(step)
        if not np.isfinite(step).all() or np.abs(step).max() > 1e4:
            return start
    return warp


@dataclass(frozen=True)
class Costs:
    """What a warp leaves unexplained."""

    distance: Floats
    """Distance from the plane of every surface pixel that could be judged [pixel], inf where
    another part stands there, [n]."""
    edge: Floats
    """Differences of the blurred id pictures, [m]."""

    def total(self, scale: float) -> float:
        """Sum of saturated squares; `scale` is the noise of the distances [pixel]."""
        surface = np.minimum((self.distance / scale) ** 2, _SATURATION).sum()
        return float(surface + np.minimum((self.edge / _EDGE_SCALE) ** 2, _SATURATION).sum())

    def noise(self) -> float:
        """Robust spread of the distances [pixel], no less than rounding explains."""
        seen = self.distance[np.isfinite(self.distance)]
        return max(0.003, 1.4826 * float(np.median(np.abs(seen)))) if seen.size else 0.003


def costs(evidence: Evidence, warp: Warp) -> Costs:
    """Judge a warp."""
    distance, _, foreign = _distances(evidence, warp)
    edge, _ = _edges(evidence, warp)
    return Costs(np.concatenate([distance, np.full(foreign, np.inf)]), edge)


def _lift(evidence: Evidence, warp: Warp, pixels: Floats, depths: Floats) -> tuple[Floats, Floats]:
    """Points in the reference's camera, [n, 3], and their derivatives, [n, 3, 10]."""
    lens = warp.lens(evidence.K)
    rays = rays_of(lens, pixels[:, 1], pixels[:, 0])
    points = rays * depths[:, None]
    moved = warp.moved(points)
    turned = moved - warp.pivot - warp.t
    J = np.zeros((len(points), 3, _PARAMETERS))
    J[:, 0, 1], J[:, 0, 2] = turned[:, 2], -turned[:, 1]
    J[:, 1, 0], J[:, 1, 2] = -turned[:, 2], turned[:, 0]
    J[:, 2, 0], J[:, 2, 1] = turned[:, 1], -turned[:, 0]
    J[:, [0, 1, 2], [3, 4, 5]] = 1.0
    both = np.exp(warp.log_scale) * warp.R @ warp.R0
    flat = points * [-1.0, -1.0, 0.0]
    J[:, :, 6] = flat @ both.T
    J[:, :, 7] = -depths[:, None] / lens[0, 0] * both[:, 0]
    J[:, :, 8] = -depths[:, None] / lens[1, 1] * both[:, 1]
    J[:, :, 9] = turned
    return moved, J


def _distances(evidence: Evidence, warp: Warp) -> tuple[Floats, Floats, int]:
    """Distances from planes [pixel], [n], derivatives, [n, 10], and pixels on another part."""
    moved, J = _lift(evidence, warp, evidence.pixels, evidence.depths)
    z = np.maximum(moved[:, 2], 1e-6)
    K = evidence.K
    columns = np.floor(K[0, 0] * moved[:, 0] / z + K[0, 2])
    rows = np.floor(K[1, 1] * moved[:, 1] / z + K[1, 2])
    height, width = evidence.target.part.shape
    seen = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    seen &= moved[:, 2] > 1e-6
    seen = np.flatnonzero(seen)
    rows, columns = rows[seen].astype(np.intp), columns[seen].astype(np.intp)
    same = evidence.target.part[rows, columns] == evidence.parts[seen]
    settled = evidence.target.inner[rows, columns] | (evidence.target.part[rows, columns] == 0)
    foreign = int(np.count_nonzero(~same & settled))
    same &= evidence.tangents.valid[rows, columns]
    rows, columns, seen = rows[same], columns[same], seen[same]
    normals = evidence.tangents.normals[rows, columns]
    to_pixels = K[1, 1] / evidence.target.depth[rows, columns]
    offset = moved[seen] - evidence.tangents.points[rows, columns]
    distance = np.einsum("nk,nk->n", normals, offset) * to_pixels
    J_distance = np.einsum("nk,nkp->np", normals, J[seen]) * to_pixels[:, None]
    return distance, J_distance, foreign


def _edges(evidence: Evidence, warp: Warp) -> tuple[Floats, Floats]:
    """Differences of the id pictures, [m c], and derivatives, [m c, 10]."""
    moved, J = _lift(evidence, warp, evidence.edge_pixels, evidence.edge_depths)
    z = np.maximum(moved[:, 2], 1e-6)
    K = evidence.K
    x = K[0, 0] * moved[:, 0] / z + K[0, 2] - 0.5
    y = K[1, 1] * moved[:, 1] / z + K[1, 2] - 0.5
    height, width = evidence.picture.shape[:2]
    kept = (x >= 0) & (x < width - 1) & (y >= 0) & (y < height - 1) & (moved[:, 2] > 1e-6)
    x, y, z, J_kept = x[kept], y[kept], z[kept], J[kept]
    column, row = x.astype(np.intp), y.astype(np.intp)
    fx, fy = (x - column)[:, None], (y - row)[:, None]
    p00, p01 = evidence.picture[row, column], evidence.picture[row, column + 1]
    p10, p11 = evidence.picture[row + 1, column], evidence.picture[row + 1, column + 1]
    value = (p00 * (1 - fx) + p01 * fx) * (1 - fy) + (p10 * (1 - fx) + p11 * fx) * fy
    slope_x = (p01 - p00) * (1 - fy) + (p11 - p10) * fy
    slope_y = (p10 - p00) * (1 - fx) + (p11 - p01) * fx
    J_x = K[0, 0] * (J_kept[:, 0] - (moved[kept, 0] / z)[:, None] * J_kept[:, 2]) / z[:, None]
    J_y = K[1, 1] * (J_kept[:, 1] - (moved[kept, 1] / z)[:, None] * J_kept[:, 2]) / z[:, None]
    difference = value - evidence.edge_values[kept]
    J_edge = slope_x[..., None] * J_x[:, None] + slope_y[..., None] * J_y[:, None]
    return difference.reshape(-1), J_edge.reshape(-1, _PARAMETERS)
