from __future__ import annotations

import numpy as np
import pytest

from datagen.audit.diagnose.looks.light_fit import fit_scales
from datagen.audit.diagnose.looks.tone import (
    channel_order,
    chroma_exponent,
    development_exponent,
    level_exponent,
)
from datagen.audit.measure.flip import flip_map
from datagen.audit.measure.similarity import (
    histogram_distance,
    hue_shift,
    interior,
    luminance_ratio,
    psnr,
    ssim_map,
)
from datagen.shading.formula import Shading
from datagen.shading.lights import DisplayLight
from scenes import srgb_decode, srgb_encode

RNG = np.random.default_rng(7)
COLORS = RNG.uniform(0.1, 0.9, (40, 48, 3)).astype(np.float32)
ALL = np.ones((40, 48), dtype=np.bool_)


def blocks(size: int = 8) -> np.ndarray:
    """Colourful squares, [40, 48, 3], linear."""
    small = np.random.default_rng(3).uniform(0.05, 0.9, (40 // size, 48 // size, 3))
    return small.repeat(size, axis=0).repeat(size, axis=1).astype(np.float32)


def test_psnr_is_the_mean_square_in_decibel() -> None:
    assert psnr(COLORS, COLORS + np.float32(0.1)) == pytest.approx(20.0, abs=1e-3)
    assert psnr(COLORS, COLORS) == 99.0
    spoiled = COLORS.copy()
    spoiled[:20] = 0.0
    below = ALL.copy()
    below[:20] = False
    assert psnr(COLORS, spoiled, below) == 99.0


def test_ssim_is_one_for_equal_pictures_and_local_otherwise() -> None:
    spoiled = COLORS.copy()
    spoiled[:5, :5] = 0.5
    found = ssim_map(COLORS, spoiled)
    assert found.shape == (40, 48)
    assert found[0, 0] < 0.5
    np.testing.assert_allclose(found[20:, 20:], 1.0, atol=1e-6)


def test_flip_is_nothing_for_equal_pictures_and_local_otherwise() -> None:
    assert flip_map(COLORS, COLORS).max() < 1e-6
    grey = np.full((64, 64, 3), 0.5, np.float32)
    spot = grey.copy()
    spot[28:36, 28:36] = (1.0, 0.0, 0.0)
    found = flip_map(grey, spot)
    assert found.shape == (64, 64)
    assert found[32, 32] > 0.5
    assert found[2, 2] < 0.01


def test_luminance_ratio_has_no_value_for_black() -> None:
    assert luminance_ratio(COLORS, COLORS / 2) == pytest.approx(0.5, rel=1e-5)
    assert luminance_ratio(np.zeros_like(COLORS), COLORS) is None


def test_hue_turns_by_the_angle_between_colours() -> None:
    red, green = np.array([[0.8, 0.2, 0.2]]), np.array([[0.2, 0.8, 0.2]])
    assert hue_shift(red, red) == pytest.approx(0.0, abs=1e-6)
    turned = hue_shift(red, green)
    assert turned is not None and 80 < turned < 140
    assert hue_shift(red, np.array([[0.5, 0.5, 0.5]])) is None


def test_histogram_distance_is_how_far_levels_move() -> None:
    assert histogram_distance(COLORS, COLORS + np.float32(0.05)) == pytest.approx(0.05, abs=1e-4)
    assert histogram_distance(COLORS, COLORS[::-1]) == pytest.approx(0.0, abs=1e-6)


def test_interior_leaves_out_edges_and_background() -> None:
    part = np.zeros((6, 8), np.int32)
    part[:, 3:] = 2
    inside = interior(part)
    assert inside[:, 4:].all()
    assert not inside[:, :4].any()


def light(name: str, *, shines: bool = True) -> DisplayLight:
    dark = np.zeros(3)
    return DisplayLight(name, f"/World/{name}", dark, dark, dark, dark, shines=shines)


def shading(terms: np.ndarray, shines: tuple[bool, ...]) -> Shading:
    lights = tuple(light(f"l{k}", shines=on) for k, on in enumerate(shines))
    size = terms.shape[1:]
    return Shading(
        lights=lights,
        terms=terms.astype(np.float32),
        shine=np.zeros(size, np.float32),
        emitted=np.zeros(size, np.float32),
        lit=terms.sum(axis=0).astype(np.float32),
        base=np.ones(size, np.float32),
        seen=np.ones(size[:2], np.bool_),
    )


def test_the_strength_of_each_light_is_found() -> None:
    terms = RNG.uniform(0.05, 0.3, (3, 40, 48, 3))
    albedo = srgb_decode(COLORS.astype(np.float64)).astype(np.float32)
    picture = (1.1 * terms[0] + 0.5 * terms[1] + 1.0 * terms[2]) * COLORS
    scales = fit_scales(
        shading(terms, (True, True, False)), albedo, picture.astype(np.float32), ALL
    )
    assert [s.expected for s in scales] == [1.0, 1.0, 0.0]
    np.testing.assert_allclose([s.scale for s in scales], [1.1, 0.5, 1.0], atol=0.05)


def test_clipped_pixels_tell_nothing_of_lights() -> None:
    terms = RNG.uniform(0.3, 0.45, (1, 40, 48, 3))
    terms[:, :20] *= 4
    picture = np.clip(terms[0], 0, 1).astype(np.float32)
    white = np.ones((40, 48, 3), np.float32)
    (scale,) = fit_scales(shading(terms, (True,)), white, picture, ALL)
    assert scale.scale == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("exposure", [0.4, 0.6, 1.0, 1.6])
@pytest.mark.parametrize("exponent", [1.0, 1.3, 1 / 1.3, 2.2])
def test_a_curve_after_the_radiance_is_told_from_an_exposure(
    exponent: float, exposure: float
) -> None:
    radiance = np.random.default_rng(2).uniform(0.02, 1.2, (6000, 3))
    light = np.clip(radiance * exposure, 0.0, 1.0)
    # The curve of IEC 61966-2-1, written out.
    display = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    found = development_exponent(radiance, display**exponent)
    assert found == pytest.approx(exponent, rel=0.05 if exponent != 1.0 else 0.01)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.2])
