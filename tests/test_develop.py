"""What was traced becomes radiance and picture by closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datagen.backends.background import Background
from datagen.backends.develop import Centres, Finish, Traced, develop
from datagen.backends.headlight import HeadlightShine
from scenes import Pinhole, srgb_decode, srgb_encode
from scenes.stage.lights import Headlight, Surroundings
from scenes.stage.looks import Look
from scenes.stage.skybox import Skybox

SHAPE = (3, 4)
VIEW = Pinhole(np.array([[9.0, 0, 2], [0, 9, 1.5], [0, 0, 1]]), np.eye(4), 4, 3, 0.01, 100.0)
CENTRAL = replace(VIEW, K=np.array([[9.0, 0, 2.5], [0, 9, 1.5], [0, 0, 1]]))
"""The axis goes through the centre of row 1, column 2."""
PLAIN = Look(
    material="/World/materials/plain",
    base_color=np.full(3, 0.25),
    opacity=1.0,
    roughness=0.5,
    metallic=0.0,
    emission=np.zeros(3),
    reflectance=0.0,
    headlight_reflectance=0.0,
    specular=0.0,
    shininess=0.0,
    mirror=0.0,
    textures={},
)
DULL = Finish(np.zeros(2, np.float32), HeadlightShine([PLAIN], 0.2), None)
GREY = 0.25


def picture(*color: float) -> np.ndarray:
    return np.broadcast_to(np.array(color, np.float32), (*SHAPE, 3)).copy()


def surroundings(headlight: float = 0.0, exposure: float = 1.0) -> Surroundings:
    color = np.full(3, headlight)
    return Surroundings(Headlight(True, np.zeros(3), color, np.zeros(3)), 0.0, exposure)


def traced(*, part: int = 0, slope: float = 0.0, headlit: np.ndarray | None = None) -> Traced:
    """A grey plate that leans away from the camera, whose axis is z, by an angle [rad]."""
    normal = picture(np.sin(slope), 0.0, -np.cos(slope))
    centres = Centres(np.full(SHAPE, part, np.int32), normal)
    coverage = np.ones(SHAPE, np.float32)
    return Traced(
        picture(0.1, 0.2, 0.3), picture(GREY, GREY, GREY), normal, coverage, centres, headlit
    )


def test_light_is_exposed_and_encoded() -> None:
    found = develop(traced(), DULL, surroundings(exposure=2.0), VIEW, None)
    np.testing.assert_allclose(found.hdr, picture(0.2, 0.4, 0.6), rtol=1e-6)
    wanted = np.rint(255 * srgb_encode([0.2, 0.4, 0.6]))
    assert np.all(found.rgb == wanted) and found.rgb.dtype == np.uint8


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.2])
def test_the_headlight_adds_albedo_times_the_cosine_to_the_axis(slope: float) -> None:
    found = develop(traced(slope=slope), DULL, surroundings(0.6), VIEW, None)
    added = GREY * np.cos(slope) * srgb_decode(0.6)
    np.testing.assert_allclose(found.hdr - traced().light, added, rtol=1e-5)


def test_a_headlight_that_was_traced_takes_the_place_of_the_own() -> None:
    through = traced(headlit=picture(0.5, 0.0, 0.0))
    found = develop(through, DULL, surroundings(0.6), VIEW, None)
    np.testing.assert_allclose(
        found.hdr - through.light, picture(0.5 * float(srgb_decode(0.6)), 0, 0), atol=1e-6
    )


def test_a_part_glows_in_its_own_colour() -> None:
    glowing = replace(DULL, glow=np.array([0, 0.5], np.float32))
    lit = develop(traced(part=1), glowing, surroundings(), VIEW, None)
    np.testing.assert_allclose(lit.hdr - traced().light, 0.5 * GREY, rtol=1e-5)


def test_a_mirror_across_the_axis_shines_with_its_reflectance_over_four_alpha_squared() -> None:
    mirror = HeadlightShine([replace(PLAIN, headlight_reflectance=0.04)], 0.2)
    found = develop(traced(part=1), replace(DULL, shine=mirror), surroundings(0.6), CENTRAL, None)
    plain = develop(traced(part=1), DULL, surroundings(0.6), CENTRAL, None)
    # GGX at its peak is 1 / (pi alpha^2), and pi times the radiance is counted.
    added = 0.04 / (4 * 0.5**4) * srgb_decode(0.6)
    np.testing.assert_allclose((found.hdr - plain.hdr)[1, 2], added, rtol=1e-3)


def test_the_sky_fills_what_is_not_covered_and_takes_no_exposure() -> None:
    sky = Background(Skybox(np.full((6, 4, 4, 3), 128, np.uint8)))
    half = traced()._replace(coverage=np.full(SHAPE, 0.5, np.float32))
    found = develop(half, replace(DULL, background=sky), surroundings(exposure=2.0), VIEW, None)
    wanted = 2.0 * half.light + 0.5 * srgb_decode(128 / 255)
    np.testing.assert_allclose(found.hdr, wanted, rtol=1e-3)


def test_noise_is_taken_out_before_the_headlight_is_added() -> None:
    def black(light: np.ndarray, albedo: np.ndarray, normal: np.ndarray) -> np.ndarray:
        return np.zeros_like(light)

    found = develop(traced(), DULL, surroundings(0.6), VIEW, black)
    np.testing.assert_allclose(found.hdr, GREY * srgb_decode(0.6), rtol=1e-5)


def test_what_is_added_by_part_asks_for_the_parts() -> None:
    assert not DULL.takes_centres(surroundings().headlight)
    assert DULL.takes_centres(surroundings(0.6).headlight)
    without = traced()._replace(centres=None)
    develop(without, DULL, surroundings(), VIEW, None)
    with pytest.raises(ValueError, match="centres"):
        develop(without, DULL, surroundings(0.6), VIEW, None)
