"""What carries the movable objects of a state, and what touches what in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from randomizers.geometry.boxes import Boxes, Floats
from randomizers.geometry.checks import depths
from randomizers.geometry.shapes import Shapes, shapes_of, start_boxes

if TYPE_CHECKING:
    from scenes import SampleLayer, Scene

LEVEL = 5e-3
"""Height within which surfaces make one level, and by which a thing may sink into it [m]."""
FLOAT = 0.25
"""Highest a thing may float above what is taken as its support [m]: stored states float."""
CONTACT = 1e-7
"""Depth from which two things touch [m]; below it is rounding."""
HOLDERS = frozenset({"robot", "gripper"})
"""Kinds of objects whose touch holds a thing."""
UPRIGHT = np.cos(np.deg2rad(5.0))
"""Least vertical part of the normal of a face that carries things."""
_GRID = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 7)] * 2), axis=-1).reshape(-1, 2)


@dataclass(frozen=True)
class Support:
    """What is under an object."""

    instance: int
    """Instance number of the object that carries it."""
    points: Floats
    """Points of the carried object's footprint that are over the support, [n, 2], m, world."""
    height: float
    """Height of the supporting level [m]."""


class Ground:
    """Boxes of a state in the world, and what follows from them."""

    def __init__(self, sample: SampleLayer) -> None:
        self.shapes: Shapes = shapes_of(sample.scene)
        self.boxes: Boxes = start_boxes(sample)
        self._depths: dict[int, dict[tuple[int, int], float]] = {}
        self._carried: dict[int, frozenset[int]] = {}

    @cached_property
    def supports(self) -> dict[int, Support]:
        """What is under each movable instance; one with nothing under it has no entry."""
        found = {instance: self._support(instance) for instance in self.shapes.free}
        return {instance: support for instance, support in found.items() if support is not None}

    @cached_property
    def contacts(self) -> dict[int, set[int]]:
        """Instances that each movable instance touches, by their boxes."""
        everything = np.ones(len(self.boxes), dtype=np.bool_)
        movable = np.isin(self.shapes.instances, list(self.shapes.free))
        found: dict[int, set[int]] = {instance: set() for instance in self.shapes.free}
        pairs = depths(self.boxes, self.shapes.instances, movable, everything)
        for (first, second), depth in pairs.items():
            if depth > CONTACT:
                found[first].add(second)
        return found

    def held(self, instance: int) -> bool:
        """Tell whether the robot touches an object or something that moves along with it."""
        kinds = {thing.instance: thing.kind for thing in self.shapes.info.objects}
        group = {instance} | self.carried(instance)
        return any(kinds[other] in HOLDERS for member in group for other in self.contacts[member])

    def carried(self, instance: int) -> frozenset[int]:
        """Movable instances that go where an object goes.

        They rest on it or, touching it, may lean on it, directly or by others between. What the
        object itself rests on stays.
        """
        if instance not in self._carried:
            stays = self.bases(instance)
            group = {instance}
            while more := self._next_to(group) - group - stays:
                group |= more
            self._carried[instance] = frozenset(group - {instance})
        return self._carried[instance]

    def bases(self, instance: int) -> set[int]:
        """Movable instances that an object rests on, directly or on each other."""
        found: set[int] = set()
        while (support := self.supports.get(instance)) and support.instance not in found:
            instance = support.instance
            if instance in self.shapes.free:
                found.add(instance)
        return found

    def members(self, instance: int) -> NDArray[np.bool_]:
        """Boxes of an object and of what it carries, [n]."""
        return np.isin(self.shapes.instances, [instance, *self.carried(instance)])

    def depths(self, instance: int) -> dict[tuple[int, int], float]:
        """How deep an object, with what it carries, stands in others [m], by pair."""
        if instance not in self._depths:
            group = self.members(instance)
            self._depths[instance] = depths(self.boxes, self.shapes.instances, group, ~group)
        return self._depths[instance]

    def _next_to(self, group: set[int]) -> set[int]:
        resting = {i for i, support in self.supports.items() if support.instance in group}
        touching = {other for member in group for other in self.contacts[member]}
        return resting | (touching & self.shapes.free.keys())

    def _support(self, instance: int) -> Support | None:
        own = self.shapes.instances == instance
        if not own.any():
            return None
        corners = self.boxes[own].corners().reshape(-1, 3)
        bottom = float(corners[:, 2].min())
        low, high = corners[:, :2].min(axis=0), corners[:, :2].max(axis=0)
        center, half = (low + high) / 2, (high - low) / 2
        tops = level_tops(self.boxes)
        below = np.flatnonzero((tops >= bottom - FLOAT) & (tops <= bottom + LEVEL) & ~own)
        # What carries a thing is looked for under its middle: under its rim a neighbour may stand.
        middle = center + _GRID * half / 2
        below = below[over(middle, self.boxes[below]).any(axis=0)]
        if not len(below):
            return None
        top = below[tops[below].argmax()]
        base = int(self.shapes.instances[top])
        points = center + _GRID * half
        covered = over_level(points, self.boxes, self.shapes.instances == base, float(tops[top]))
        return Support(base, points[covered], float(tops[top]))


def ground_of(sample: SampleLayer) -> Ground:
    """Ground of the state a sample starts from; that of each scene's last state is kept."""
    name, ground = _LAST.get(sample.scene, ("", None))
    if ground is None or name != sample.state.name:
        ground = Ground(sample)
        _LAST[sample.scene] = (sample.state.name, ground)
    return ground


def over_level(
    points: Floats, boxes: Boxes, among: NDArray[np.bool_], height: float
) -> NDArray[np.bool_]:
    """Tell which points have a surface of a level under them.

    Args:
        points: Places in the world, [p, 2], m.
        boxes: Boxes in the world, [n].
        among: Boxes that may carry, [n].
        height: Height of the level [m].

    Returns:
        [p].
    """
    level = among & (np.abs(level_tops(boxes) - height) <= LEVEL)
    return np.logical_or.reduce(over(points, boxes[level]), axis=1)


def level_tops(boxes: Boxes) -> Floats:
    """Height of the middle of each box's top face [m], -inf if it is not level, [n]."""
    upward = np.abs(boxes.axes[:, 2, :])
    steepest = upward.argmax(axis=1)
    rows = np.arange(len(boxes))
    up = upward[rows, steepest]
    tops = boxes.centers[:, 2] + up * boxes.halves[rows, steepest]
    return np.where(up >= UPRIGHT, tops, -np.inf)


def over(points: Floats, boxes: Boxes) -> NDArray[np.bool_]:
    """Tell which points are over which boxes' top faces, [points, n]."""
    offsets = points[None, :, :] - boxes.centers[:, None, :2]
    along = offsets @ boxes.axes[:, :2, :]
    within = np.abs(along) <= boxes.halves[:, None, :] + 1e-9
    within[np.arange(len(boxes)), :, np.abs(boxes.axes[:, 2, :]).argmax(axis=1)] = True
    return np.logical_and.reduce(within, axis=2).T


_LAST: WeakKeyDictionary[Scene, tuple[str, Ground]] = WeakKeyDictionary()
