from __future__ import annotations

import numpy as np

from scenes.convert.shapes.two_sided import front_sides
from scenes.stage.mesh_prims import Triangles

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]] * 2, np.float32)
NORMALS = np.repeat([[0, 0, 1], [0, 0, -1]], 4, axis=0).astype(np.float32)
FRONT = [[0, 1, 2], [1, 3, 2]]


def test_a_mesh_with_both_sides_is_its_front_side() -> None:
    back = [[6, 5, 4], [6, 7, 5]]
    front = front_sides(Triangles(POINTS, np.array(FRONT + back, np.int32), NORMALS, None))
    assert front is not None
    np.testing.assert_array_equal(front.points[front.faces], POINTS[np.array(FRONT)])
    np.testing.assert_array_equal(front.normals, NORMALS[:4])


def test_other_meshes_are_left_alone() -> None:
    for faces in (FRONT, [*FRONT, [5, 6, 4], [6, 7, 5]], [*FRONT, FRONT[0]]):
        triangles = Triangles(POINTS, np.array(faces, np.int32), NORMALS, None)
        assert front_sides(triangles) is None
