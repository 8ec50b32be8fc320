"""Which bodies stand elsewhere or are of another size."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datagen.audit.diagnose.geometry.alignment import (
    POSE,
    SCALE,
    Costs,
    Evidence,
    costs,
    fit,
    gather,
)
from datagen.audit.diagnose.geometry.warp import Warp, rotation
from datagen.audit.measure.edges import Floats, Mask, nearest
from datagen.audit.measure.surfaces import Planes, Surface, rays_of

_FEWEST_PIXELS = 30
_QUIET_PIXELS = 6
"""Differing pixels that edges and ties explain."""
_QUIET_DISTANCE = 0.01
"""Distance from the planes [pixel] that rounding explains."""
_LEFT = 0.5
"""Share of the cost that a cause may leave."""
_SCALE_GAIN = 0.6
"""Share of the cost of a rigid motion that a scale may leave, to be preferred."""
_TURNS = np.radians([45.0, 90.0, 135.0, 180.0, 225.0, 270.0, 315.0])
_MOST_SCALE = 10.0
"""Largest change of size that a fit can tell."""
_FREE_SHARE = 0.3
_LOUD = 1.0
"""Cost per row from which a body counts beside a camera that was fitted itself."""
_CHANGED_SHARE = 0.1
"""Share of a body's pixels that must have changed to name it without an explanation."""
_CONTACT = 1.01
"""Relative depth from which a neighbour lies clearly behind."""
_QUIET_EDGE = 0.08
"""Spread of the id pictures that pixels without anti-aliasing explain."""
_OCCLUDER = 0.995
"""Relative depth below which a neighbour stands in front."""


@dataclass(frozen=True)
class BodyView:
    """A body as both sides see it."""

    body: str
    """Path of the body prim."""
    here: Mask
    """Its pixels in the reference, [h, w]."""
    there: Mask
    """Its pixels in the candidate, [h, w]."""
    origin: Floats
    """Origin of the body in the reference's camera [m], [3]."""
    up: Floats
    """Upward axis of the world in the reference's camera, [3]."""
    K: Floats
    """Intrinsics of the reference."""
    reference: Surface
    tangents: Planes
    candidate: Surface
    codes: Floats
    """Grey values of each part in id pictures, 0 for parts of other bodies, [parts + 1, c]."""


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
    explained: bool = True
    """False where neither a motion nor a size was found that explains most of the difference."""


def fit_body(view: BodyView, base: Warp, noise: float) -> BodyFit | None:
    """Fit one body's motion; None where it stands as it should.

    Args:
        view: The body as both sides see it.
        base: The camera that explains the candidate.
        noise: Distance from the planes that this camera leaves everywhere [pixel].
    """
    here, there = view.here, view.there
    if here.sum() < _FEWEST_PIXELS or there.sum() < _FEWEST_PIXELS:
        return None
    reference, candidate = view.reference, view.candidate
    own, free = _borders(view)
    points = view.tangents.points[here & np.isfinite(reference.depth)]
    middle = points.mean(axis=0)
    radius = float(np.linalg.norm(points - middle, axis=1).max())
    # A far origin would turn the error of a small rotation into a large displacement.
    near = np.linalg.norm(view.origin - middle) <= 2.0 * radius
    pivot = view.origin if near else middle
    # A border where two surfaces touch moves with both or with none: it is no evidence, unless
    # there is little else.
    band = (here | there) & own
    if np.count_nonzero(band & free) >= _FREE_SHARE * np.count_nonzero(band):
        own = own & free
    evidence = gather(
        view.K,
        reference,
        view.tangents,
        candidate,
        view.codes,
        used=there,
        own=own,
    )
    if evidence.depths.size + evidence.edge_depths.size < _FEWEST_PIXELS:
        return None
    start = base.based(pivot)
    before = costs(evidence, start)
    changed = _changed(view) if noise == 0.0 else 0
    if _quiet(before, noise, changed):
        return None
    whole = not (_touches_frame(here) or _touches_frame(there))
    # What reaches beyond the picture has no middle and no size to go by.
    starts = [start, _over_middle(start, view, middle)] if whole else [start]
    rigid = _best(evidence, starts, POSE)
    after = costs(evidence, rigid)
    scale = max(noise, after.noise())
    if before.total(scale) < _LOUD * (before.distance.size + before.edge.size) and noise > 0.0:
        return None
    if whole:
        resized = _best(evidence, [start, rigid], POSE + SCALE)
        left = costs(evidence, resized)
        scale = max(noise, min(after.noise(), left.noise()))
        size = float(np.exp(-resized.log_scale))
        gain = left.total(scale) <= _SCALE_GAIN * after.total(scale)
        plausible = abs(size - 1.0) >= 0.005 and 1.0 / _MOST_SCALE < size < _MOST_SCALE
        if plausible and gain and left.total(scale) <= _LEFT * before.total(scale):
            return _described(view.body, resized, pivot, size)
    if whole and after.total(scale) > _LEFT * before.total(scale):
        for turn in _TURNS:
            turned = replace(start, R=rotation(turn * view.up))
            for trial_start in (turned, _over_middle(turned, view, middle)):
                trial = fit(evidence, trial_start, POSE)
                cost = costs(evidence, trial)
                if cost.total(scale) < after.total(scale):
                    rigid, after = trial, cost
    if after.total(scale) <= _LEFT * before.total(scale):
        return _described(view.body, rigid, pivot, None)
    if whole and changed >= max(_FEWEST_PIXELS, _CHANGED_SHARE * max(here.sum(), there.sum())):
        seen = _over_middle(start, view, middle)
        return BodyFit(view.body, -seen.t, 0.0, None, explained=False)
    return None


