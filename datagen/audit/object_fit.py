"""Which bodies stand elsewhere or are of another size."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from datagen.audit.alignment import POSE, SCALE, Evidence, Warp, costs, fit, gather
from datagen.audit.edges import Floats, Mask, nearest
from datagen.audit.surfaces import Planes, Surface, rays_of

_FEWEST_PIXELS = 30
_QUIET_PIXELS = 6
"""Differing pixels that edges and ties explain."""
_QUIET_DISTANCE = 0.01
"""Distance from the planes [pixel] that rounding explains."""
_LEFT = 0.5
"""Share of the cost that a cause may leave."""
_SCALE_GAIN = 0.6
"""Share of the cost of a rigid motion that a scale may leave, to be preferred."""
_OCCLUDER = 0.995
"""Relative depth below which a neighbour stands in front."""


@dataclass(frozen=True)
class BodyFit:
    """A body that moved or changed its size from the reference to the candidate."""

    body: str
    """Path of the body prim."""
    move: Floats
    """Displacement of the body's middle, in the axes of the reference's camera [m], [3]."""
    angle: float
    """Rotation [rad]."""
    scale: float | None
    """Size relative to the reference; None where a rigid motion explains the difference."""


def fit_body(
    body: str,
    parts: NDArray[np.int32],
    origin: Floats,
    K: Floats,
    reference: Surface,
    tangents: Planes,
    candidate: Surface,
    base: Warp,
    codes: Floats,
) -> BodyFit | None:
    """Fit one body's motion; None where it stands as it should or nothing rigid explains it.

    Args:
        body: Path of the body prim.
        parts: Its part numbers.
        origin: Origin of the body in the reference's camera [m], [3].
        K: Intrinsics of the reference.
        reference: Its surface.
        tangents: Its tangent planes.
        candidate: The other surface.
        base: The camera that explains the candidate.
        codes: Grey values of each part in id pictures, [parts + 1, c].
    """
    here, there = np.isin(reference.part, parts), np.isin(candidate.part, parts)
    if here.sum() < _FEWEST_PIXELS or there.sum() < _FEWEST_PIXELS:
        return None
    own = _own_borders(here, reference.depth) & _own_borders(there, candidate.depth)
    masked = np.where(np.isin(np.arange(len(codes)), parts)[:, None], codes, 0.0)
    points = tangents.points[here & np.isfinite(reference.depth)]
    middle = points.mean(axis=0)
    radius = float(np.linalg.norm(points - middle, axis=1).max())
    # A far origin would turn the error of a small rotation into a large displacement.
    pivot = origin if np.linalg.norm(origin - middle) <= 2.0 * radius else middle
    evidence = gather(K, reference, tangents, candidate, masked, used=there, own=own)
    if evidence.depths.size + evidence.edge_depths.size < _FEWEST_PIXELS:
        return None
    start = base.based(pivot)
    before = costs(evidence, start)
    distances = before.distance[np.isfinite(before.distance)]
    still = distances.size == 0 or np.percentile(np.abs(distances), 90) <= _QUIET_DISTANCE
    changed = np.count_nonzero((reference.part != candidate.part) & own & (here | there))
    if still and changed <= _QUIET_PIXELS:
        return None
    starts = [start, _over_middle(start, K, there, candidate, middle)]
    rigid = _best(evidence, starts, POSE)
    scaled = _best(evidence, [start, *starts, rigid], POSE + SCALE)
    after, resized = costs(evidence, rigid), costs(evidence, scaled)
    noise = min(after.noise(), resized.noise())
    first, second, third = (each.total(noise) for each in (before, after, resized))
    scale = float(np.exp(-scaled.log_scale))
    if abs(scale - 1.0) >= 0.005 and third <= _SCALE_GAIN * second and third <= _LEFT * first:
        return _described(body, scaled, pivot, scale)
    if second <= _LEFT * first:
        return _described(body, rigid, pivot, None)
    return None


def _described(body: str, warp: Warp, pivot: Floats, scale: float | None) -> BodyFit:
    # The warp carries the candidate back; the finding says how the candidate got there.
    move = warp.inverse_moved(pivot[None])[0] - pivot
    return BodyFit(body, move, warp.angle, scale)


def _best(evidence: Evidence, starts: list[Warp], free: tuple[int, ...]) -> Warp:
    fits = [fit(evidence, start, free) for start in starts]
    scale = min(costs(evidence, each).noise() for each in fits)
    return min(fits, key=lambda each: costs(evidence, each).total(scale))


def _own_borders(body: Mask, depth: Floats) -> Mask:
    """Pixels near which nothing stands before the body, [h, w]."""
    behind = np.where(body, np.inf, depth)
    own = np.where(body, depth, np.inf)
    return nearest(behind, 2) >= _OCCLUDER * nearest(own, 3)


def _over_middle(start: Warp, K: Floats, there: Mask, candidate: Surface, middle: Floats) -> Warp:
    """Start with the middles of the visible pixels over each other."""
    rows, columns = np.nonzero(there & np.isfinite(candidate.depth))
    if not rows.size:
        return start
    points = rays_of(start.lens(K), rows + 0.5, columns + 0.5)
    points = points * candidate.depth[rows, columns][:, None]
    return replace(start, t=middle - start.moved(points).mean(axis=0))
