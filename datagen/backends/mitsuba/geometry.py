"""The parts of a scene as Mitsuba meshes, moved in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datagen.backends.mitsuba.materials import MaterialFactory
from scenes import Matrix, Scene, Triangles
from scenes.stage.info import PartInfo
from scenes.stage.looks import Look


class PartMeshes:
    """World-space meshes of all parts.

    Positions and normals are always written from rest data and the pose, never from what was
    there before, so that a frame does not depend on the frames before it. A part that is not shown
    is drawn in to a point. Of visible parts that coincide only the last is shown, as by MuJoCo.

    Args:
        mitsuba: The module, in the variant that renders.
        scene: The scene.
        looks: Look of each part.
    """

    def __init__(self, mitsuba: ModuleType, scene: Scene, looks: Sequence[Look]) -> None:
        self._mi = mitsuba
        parts = scene.info.parts
        rest = {part.part: scene.triangles(part.path) for part in parts}
        self._covers = covering_parts(scene, rest, looks)
        self._parts = list(parts)
        self._paths = [part.path for part in self._parts]
        self._rest: list[Triangles] = [rest[part.part] for part in self._parts]
        self._shown: list[tuple[Matrix, bool] | None] = [None] * len(self._paths)
        materials = MaterialFactory(mitsuba)
        self.shapes: dict[str, Any] = {
            f"part_{part.part}": self._mesh(
                part.part, triangles, self._bsdf(materials, look, triangles)
            )
            for part, triangles, look in zip(self._parts, self._rest, looks, strict=True)
        }

    @staticmethod
    def _bsdf(materials: MaterialFactory, look: Look, triangles: Triangles) -> Any:
        # Only what is seen through asks whether it is closed, which takes time.
        closed = look.least_opacity < 1.0 and is_closed(triangles)
        return materials.of(look, closed=closed)

    def move(self, parameters: Any, scene: Scene) -> bool:
        """Bring every mesh whose pose or visibility changed to the sample over the stage."""
        moved = False
        visible = {part.part for part in self._parts if scene.is_visible(part.path)}
        for index, pose in enumerate(scene.world_transforms(self._paths)):
            number = self._parts[index].part
            is_shown = number in visible and not visible & self._covers.get(number, set())
            shown = self._shown[index]
            if shown is not None and shown[1] == is_shown and np.array_equal(shown[0], pose):
                continue
            points, normals = placed(self._rest[index], pose)
            if not is_shown:
                points[:] = pose[:3, 3]
            _assign(parameters, f"part_{number}.vertex_positions", points)
            _assign(parameters, f"part_{number}.vertex_normals", normals)
            self._shown[index] = (pose, is_shown)
            moved = True
        return moved

    def _mesh(self, number: int, rest: Triangles, bsdf: Any) -> Any:
        properties = self._mi.Properties()
        properties["bsdf"] = bsdf
        mesh = self._mi.Mesh(
            f"part_{number}",
            vertex_count=len(rest.points),
            face_count=len(rest.faces),
            has_vertex_normals=True,
            has_vertex_texcoords=rest.st is not None,
            props=properties,
        )
        parameters = self._mi.traverse(mesh)
        _assign(parameters, "faces", rest.faces.astype(np.uint32))
        _assign(parameters, "vertex_positions", rest.points)
        _assign(parameters, "vertex_normals", rest.normals)
        if rest.st is not None:
            uv = np.stack([rest.st[:, 0], 1.0 - rest.st[:, 1]], axis=1)
            _assign(parameters, "vertex_texcoords", uv.astype(np.float32))
        parameters.update()
        return mesh


def covering_parts(
    scene: Scene, rest: Mapping[int, Triangles], looks: Sequence[Look]
) -> dict[int, set[int]]:
    """Opaque later parts of the same body, the same triangles and the same place, by part.

    Args:
        scene: The scene.
        rest: Triangles of each part by its number.
        looks: Look of each part.
    """
    alike: dict[tuple[str, bytes, int], list[PartInfo]] = {}
    poses = scene.world_transforms(part.path for part in scene.info.parts)
    for part, pose in zip(scene.info.parts, poses, strict=True):
        key = (part.body, pose.tobytes(), len(rest[part.part].points))
        alike.setdefault(key, []).append(part)
    covers: dict[int, set[int]] = {}
    for group in alike.values():
        for early, late in combinations(group, 2):
            opaque = looks[late.part - 1].least_opacity >= 1
            if opaque and _same_surface(rest[early.part], rest[late.part]):
                covers.setdefault(early.part, set()).add(late.part)
    return covers


def is_closed(triangles: Triangles) -> bool:
    """Tell whether a mesh encloses a volume: every edge is passed once in each direction."""
    points = triangles.points.astype(np.float64)
    # Where a round shape meets itself its points differ by rounding; zero lies in no cell's edge.
    cells = np.floor(points / max(np.ptp(points, axis=0).max(), 1e-12) * 1e5 + 0.25)
    _, place = np.unique(cells, axis=0, return_inverse=True)
    faces = place.reshape(-1)[triangles.faces].astype(np.int64)
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]
    count = int(faces.max(initial=0)) + 1
    forward, backward = (np.sort(edges @ [count, 1]), np.sort(edges @ [1, count]))
    return len(edges) > 0 and np.array_equal(forward, backward)


def _same_surface(first: Triangles, second: Triangles) -> bool:
    return np.array_equal(first.points, second.points) and np.array_equal(first.faces, second.faces)


def _assign(parameters: Any, key: str, values: NDArray[Any]) -> None:
    # The type of a mesh's buffers differs between variants.
    parameters[key] = type(parameters[key])(np.ascontiguousarray(values).ravel())


def placed(rest: Triangles, pose: Matrix) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """World points [m] and unit normals of a mesh at a pose, [n, 3] each."""
    points = rest.points.astype(np.float64) @ pose[:3, :3].T + pose[:3, 3]
    normals = rest.normals.astype(np.float64) @ np.linalg.inv(pose[:3, :3])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return points.astype(np.float32), normals.astype(np.float32)
