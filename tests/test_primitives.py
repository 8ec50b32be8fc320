from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from scenes.convert.shapes import primitives
from scenes.convert.shapes.primitives import Surface
from scenes.convert.shapes.tessellation import MUJOCO

SIZE = np.array([0.3, 0.2, 0.5])
# Area of a regular polygon of 28 corners inside the unit circle.
POLYGON = MUJOCO.slices / 2 * np.sin(2 * np.pi / MUJOCO.slices)
SOLIDS = {
    "box": (primitives.box(SIZE), 8 * SIZE.prod(), 0.0),
    "ellipsoid": (primitives.ellipsoid(SIZE), 4 / 3 * np.pi * SIZE.prod(), 0.03),
    "cylinder": (primitives.cylinder(0.3, 0.5), POLYGON * 0.3**2 * 1.0, 0.0),
    "capsule": (primitives.capsule(0.3, 0.5), np.pi * 0.3**2 * 1.0 + 4 / 3 * np.pi * 0.3**3, 0.02),
}


def volume(surface: Surface) -> float:
    a, b, c = np.moveaxis(surface.points[surface.faces], 1, 0)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


@pytest.mark.parametrize("name", SOLIDS)
def test_solid_is_closed_and_holds_its_volume(name: str) -> None:
    surface, expected, relative = SOLIDS[name]
    assert volume(surface) <= expected + 1e-12
    assert volume(surface) == pytest.approx(expected, rel=relative + 1e-12)
    _, welded = np.unique(np.round(surface.points, 9), axis=0, return_inverse=True)
    corners = welded.reshape(-1)[surface.faces]
    edges = Counter((int(f[i]), int(f[(i + 1) % 3])) for f in corners for i in range(3))
    assert all(edges[b, a] == count for (a, b), count in edges.items())


@pytest.mark.parametrize("name", SOLIDS)
def test_normals_are_unit_and_point_outward(name: str) -> None:
    surface, *_ = SOLIDS[name]
    assert np.allclose(np.linalg.norm(surface.normals, axis=1), 1.0)
    a, b, c = np.moveaxis(surface.points[surface.faces], 1, 0)
    for corner in range(3):
        facing = np.cross(b - a, c - a)
        assert np.all(np.einsum("ij,ij->i", facing, surface.normals[surface.faces[:, corner]]) > 0)


def test_sphere_has_mujocos_slices_and_stacks_on_its_surface() -> None:
    sphere = primitives.ellipsoid(np.full(3, 0.4))
    assert np.allclose(np.linalg.norm(sphere.points, axis=1), 0.4)
    assert len(np.unique(np.round(sphere.points[:, 2], 9))) == MUJOCO.stacks + 1
    equator = sphere.points[np.abs(sphere.points[:, 2]) < 1e-9]
    assert len(np.unique(np.round(equator, 9), axis=0)) == MUJOCO.slices
    assert np.allclose(equator[0], [0.4, 0, 0])


def test_ellipsoid_normals_are_those_of_the_smooth_surface() -> None:
    shape = primitives.ellipsoid(SIZE)
    gradient = shape.points / SIZE**2
    gradient /= np.linalg.norm(gradient, axis=1, keepdims=True)
    assert np.allclose(shape.normals, gradient, atol=1e-9)


def test_capsule_reaches_half_length_plus_radius() -> None:
    capsule = primitives.capsule(0.1, 0.4)
    assert np.allclose(capsule.points.max(axis=0), [0.1, 0.1, 0.5])
    assert np.allclose(capsule.points.min(axis=0), [-0.1, -0.1, -0.5])


def test_plane_faces_up_and_measures_textures_in_metres() -> None:
    plane = primitives.plane(2.0, 0.5, infinite=(False, False))
    assert np.allclose(np.ptp(plane.points, axis=0), [4.0, 1.0, 0.0])
    assert np.all(plane.normals == [0, 0, 1])
    assert np.array_equal(plane.coordinates, plane.points)


def test_box_measures_textures_in_half_extents() -> None:
    assert np.allclose(np.abs(primitives.box(SIZE).coordinates), 1.0)
