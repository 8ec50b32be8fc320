"""The denoiser takes noise out of light and leaves texture alone."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datagen.backends import Size
from datagen.backends.denoise import Denoiser
from datagen.backends.mitsuba import MitsubaBackend
from datagen.config import MitsubaConfig
from scenes import SampleLayer, Scene, convert_mjcf

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


@pytest.fixture(scope="module")
def fine(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return convert_mjcf(FINE / "scene.xml", tmp_path_factory.mktemp("fine") / "scene")


def on_the_card(scene: Scene, side: int, **settings: Any) -> tuple[np.ndarray, np.ndarray]:
    """Grey picture of a fine texture, [h, w], and the pixels that show it."""
    config = MitsubaConfig(variant="llvm", **settings)
    backend = MitsubaBackend(**config.model_dump())
    backend.open(scene)
    backend.apply(SampleLayer(scene, "rest"))
    found = backend.render("cam", Size(side, side), {"rgb", "part"})
    assert found.rgb is not None and found.part is not None
    card = next(part.part for part in scene.info.parts if part.name == "card")
    return found.rgb.mean(axis=2), found.part == card


@pytest.mark.parametrize("side", [96, 128])
def test_a_picture_of_default_settings_keeps_the_contrast_of_fine_texture(
    fine: Scene, side: int
) -> None:
    low, high = json.loads((FINE / "case.json").read_text())["expect"]["rule"]["gradient_ratio"]
    reference, card = on_the_card(fine, side, spp=256, denoise=False)
    noisy, _ = on_the_card(fine, side, denoise=False)
    denoised, _ = on_the_card(fine, side)
    # Stripes are on the left, speckle on the right.
    for half in (slice(0, side // 2), slice(side // 2, side)):
        both = card[:, half][:, 1:] & card[:, half][:, :-1]
        gradients = [
            np.abs(np.diff(picture[:, half], axis=1))[both].mean()
            for picture in (denoised, reference)
        ]
        assert low <= gradients[0] / gradients[1] <= high
    errors = [np.mean((picture - reference)[card] ** 2) for picture in (denoised, noisy)]
    assert errors[0] < errors[1]
