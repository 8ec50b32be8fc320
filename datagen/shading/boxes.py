"""Boxes as MuJoCo lights them: at the corners of a few quads per face, with the rest interpolated.

On a large box the difference to lighting every pixel is visible where a spot light's cone ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from pxr import UsdGeom

from scenes import Matrix, Scene

Floats = NDArray[np.float64]
QUADS = 4
"""Quads along each edge of a face; MuJoCo's default `vis.quality.numquads`."""
_CORNERS = QUADS + 1
_BOX_POINTS = (24, 30)
_sizes: WeakKeyDictionary[Scene, dict[int, Floats]] = WeakKeyDictionary()


@dataclass(frozen=True)
class BoxGrid:
    """Lighting points of a box and how to interpolate between them."""

    size: Floats
    """Half extents [m], [3]."""
    T_world_box: Matrix

    def corners(self) -> tuple[Floats, Floats]:
        """World points [m] and unit normals of all corners of quads, [6 * 25, 3] each."""
        axis = np.linspace(-1.0, 1.0, _CORNERS)
        points, normals = np.zeros((6, _CORNERS, _CORNERS, 3)), np.zeros((6, 3))
        for face in range(6):
            across, sign = face // 2, 1.0 - 2.0 * (face % 2)
            first, second = (across + 1) % 3, (across + 2) % 3
            points[face, ..., across] = sign
            points[face, ..., first] = axis[:, None]
            points[face, ..., second] = axis[None, :]
            normals[face, across] = sign
        rotation, shift = self.T_world_box[:3, :3], self.T_world_box[:3, 3]
        world = (points.reshape(-1, 3) * self.size) @ rotation.T + shift
        return world, np.repeat(normals @ rotation.T, _CORNERS * _CORNERS, axis=0)

    def interpolate(self, values: Floats, points: Floats, normals: Floats) -> Floats:
        """Values at points on the box, from those at `corners`.

        Args:
            values: Values at the corners, [6 * 25, c].
            points: World points on the surface [m], [n, 3].
            normals: World unit normals there, [n, 3].
        """
        rotation, shift = self.T_world_box[:3, :3], self.T_world_box[:3, 3]
        unit = ((points - shift) @ rotation) / self.size
        facing = normals @ rotation
        across = np.argmax(np.abs(facing), axis=1)
        rows = np.arange(len(points))
        face = 2 * across + (facing[rows, across] < 0)
        u, v = (
            (np.clip(unit[rows, (across + step) % 3], -1.0, 1.0) + 1.0) * QUADS / 2
            for step in (1, 2)
        )
        i, j = (np.minimum(x.astype(np.int64), QUADS - 1) for x in (u, v))
        s, t = (u - i)[:, None], (v - j)[:, None]
        table = values.reshape(6, _CORNERS, _CORNERS, -1)
        return (table[face, i, j] * (1 - s) + table[face, i + 1, j] * s) * (1 - t) + (
            table[face, i, j + 1] * (1 - s) + table[face, i + 1, j + 1] * s
        ) * t


def box_sizes(scene: Scene) -> dict[int, Floats]:
    """Half extents [m] of the parts that are boxes, by part number.

    A box is converted as six faces of four corners each, textured ones with a centre too. No
    sample moves this, so it is read once.
    """
    if scene not in _sizes:
        _sizes[scene] = _read_sizes(scene)
    return _sizes[scene]


def _read_sizes(scene: Scene) -> dict[int, Floats]:
    found: dict[int, Floats] = {}
    for part in scene.info.parts:
        prim = UsdGeom.Mesh(scene.stage.GetPrimAtPath(part.path))
        if len(prim.GetPointsAttr().Get()) > max(_BOX_POINTS):
            continue
        mesh = scene.triangles(part.path)
        if len(mesh.points) not in _BOX_POINTS:
            continue
        size = np.abs(mesh.points).max(axis=0).astype(np.float64)
        axis = np.argmax(np.abs(mesh.normals), axis=1)
        rows = np.arange(len(mesh.points))
        height = mesh.points[rows, axis] * np.sign(mesh.normals[rows, axis])
        square = np.abs(mesh.normals[rows, axis]) > 1.0 - 1e-6
        flat = np.abs(height - size[axis]) <= 1e-5 * size[axis]
        sides = {(int(a), n > 0) for a, n in zip(axis, mesh.normals[rows, axis], strict=True)}
        if np.all(size > 0) and square.all() and flat.all() and len(sides) == 6:
            found[part.part] = size
    return found