def _quiet(before: Costs, noise: float, changed: int) -> bool:
    """Tell whether the camera alone explains the body."""
    distances = before.distance[np.isfinite(before.distance)]
    limit = max(_QUIET_DISTANCE, 5.0 * noise)
    if distances.size and np.percentile(np.abs(distances), 90) > limit:
        return False
    if noise > 0.0:
        return bool(before.edge.size == 0 or np.mean(before.edge**2) <= _QUIET_EDGE**2)
    return changed <= _QUIET_PIXELS


def _changed(view: BodyView) -> int:
    """Pixels that the body left or took although nothing before it came or went."""
    here, there = view.here, view.there
    first, second = view.reference.depth, view.candidate.depth
    left = here & ~there & (second >= _OCCLUDER * first)
    taken = there & ~here & (first >= _OCCLUDER * second)
    return int(np.count_nonzero(left | taken))


def _described(body: str, warp: Warp, pivot: Floats, scale: float | None) -> BodyFit:
    # The warp carries the candidate back; the finding says how the candidate got there.
    move = warp.inverse_moved(pivot[None])[0] - pivot
    return BodyFit(body, move, warp.angle, scale)


def _best(evidence: Evidence, starts: list[Warp], free: tuple[int, ...]) -> Warp:
    fits = [fit(evidence, start, free) for start in starts]
    scale = min(costs(evidence, each).noise() for each in fits)
    return min(fits, key=lambda each: costs(evidence, each).total(scale))


def _borders(view: BodyView) -> tuple[Mask, Mask]:
    """Pixels near which nothing stands before the body, and near which all lies clearly behind."""
    sides = ((view.here, view.reference.depth), (view.there, view.candidate.depth))
    body = np.minimum(*(nearest(np.where(mask, depth, np.inf), 3) for mask, depth in sides))
    beside = np.minimum(*(nearest(np.where(mask, np.inf, depth), 2) for mask, depth in sides))
    return beside >= _OCCLUDER * body, beside >= _CONTACT * body


def _touches_frame(mask: Mask) -> bool:
    return bool(mask[[0, -1]].any() or mask[:, [0, -1]].any())


def _over_middle(start: Warp, view: BodyView, middle: Floats) -> Warp:
    """Start with the middles of the visible pixels over each other."""
    rows, columns = np.nonzero(view.there & np.isfinite(view.candidate.depth))
    if not rows.size:
        return start
    points = rays_of(start.lens(view.K), rows + 0.5, columns + 0.5)
    points = points * view.candidate.depth[rows, columns][:, None]
    shifted = replace(start, t=np.zeros(3))
    return replace(start, t=middle - shifted.moved(points).mean(axis=0))
