"""The parts of a scene as Mitsuba meshes, moved in place."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datagen.backends.mitsuba_materials import MaterialFactory
from scenes import Matrix, Scene, Triangles


class PartMeshes:
    """World-space meshes of all parts.

    Positions and normals are always written from rest data and the pose, never from what was
    there before, so that a frame does not depend on the frames before it.
    """

    def __init__(self, mitsuba: ModuleType, scene: Scene) -> None:
        self._mi = mitsuba
        self._paths = [part.path for part in scene.info.parts]
        self._rest: list[Triangles] = [scene.triangles(path) for path in self._paths]
        self._shown: list[Matrix | None] = [None] * len(self._paths)
        materials = MaterialFactory(mitsuba, scene)
        self.shapes: dict[str, Any] = {
            f"part_{number}": self._mesh(number, rest, materials.of(path))
            for number, (path, rest) in enumerate(zip(self._paths, self._rest, strict=True), 1)
        }

    def move(self, parameters: Any, scene: Scene) -> bool:
        """Bring every mesh whose pose changed to the sample over the stage."""
        moved = False
        for index, pose in enumerate(scene.world_transforms(self._paths)):
            shown = self._shown[index]
            if shown is not None and np.array_equal(shown, pose):
                continue
            points, normals = placed(self._rest[index], pose)
            key = f"part_{index + 1}"
            _assign(parameters, f"{key}.vertex_positions", points)
            _assign(parameters, f"{key}.vertex_normals", normals)
            self._shown[index] = pose
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


def _assign(parameters: Any, key: str, values: NDArray[Any]) -> None:
    # The type of a mesh's buffers differs between variants.
    parameters[key] = type(parameters[key])(np.ascontiguousarray(values).ravel())


def placed(rest: Triangles, pose: Matrix) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """World points [m] and unit normals of a mesh at a pose, [n, 3] each."""
    points = rest.points.astype(np.float64) @ pose[:3, :3].T + pose[:3, 3]
    normals = rest.normals.astype(np.float64) @ np.linalg.inv(pose[:3, :3])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return points.astype(np.float32), normals.astype(np.float32)
