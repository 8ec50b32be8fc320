"""Which camera explains the whole picture: shift, lens, principal point or pose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from datagen.audit.diagnose.geometry.alignment import (
    FOCAL,
    POSE,
    PRINCIPAL,
    Costs,
    Evidence,
    costs,
    fit,
)
from datagen.audit.diagnose.geometry.warp import Warp, identity
from datagen.audit.measure.edges import Floats
from datagen.audit.measure.surfaces import Surface, rays_of

EXPLAINED = 0.5
"""Share of the cost that a camera must explain to be the cause."""
EXPLAINED_AT_LEAST = 0.2
"""The same where the alternative is several objects that moved on their own."""
_SLACK = 0.3
"""Share of the best camera's cost that a simpler one may cost more."""
_BLUR = 0.01
"""Share of the cost without a camera fault that tells no two cameras apart."""
_FEWEST_PARTS = 3
_MOST_SHIFT = 0.4
"""Largest shift looked for, as a share of the picture."""


@dataclass(frozen=True)
class CameraFit:
    """The simplest camera that explains the candidate."""

    kind: str
    """none, principal_point_transposed, pixel_shift, field_of_view, lens, camera_pose, camera."""
    warp: Warp
    explained: float
    """Share of the excess cost that went away."""


def fit_camera(
    evidence: Evidence, reference: Surface, candidate: Surface, least: float = EXPLAINED
) -> CameraFit:
    """Fit every kind of camera fault and keep the simplest that explains what the best one does.

    Args:
        evidence: Pixels to explain.
        reference: The surface taken for right.
        candidate: The other surface.
        least: Share of the cost that must be explained.
    """
    still = identity()
    trials = [
        (kind, fit(evidence, start, free) if free else start)
        for kind, start, free in _hypotheses(evidence, reference, candidate)
    ]
    judged = [(kind, warp, costs(evidence, warp)) for kind, warp in trials]
    scale = min((each.noise() for _, _, each in judged if _enough(each, evidence)), default=0.003)
    before = costs(evidence, still)
    start_cost = _share(before, scale)
    totals = [_share(each, scale) if _enough(each, evidence) else np.inf for _, _, each in judged]
    best = min(totals, default=np.inf)
    if not best < start_cost:
        return CameraFit("none", still, 0.0)
    order = {
        "principal_point_transposed": 0,
        "field_of_view": 1,
        "pixel_shift": 2,
        "lens": 3,
        "camera_pose": 4,
        "camera": 5,
    }
    good = [
        (order[kind], total, kind, warp)
        for (kind, warp, _), total in zip(judged, totals, strict=True)
        if total <= (1.0 + _SLACK) * best + _BLUR * start_cost
    ]
    _, total, kind, warp = min(good, key=lambda each: each[:2])
    explained = (start_cost - total) / max(start_cost, 1e-9)
    if explained < least:
        return CameraFit("none", still, explained)
    return CameraFit(kind, warp, explained)


def _share(each: Costs, scale: float) -> float:
    """Cost per row: warps see different numbers of rows."""
    return each.total(scale) / max(each.distance.size + each.edge.size, 1)


def _enough(each: Costs, evidence: Evidence) -> bool:
    """Tell whether a warp keeps most of the picture in view."""
    return each.distance.size + each.edge.size >= 0.4 * (
        evidence.depths.size + evidence.edge_values.size
    )


def _hypotheses(
    evidence: Evidence, reference: Surface, candidate: Surface
) -> Iterator[tuple[str, Warp, tuple[int, ...]]]:
    still, K = identity(), evidence.K
    height, width = reference.part.shape
    swapped = np.array([K[1, 2], K[0, 2]]) - [K[0, 2], K[1, 2]]
    # About the middle of the picture, so that a picture that is not square makes no shift.
    swapped -= np.array([height - width, width - height]) / 2
    if np.abs(swapped).max() > 0.25:
        yield "principal_point_transposed", replace(still, principal=swapped), ()
    shift, focal = _coarse_shift(evidence, candidate), _coarse_focal(evidence, candidate)
    for start in {shift, (0.0, 0.0)}:
        yield "pixel_shift", replace(still, principal=np.array(start)), PRINCIPAL
    for log_focal in {focal, 0.0}:
        yield "field_of_view", replace(still, log_focal=log_focal), FOCAL
    yield "lens", replace(still, log_focal=focal), FOCAL + PRINCIPAL
    starts = [still, _kabsch(K, reference, candidate)]
    for start in starts:
        if start is not None:
            # A second round mends associations that the first one began with.
            near = fit(evidence, start, POSE)
            yield "camera_pose", near, POSE
            yield "camera", near, POSE + FOCAL + PRINCIPAL


