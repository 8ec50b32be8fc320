"""Where movable objects stand in a sample, and where else they fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from randomizers.geometry.boxes import Boxes, Floats
from randomizers.geometry.checks import allowed_depth, depths
from randomizers.geometry.ground import Support, ground_of, over_level

if TYPE_CHECKING:
    from scenes import SampleLayer


class Placement:
    """Boxes of one sample, from where its state puts them to where draws put them."""

    def __init__(self, sample: SampleLayer) -> None:
        self.ground = ground_of(sample)
        self.shapes = self.ground.shapes
        self.boxes = self.ground.boxes
        self.movers: dict[int, str] = {}
        """Name of the randomizer that moved an instance, by instance."""

    def fits(self, instance: int, move: Floats) -> bool:
        """Tell whether an object, with what it carries, can stand elsewhere.

        All of the footprints that had a support under them in the state must have it again, and
        no pair of objects may stand deeper in each other than the checks allow.

        Args:
            instance: Instance number of the object.
            move: Rigid transform from where the state puts it, [4, 4].
        """
        going = {instance, *self.ground.carried(instance)}
        supports = [self.ground.supports[i] for i in going if i in self.ground.supports]
        if not all(self._covers(s, move) for s in supports if s.instance not in going):
            return False
        group = self.ground.members(instance)
        found = depths(self._with(group, move), self.shapes.instances, group, ~group)
        before = self.ground.depths(instance)
        return all(depth <= allowed_depth(before.get(pair, 0.0)) for pair, depth in found.items())

    def put(self, instance: int, move: Floats, mover: str) -> None:
        """Put an object with what it carries elsewhere."""
        self.boxes = self._with(self.ground.members(instance), move)
        self.movers |= dict.fromkeys({instance, *self.ground.carried(instance)}, mover)

    def _covers(self, support: Support, move: Floats) -> bool:
        points = support.points @ move[:2, :2].T + move[:2, 3]
        base = self.shapes.instances == support.instance
        return bool(over_level(points, self.boxes, base, support.height).all())

    def _with(self, group: NDArray[np.bool_], move: Floats) -> Boxes:
        moved = self.ground.boxes[group].moved(move)
        centers, axes = self.boxes.centers.copy(), self.boxes.axes.copy()
        centers[group], axes[group] = moved.centers, moved.axes
        return Boxes(centers, axes, self.boxes.halves)
