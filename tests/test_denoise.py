"""The denoiser takes noise out of light and leaves texture alone."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from datagen.backends import Size
from datagen.backends.denoise import Denoiser
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mitsuba.config import MitsubaConfig
from scenes import SampleLayer, convert_mjcf

FINE = Path(__file__).parent / "cases" / "g12-fine-texture-denoised"


def test_noise_goes_and_fine_texture_stays() -> None:
    rng = np.random.default_rng(0)
    albedo = rng.uniform(0.1, 0.9, (128, 128, 1)).repeat(3, axis=2).astype(np.float32)
    normal = np.broadcast_to(np.array([0, 0, 1], np.float32), albedo.shape)
    clean = albedo * np.float32(0.7)
    noisy = clean * rng.gamma(4, 1 / 4, albedo.shape).astype(np.float32)
    found = Denoiser(threads=1)(noisy, albedo, np.ascontiguousarray(normal))
    before, after = (np.sqrt(np.mean((x - clean) ** 2)) for x in (noisy, found))
    assert after < before / 8
    texture = np.corrcoef(found[..., 0].ravel(), clean[..., 0].ravel())[0, 1]
    assert texture > 0.99


def test_each_size_gives_the_same_bytes_whatever_ran_before() -> None:
    rng = np.random.default_rng(1)

    def picture(side: int) -> tuple[np.ndarray, ...]:
        return tuple(rng.random((side, side, 3), dtype=np.float32) for _ in range(3))

    small, large = picture(32), picture(48)
    used = Denoiser(threads=1)
    used(*large)
    used(*picture(32))
    assert np.array_equal(used(*small), Denoiser(threads=1)(*small))


class Card(NamedTuple):
    """Grey pictures of a card with fine texture, [h, w], and the pixels that show it."""

    reference: np.ndarray
    """Of 256 samples, not denoised."""
    noisy: np.ndarray
    """Of the default samples, not denoised."""
    denoised: np.ndarray
    """Of default settings."""
    where: np.ndarray


@pytest.fixture(scope="module")
def card_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Card]:
    scene = convert_mjcf(FINE / "scene.xml", tmp_path_factory.mktemp("fine") / "scene")
    card = next(part.part for part in scene.info.parts if part.name == "card")

    @cache
    def of_side(side: int) -> Card:
        pictures, where = [], np.zeros(())
        for settings in ({"spp": 256, "denoise": False}, {"denoise": False}, {}):
            config = MitsubaConfig.model_validate({"variant": "llvm", **settings})
            backend = MitsubaBackend(**config.model_dump())
            backend.open(scene)
            backend.apply(SampleLayer(scene, "rest"))
            found = backend.render("cam", Size(side, side), {"rgb", "part"})
            assert found.rgb is not None and found.part is not None
            pictures.append(found.rgb.mean(axis=2))
            where = found.part == card
        reference, noisy, denoised = pictures
        return Card(reference, noisy, denoised, where)

    return of_side


@pytest.mark.parametrize("side", [64, 128])
def test_a_picture_of_default_settings_keeps_the_contrast_of_fine_texture(
    card_of: Callable[[int], Card], side: int
) -> None:
    low, high = json.loads((FINE / "case.json").read_text())["expect"]["rule"]["gradient_ratio"]
    card = card_of(side)
    # Stripes are on the left, speckle on the right; a bar or cell is `side` / 64 pixels wide.
    for half in (slice(0, side // 2), slice(side // 2, side)):
        where = card.where[:, half]
        both = where[:, 1:] & where[:, :-1]
        kept, true = (
            np.abs(np.diff(picture[:, half], axis=1))[both].mean()
            for picture in (card.denoised, card.reference)
        )
        assert low <= kept / true <= high


FINEST = pytest.mark.xfail(strict=True, reason="bars of one pixel lose contrast: 37.9 of 38.7 dB")


@pytest.mark.parametrize("side", [pytest.param(64, marks=FINEST), 128])
def test_a_denoised_picture_of_fine_texture_is_nearer_to_the_truth(
    card_of: Callable[[int], Card], side: int
) -> None:
    card = card_of(side)
    errors = [
        np.mean((picture - card.reference)[card.where] ** 2)
        for picture in (card.denoised, card.noisy)
    ]
    assert errors[0] < errors[1]
