from __future__ import annotations

import numpy as np
import pytest

from scenes.convert.shapes import primitives
from scenes.convert.shapes.primitives import Surface
from scenes.convert.shapes.texture_coordinates import Projection, cube_mapped, flat_st
from scenes.stage.mesh_prims import Triangles

SIZE = np.array([0.4, 0.1, 0.3])


def projection(repeat=(1.0, 1.0), *, uniform=False, metric=False, size=SIZE) -> Projection:
    return Projection(np.array(repeat), uniform, np.array(size), metric)


@pytest.mark.parametrize(
    ("surface", "layout", "tiles"),
    [
        (primitives.box(SIZE), projection((2.0, 3.0)), (2.0, 3.0)),
        (primitives.box(SIZE), projection((2.0, 3.0), uniform=True), (0.8, 0.3)),
        (
            primitives.plane(0.4, 0.1, (False, False)),
            projection((2.0, 3.0), metric=True),
            (2.0, 3.0),
        ),
        # 0.5 x repeat tiles per metre, over 0.8 and 0.2 metres.
        (
            primitives.plane(0.4, 0.1, (False, False)),
            projection((2.0, 3.0), metric=True, uniform=True),
            (0.8, 0.3),
        ),
        (
            primitives.plane(9.0, 9.0, (True, True)),
            projection((2.0, 3.0), metric=True, size=(0, 0, 1)),
            (18, 27),
        ),
    ],
)
def test_texture_repeats_so_often_across_the_geom(
    surface: Surface, layout: Projection, tiles: tuple[float, float]
) -> None:
    assert np.allclose(np.ptp(flat_st(surface, layout), axis=0), tiles, atol=1e-5)


def test_flat_st_runs_right_and_up() -> None:
    surface = primitives.plane(1.0, 1.0, (False, False))
    st = flat_st(surface, projection(metric=True, size=(1, 1, 1)))
    assert np.allclose(st, 0.5 + 0.5 * surface.points[:, :2])


def opengl_lookup(direction: np.ndarray) -> tuple[int, float, float]:
    """Side and texture coordinates, t down, of OpenGL's cube map (OpenGL 2.1, table 3.19)."""
    x, y, z = direction
    axis = int(np.abs(direction).argmax())
    s, t = {
        (0, True): (-z, -y), (0, False): (z, -y),
        (1, True): (x, z), (1, False): (x, -z),
        (2, True): (x, -y), (2, False): (-x, -y),
    }[axis, bool(direction[axis] > 0)]  # fmt: skip
    major = abs(direction[axis])
    return 2 * axis + (direction[axis] < 0), (s / major + 1) / 2, (t / major + 1) / 2


@pytest.mark.parametrize("stacked", [True, False])
@pytest.mark.parametrize("shape", ["box", "sphere", "cylinder"])
@pytest.mark.parametrize("uniform", [True, False])
def test_cube_texture_is_looked_up_as_opengl_does(shape: str, stacked: bool, uniform: bool) -> None:
    surface = {
        "box": primitives.box(SIZE),
        "sphere": primitives.ellipsoid(np.full(3, 0.2)),
        "cylinder": primitives.cylinder(0.2, 0.5),
    }[shape]
    size = {"box": SIZE, "sphere": np.full(3, 0.2), "cylinder": np.array([0.2, 0.2, 0.5])}[shape]
    laid = cube_mapped(surface, projection(uniform=uniform, size=size), stacked=stacked)
    centres = laid.points[laid.faces].mean(axis=1) / (1.0 if uniform else size)
    st = laid.st[laid.faces].mean(axis=1)
    for direction, (s, t_up) in zip(centres, st, strict=True):
        side, wanted_s, wanted_t = opengl_lookup(direction)
        if stacked:
            wanted_t = (side + wanted_t) / 6
        assert abs(s - wanted_s) < 0.02
        assert abs(1 - t_up - wanted_t) < 0.02


def area(triangles: Triangles | Surface) -> float:
    a, b, c = np.moveaxis(triangles.points[triangles.faces].astype(float), 1, 0)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)


@pytest.mark.parametrize("surface", [primitives.box(SIZE), primitives.capsule(0.2, 0.5)])
def test_cutting_for_a_cube_texture_keeps_every_surface(surface: Surface) -> None:
    laid = cube_mapped(surface, projection(), stacked=True)
    assert area(laid) == pytest.approx(area(surface), rel=1e-5)
    assert np.allclose(np.linalg.norm(laid.normals, axis=1), 1.0, atol=1e-6)
    assert laid.st.min() >= -1e-6 and laid.st.max() <= 1 + 1e-6
    # Every triangle stays within one of the six pictures below each other.
    t = (1 - laid.st[laid.faces][..., 1]) * 6
    assert np.all(t.max(axis=1) <= np.floor(t.mean(axis=1)) + 1 + 1e-4)
    assert np.all(t.min(axis=1) >= np.floor(t.mean(axis=1)) - 1e-4)
    assert set(np.floor(t.mean(axis=1))) == set(range(6))
