"""Geometric checks of a sample, made without a renderer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from randomizers.geometry.boxes import Boxes, near_pairs, penetration
from randomizers.geometry.shapes import sample_boxes, shapes_of, start_boxes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scenes import SampleLayer

TOUCH = 1e-3
"""Depth up to which two things touch rather than overlap [m]: resting contacts."""
ROUNDING = 1e-6
"""Depth that rounding may add [m]."""


@dataclass(frozen=True)
class Check:
    """Outcome of a check of a sample."""

    name: str
    """What was checked; the flag of a sample that fails it."""
    passed: bool
    detail: str = ""
    """What was wrong, for people."""


@dataclass(frozen=True)
class Overlap:
    """Two objects that stand in each other."""

    first: str
    """Object path."""
    second: str
    """Object path."""
    depth: float
    """How far one must move to leave the other [m], by their boxes."""


def depths(
    boxes: Boxes, instances: NDArray[np.intp], a: NDArray[np.bool_], b: NDArray[np.bool_]
) -> dict[tuple[int, int], float]:
    """Find which objects of two groups stand in each other, and how deep.

    Args:
        boxes: Boxes in the world, [n].
        instances: Instance number of each box, [n].
        a: Boxes of the first group, [n].
        b: Boxes of the second group, [n].

    Returns:
        Depth of the deepest pair of boxes [m] by (instance of the first group, of the second).
    """
    at_a, at_b = np.flatnonzero(a), np.flatnonzero(b)
    i, j = near_pairs(boxes[at_a], boxes[at_b])
    i, j = at_a[i], at_b[j]
    different = instances[i] != instances[j]
    i, j = i[different], j[different]
    deepest: dict[tuple[int, int], float] = {}
    values = penetration(boxes[i], boxes[j])
    for first, second, depth in zip(instances[i], instances[j], values, strict=True):
        if depth > 0:
            pair = (int(first), int(second))
            deepest[pair] = max(deepest.get(pair, 0.0), float(depth))
    return deepest


def overlaps(sample: SampleLayer) -> list[Overlap]:
    """Find objects that stand deeper than 1 mm in each other, at least one of them movable.

    Oriented boxes around the collision geoms are compared. They hold the shapes, so no overlap is
    missed; round shapes can be reported although only their boxes overlap.
    """
    shapes = shapes_of(sample.scene)
    found = _movable_depths(sample, sample_boxes(sample))
    return [
        Overlap(shapes.paths[a], shapes.paths[b], depth)
        for (a, b), depth in sorted(found.items())
        if depth > TOUCH + ROUNDING
    ]


def check_interpenetration(sample: SampleLayer) -> Check:
    """Check that a sample makes no two objects overlap.

    A pair may not stand deeper in each other than 1 mm or, if that is more, than in the state
    the sample started from: what a simulator left in contact stays allowed. Oriented boxes around
    the collision geoms are compared, which is strict for round shapes.
    """
    shapes = shapes_of(sample.scene)
    before = _movable_depths(sample, start_boxes(sample))
    after = _movable_depths(sample, sample_boxes(sample))
    worse = [
        f"{shapes.paths[pair[0]]} and {shapes.paths[pair[1]]}: {depth * 1000:.1f} mm"
        for pair, depth in sorted(after.items())
        if depth > allowed_depth(before.get(pair, 0.0))
    ]
    return Check("interpenetration", not worse, "; ".join(worse))


def allowed_depth(before: float) -> float:
    """Depth a pair may have [m] that had another one in the start state [m]."""
    return max(TOUCH, before) + ROUNDING


def _movable_depths(sample: SampleLayer, boxes: Boxes) -> dict[tuple[int, int], float]:
    shapes = shapes_of(sample.scene)
    movable = np.isin(shapes.instances, list(shapes.free))
    everything = np.ones(len(boxes), dtype=np.bool_)
    found: dict[tuple[int, int], float] = {}
    for (a, b), depth in depths(boxes, shapes.instances, movable, everything).items():
        found[min(a, b), max(a, b)] = depth
    return found
