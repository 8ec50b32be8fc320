"""The meshes of a scene and where a sample puts them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pxr import Sdf

from datagen.labels.affine import Floats, compose, inverse
from datagen.labels.boxes import Box3D, box_around, extent
from datagen.labels.outlines import make_outline
from datagen.labels.silhouettes import Silhouette, silhouettes
from scenes import Pinhole, SampleLayer, Scene


@dataclass(frozen=True)
class Posed:
    """Where the drawn parts of a sample stand."""

    drawn: list[int]
    """Indices into the scene's part table of the parts that are not hidden."""
    T_body_part: Floats
    """Poses of the drawn parts in their bodies [m], [n, 4, 4]."""
    T_world_part: Floats
    """Poses of the drawn parts in the world [m], [n, 4, 4]."""
    T_world_object: dict[int, Floats]
    """Pose of each object's first body [m], [4, 4], for the objects with a drawn part."""


class Shapes:
    """Meshes of a scene, prepared once; remembers its last answers for the next backend."""

    def __init__(self, scene: Scene) -> None:
        self._parts = scene.info.parts
        triangles = [scene.triangles(part.path) for part in self._parts]
        self._outlines = [make_outline(each.points, each.faces) for each in triangles]
        self._switches = [_switches(scene, part.path) for part in self._parts]
        self._roots: dict[int, str] = {}
        for body in scene.info.bodies:
            self._roots.setdefault(body.instance, body.path)
        self._extents: dict[int, tuple[bytes, Floats]] = {}
        self._silhouettes: dict[str, tuple[bytes, dict[int, Silhouette]]] = {}

    def pose(self, sample: SampleLayer) -> Posed:
        """Place the meshes as a sample does."""
        drawn = [
            index
            for index, switches in enumerate(self._switches)
            if all(sample.get(switch) != "invisible" for switch in switches)
        ]
        parts = [self._parts[index] for index in drawn]
        T_world_body = {path: sample.pose(path) for path in {part.body for part in parts}}
        T_body_part = _stack([sample.pose(part.path) for part in parts])
        return Posed(
            drawn=drawn,
            T_body_part=T_body_part,
            T_world_part=compose(_stack([T_world_body[part.body] for part in parts]), T_body_part),
            T_world_object={
                instance: sample.pose(self._roots[instance])
                for instance in sorted({part.instance for part in parts})
            },
        )

    def silhouettes(self, posed: Posed, name: str, camera: Pinhole) -> dict[int, Silhouette]:
        """Whole silhouettes by instance number; an object outside the picture has none.

        Args:
            posed: Where the meshes stand.
            name: Name of the camera; its last answer is kept.
            camera: The view.
        """
        size = np.array([camera.width, camera.height, camera.near], dtype=np.float64)
        key = b"".join(
            array.tobytes()
            for array in (
                size,
                camera.K,
                camera.T_world_camera,
                np.array(posed.drawn),
                posed.T_world_part,
            )
        )
        last = self._silhouettes.get(name)
        if last is not None and last[0] == key:
            return last[1]
        found = silhouettes(
            [self._outlines[index] for index in posed.drawn],
            posed.T_world_part,
            [self._parts[index].instance for index in posed.drawn],
            camera,
        )
        self._silhouettes[name] = (key, found)
        return found

    def boxes(self, posed: Posed) -> dict[int, Box3D]:
        """Boxes around each object's drawn vertices, in the frame of its first body."""
        extents: dict[int, list[Floats]] = {instance: [] for instance in posed.T_world_object}
        inverses = dict(
            zip(extents, inverse(_stack(list(posed.T_world_object.values()))), strict=True)
        )
        for row, index in enumerate(posed.drawn):
            part = self._parts[index]
            # Not through the world for the first body: its box keeps its bits wherever it goes.
            T_object_part = (
                posed.T_body_part[row]
                if part.body == self._roots[part.instance]
                else compose(inverses[part.instance], posed.T_world_part[row])
            )
            extents[part.instance].append(self._extent(index, T_object_part))
        return {instance: box_around(each) for instance, each in extents.items()}

    def _extent(self, index: int, T_object_part: Floats) -> Floats:
        key = T_object_part.tobytes()
        last = self._extents.get(index)
        if last is not None and last[0] == key:
            return last[1]
        found = extent(self._outlines[index].points, T_object_part)
        self._extents[index] = (key, found)
        return found


def _switches(scene: Scene, part: str) -> list[str]:
    """Visibility attributes that can hide a part: its own and those above it."""
    prefixes = Sdf.Path(part).GetPrefixes()
    switches = [str(prefix.AppendProperty("visibility")) for prefix in prefixes]
    return [switch for switch in switches if scene.has(switch)]


def _stack(transforms: list[Floats]) -> Floats:
    return np.array(transforms, dtype=np.float64).reshape(-1, 4, 4)