def test_a_curve_between_levels_is_found(exponent: float) -> None:
    levels = COLORS.reshape(-1, 3).mean(axis=1, keepdims=True).repeat(3, axis=1)
    found = level_exponent(levels, levels**exponent)
    assert found == pytest.approx(exponent, rel=0.03)


@pytest.mark.parametrize("exponent", [1 / 2.2, 1.0, 2.2])
def test_a_curve_of_the_picture_shows_through_any_white_light(exponent: float) -> None:
    albedo = blocks()
    shade = np.linspace(0.2, 0.9, 48, dtype=np.float32)[None, :, None]
    shown = srgb_encode((albedo * shade).astype(np.float64)) ** exponent
    within = np.kron(np.ones((5, 6)), np.pad(np.ones((4, 4)), 2)).astype(np.bool_)
    found = chroma_exponent(shown.astype(np.float32), albedo, within)
    assert found == pytest.approx(exponent, rel=0.1)


def test_grey_surfaces_tell_nothing_of_curves_and_channels() -> None:
    grey = COLORS.mean(axis=2, keepdims=True).repeat(3, axis=2)
    assert chroma_exponent(grey, grey, ALL) is None
    assert channel_order(grey.reshape(-1, 3), grey.reshape(-1, 3)) is None


@pytest.mark.parametrize("order", ["bgr", "grb", "gbr", "brg", "rbg"])
def test_the_order_of_channels_is_named(order: str) -> None:
    colors = COLORS.reshape(-1, 3)
    shown = colors.copy()
    # Reading the candidate's channels in `order` gives red, green and blue.
    for channel, name in enumerate(order):
        shown[:, "rgb".index(name)] = colors[:, channel]
    found = channel_order(colors, shown)
    assert found is not None and found.order == order
    assert found.margin > 0.1