def _agreement(evidence: Evidence, candidate: Surface, x: Floats, y: Floats) -> float:
    """Share of candidate pixels that find their part at places of the reference [pixel]."""
    height, width = candidate.part.shape
    columns, rows = np.floor(x).astype(np.intp), np.floor(y).astype(np.intp)
    seen = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    if seen.mean() < 0.25:
        return 0.0
    same = evidence.target.part[rows[seen], columns[seen]] == candidate.part[seen]
    return float(same.mean())


def _coarse_focal(evidence: Evidence, candidate: Surface) -> float:
    rows, columns = np.mgrid[0 : candidate.part.shape[0], 0 : candidate.part.shape[1]] + 0.5
    cx, cy = evidence.K[0, 2], evidence.K[1, 2]
    steps = np.linspace(-0.6, 0.6, 49)
    scores = [
        _agreement(
            evidence, candidate, cx + (columns - cx) / np.exp(s), cy + (rows - cy) / np.exp(s)
        )
        for s in steps
    ]
    return float(steps[int(np.argmax(scores))])


def _coarse_shift(evidence: Evidence, candidate: Surface) -> tuple[float, float]:
    """Whole pixels by which the id pictures are shifted, by cross-correlation."""
    height, width = candidate.part.shape
    codes = evidence.picture
    moved = np.zeros_like(codes)
    table = _means(evidence, candidate)
    moved[:] = table[candidate.part]
    both = np.zeros((2 * height, 2 * width))
    for channel in range(codes.shape[2]):
        a = np.fft.rfft2(codes[..., channel] - codes[..., channel].mean(), both.shape)
        b = np.fft.rfft2(moved[..., channel] - moved[..., channel].mean(), both.shape)
        both += np.fft.irfft2(np.conj(a) * b, both.shape)
    limit_y, limit_x = int(_MOST_SHIFT * height), int(_MOST_SHIFT * width)
    rows, columns = np.arange(2 * height), np.arange(2 * width)
    dy = np.where(rows < height, rows, rows - 2 * height)
    dx = np.where(columns < width, columns, columns - 2 * width)
    both[np.abs(dy) > limit_y] = -np.inf
    both[:, np.abs(dx) > limit_x] = -np.inf
    row, column = np.unravel_index(int(np.argmax(both)), both.shape)
    return float(dx[column]), float(dy[row])


def _means(evidence: Evidence, candidate: Surface) -> Floats:
    """Mean grey values of each part in the reference's id picture."""
    last = int(max(evidence.target.part.max(), candidate.part.max()))
    counts = np.bincount(evidence.target.part.ravel(), minlength=last + 1)
    sums = [
        np.bincount(evidence.target.part.ravel(), channel.ravel(), minlength=last + 1)
        for channel in np.moveaxis(evidence.picture, -1, 0)
    ]
    return np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None]


def _kabsch(K: Floats, reference: Surface, candidate: Surface) -> Warp | None:
    """Rough pose from the middles of the parts that both sides see (Kabsch 1976)."""
    first, second = _middles(K, reference), _middles(K, candidate)
    shared = sorted(first.keys() & second.keys())
    if len(shared) < _FEWEST_PARTS:
        return None
    weights = np.array([np.sqrt(min(first[part][1], second[part][1])) for part in shared])
    weights /= weights.sum()
    a = np.array([first[part][0] for part in shared])
    b = np.array([second[part][0] for part in shared])
    R = np.eye(3)
    for _ in range(5):
        mean_a, mean_b = weights @ a, weights @ b
        u, _, vt = np.linalg.svd((b - mean_b).T @ ((a - mean_a) * weights[:, None]))
        keep = np.diag([1.0, 1.0, np.sign(np.linalg.det(vt.T @ u.T))])
        R[:] = vt.T @ keep @ u.T
        off = np.linalg.norm((b - mean_b) @ R.T + mean_a - a, axis=1)
        weights = weights / (1.0 + (off / (np.median(off) + 1e-6)) ** 2)
        weights /= weights.sum()
    return replace(identity(), R=R, t=weights @ a - R @ (weights @ b))


def _middles(K: Floats, seen: Surface) -> dict[int, tuple[Floats, int]]:
    """Mean point [m] and pixel count of each part that does not touch the picture's border."""
    border = set(
        np.unique(np.concatenate([seen.part[0], seen.part[-1], seen.part[:, 0], seen.part[:, -1]]))
    )
    rows, columns = np.nonzero(seen.inner)
    parts = seen.part[rows, columns]
    points = rays_of(K, rows + 0.5, columns + 0.5) * seen.depth[rows, columns][:, None]
    found: dict[int, tuple[Floats, int]] = {}
    for part in np.unique(parts):
        chosen = parts == part
        if part not in border and chosen.sum() >= 8:
            found[int(part)] = (points[chosen].mean(axis=0), int(chosen.sum()))
    return found
