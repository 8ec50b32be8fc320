"""The boxes that stand for a scene's objects, read once per scene."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from randomizers.geometry.boxes import Boxes, Floats

if TYPE_CHECKING:
    from collections.abc import Callable

    from scenes import SampleLayer, Scene, SceneInfo

_FLAT = 1e-6
"""Thickness below which a drawn part is a surface without volume [m]."""


@dataclass(frozen=True)
class Shapes:
    """Boxes of all objects in the frames of their bodies.

    An object is its collision proxies. One without proxies is the boxes around its drawn parts if
    it can be moved; if it cannot, only its flat parts count (floors and walls without thickness),
    since the box around a whole room says nothing.
    """

    info: SceneInfo
    boxes: Boxes
    """In the frame of their bodies, [n]."""
    bodies: NDArray[np.intp]
    """Index into `info.bodies` of each box, [n]."""
    instances: NDArray[np.intp]
    """Instance number of each box, [n]."""

    @cached_property
    def free(self) -> dict[int, str]:
        """Path of the free body by instance, of all things that can be put elsewhere."""
        kinds = {thing.instance: thing.kind for thing in self.info.objects}
        return {
            body.instance: body.path
            for body in self.info.bodies
            if body.free and kinds[body.instance] == "object"
        }

    @cached_property
    def paths(self) -> dict[int, str]:
        """Path of the object by instance."""
        return {thing.instance: thing.path for thing in self.info.objects}

    def members(self, instances: set[int]) -> list[str]:
        """Paths of all bodies of some instances."""
        return [body.path for body in self.info.bodies if body.instance in instances]

    def world(self, pose: Callable[[str], Floats]) -> Boxes:
        """Boxes in the world.

        Args:
            pose: Gives the world pose [m] of a body, [4, 4], by its path.
        """
        poses = np.array([pose(body.path) for body in self.info.bodies]).reshape(-1, 4, 4)
        return self.boxes.moved(poses[self.bodies])


def shapes_of(scene: Scene) -> Shapes:
    """Boxes of a scene; read from the stage at the first call."""
    if scene not in _KNOWN:
        _KNOWN[scene] = _read(scene)
    return _KNOWN[scene]


def start_boxes(sample: SampleLayer) -> Boxes:
    """Boxes in the world where the sample's state puts them."""
    return shapes_of(sample.scene).world(sample.start_pose)


def sample_boxes(sample: SampleLayer) -> Boxes:
    """Boxes in the world where the sample puts them."""
    return shapes_of(sample.scene).world(sample.pose)


_KNOWN: WeakKeyDictionary[Scene, Shapes] = WeakKeyDictionary()


def _read(scene: Scene) -> Shapes:
    info = scene.info
    free = {body.instance for body in info.bodies if body.free}
    index = {body.path: number for number, body in enumerate(info.bodies)}
    found: list[tuple[int, int, Floats]] = []
    for number, body in enumerate(info.bodies):
        prim = scene.stage.GetPrimAtPath(f"{body.path}/collision")
        proxies = prim.GetChildren() if prim else []
        found += [
            (number, body.instance, _authored(scene, str(proxy.GetPath()))) for proxy in proxies
        ]
    shaped = {instance for _, instance, _ in found}
    for part in info.parts:
        if part.instance in shaped:
            continue
        points = scene.triangles(part.path).points.astype(np.float64)
        low, high = points.min(axis=0), points.max(axis=0)
        if part.instance in free or (high - low).min() < _FLAT:
            box = np.diag([*(high - low) / 2, 1.0])
            box[:3, 3] = (low + high) / 2
            found.append((index[part.body], part.instance, _authored(scene, part.path) @ box))
    return Shapes(
        info,
        Boxes.of_transforms(np.array([pose for _, _, pose in found]).reshape(-1, 4, 4)),
        np.array([number for number, _, _ in found], dtype=np.intp),
        np.array([instance for _, instance, _ in found], dtype=np.intp),
    )


def _authored(scene: Scene, prim: str) -> Floats:
    return np.array(scene.authored(f"{prim}.xformOp:transform")).T
