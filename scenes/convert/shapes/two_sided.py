"""Meshes that hold every triangle twice, once for each side."""

from __future__ import annotations

import numpy as np

from scenes.stage.mesh_prims import Triangles


def front_sides(triangles: Triangles) -> Triangles | None:
    """Take the front sides of a mesh whose second half repeats the first, turned round.

    Two triangles in one place are one surface seen from both sides; a path tracer would find
    either of them by chance.

    Returns:
        The first half of the faces with their vertices; None where the mesh is not like that.
    """
    count = len(triangles.faces) // 2
    front, back = triangles.faces[:count], triangles.faces[count:]
    if not count or len(front) != len(back):
        return None
    points = triangles.points
    for rows in (slice(0, 1), slice(None)):
        if not np.array_equal(points[front[rows]], points[back[rows, ::-1]]):
            return None
    used, faces = np.unique(front, return_inverse=True)
    return Triangles(
        points[used],
        faces.reshape(-1, 3).astype(np.int32),
        triangles.normals[used],
        None if triangles.st is None else triangles.st[used],
    )
