from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from scenes.sources.usd.polygons import COARSE, subdivided, triangulated

L_SHAPE = np.array([[0, 0, 0], [2, 0, 0], [2, 1, 0], [1, 1, 0], [1, 2, 0], [0, 2, 0]], float)


def doubled_areas(triangles: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])


@pytest.mark.parametrize("start", range(6))
@pytest.mark.parametrize("way", [1, -1])
def test_a_concave_polygon_is_covered_once_and_keeps_its_winding(start: int, way: int) -> None:
    polygon = np.roll(L_SHAPE, start, axis=0)[::way]
    corners, faces = triangulated(polygon, np.array([6]), np.arange(6))
    areas = doubled_areas(polygon[corners])[:, 2] / 2
    assert np.all(areas * way > 0)
    np.testing.assert_allclose(areas.sum(), 3.0 * way)
    assert faces.tolist() == [0] * 4


def test_a_concave_polygon_standing_upright_is_covered_once() -> None:
    for turn in range(3):
        polygon = np.roll(L_SHAPE, turn, axis=1)
        corners, _ = triangulated(polygon, np.array([6]), np.arange(6))
        areas = doubled_areas(polygon[corners])
        np.testing.assert_allclose(np.linalg.norm(areas, axis=1).sum() / 2, 3.0)


def test_faces_of_different_sizes_keep_their_order() -> None:
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0.5, 0]], float)
    corners, faces = triangulated(points, np.array([4, 3]), np.array([0, 1, 2, 3, 1, 4, 2]))
    assert faces.tolist() == [0, 0, 1]
    assert corners[2].tolist() == [4, 5, 6]


def test_a_coarse_mesh_is_cut_in_sixteen_on_the_same_surface() -> None:
    points = np.array([[0, 0, 0], [4, 0, 0], [4, 4, 0], [0, 4, 0]], float)
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    fine, cut, st = subdivided(points, faces, points[faces][..., :2] / 4)
    assert len(cut) == 32 and len(fine) == 25
    areas = doubled_areas(fine[cut])[:, 2] / 2
    np.testing.assert_allclose(areas, 0.5)
    np.testing.assert_allclose(st, fine[cut][..., :2] / 4)


def test_a_fine_mesh_is_left_alone() -> None:
    faces = np.tile([[0, 1, 2]], (COARSE + 1, 1))
    points, cut = subdivided(np.eye(3), faces)
    assert cut is faces and len(points) == 3
