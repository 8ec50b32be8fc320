"""How a texture lies, told from the colours that a side shows."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from datagen.audit.diagnose.looks.textures import TURNS, fit_turn, plain_turn, turned_colors
from scenes import srgb_decode

PLAIN = (200, 40, 90)


@pytest.fixture
def atlas(tmp_path: Path) -> Path:
    """Speckles in the left half, one colour in the right one."""
    rng = np.random.default_rng(0)
    texels = np.empty((64, 64, 3), dtype=np.uint8)
    texels[:, :32] = rng.integers(0, 2, (64, 32, 1)) * 255
    texels[:, 32:] = PLAIN
    Image.fromarray(texels).save(tmp_path / "atlas.png")
    return tmp_path / "atlas.png"


def speckled_points() -> np.ndarray:
    s, t = np.meshgrid(np.linspace(0.05, 0.45, 40), np.linspace(0.05, 0.95, 40))
    return np.stack([s.ravel(), t.ravel()], axis=1)


def test_a_flip_that_lands_on_a_plain_area_is_told_from_the_areas_colour(atlas: Path) -> None:
    colors = turned_colors(atlas, speckled_points())
    right = srgb_decode(colors[0, 0]).astype(np.float32)
    flipped = srgb_decode(colors[2, 0]).astype(np.float32)
    assert np.allclose(flipped, flipped[0])
    assert fit_turn(colors, right).best == 0
    turn = plain_turn(colors, right, flipped)
    assert turn is not None and TURNS[turn] in ("left to right", "turned by 180 degrees")


def test_a_missing_texture_is_no_turn(atlas: Path) -> None:
    colors = turned_colors(atlas, speckled_points())
    right = srgb_decode(colors[0, 0]).astype(np.float32)
    mean = np.broadcast_to(right.mean(axis=0), right.shape).astype(np.float32)
    assert plain_turn(colors, right, mean) is None
    assert plain_turn(colors, right, right) is None
