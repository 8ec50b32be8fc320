"""A picture against its own labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from datagen.audit.measure.registration import creases, registration

K = np.array([[100.0, 0.0, 64.0], [0.0, 100.0, 48.0], [0.0, 0.0, 1.0]])
HEIGHT, WIDTH = 96, 128


def labels(dx: float = 0.0, dy: float = 0.0, sx: float = 1.0, sy: float = 1.0, fine: int = 1):
    """Part map of discs and a bar, drawn `fine` times as finely, moved and stretched."""
    rows, columns = (np.mgrid[0 : HEIGHT * fine, 0 : WIDTH * fine] + 0.5) / fine
    x, y = (columns - 64 - dx) / sx + 64, (rows - 48 - dy) / sy + 48
    part = np.ones(x.shape, dtype=np.int32)
    for number, (cx, cy, r) in enumerate([(30, 30, 14), (95, 35, 18), (60, 70, 16)], 2):
        part[(x - cx) ** 2 + (y - cy) ** 2 < r * r] = number
    part[np.abs(0.6 * (x - 64) + 0.8 * (y - 20)) < 4] = 5
    return part


def picture(**moved: float) -> np.ndarray:
    """A picture of those labels with smooth light, fine noise and antialiased edges."""
    colors = np.array([0.0, 0.45, 0.9, 0.2, 0.7, 0.1])
    fine = colors[labels(**moved, fine=4)]
    smooth = fine.reshape(HEIGHT, 4, WIDTH, 4).mean(axis=(1, 3))
    rng = np.random.default_rng(1)
    light = 1.0 + 0.3 * gaussian_filter(rng.normal(size=smooth.shape), 20) / 0.014
    light = np.clip(light, 0.6, 1.2)
    shown = smooth * light + rng.normal(size=smooth.shape) * 0.01
    return (np.clip(np.stack([shown] * 3, axis=2), 0, 1) * 255).astype(np.uint8)


def flat() -> np.ndarray:
    return np.zeros((HEIGHT, WIDTH), dtype=np.bool_)


def test_a_picture_in_place_lies_within_a_fraction_of_a_pixel() -> None:
    found = registration(picture(), labels(), flat())
    assert found is not None
    assert found.displacement < 0.3


@pytest.mark.parametrize(
    ("moved", "shift", "stretch"),
    [
        ({"dx": 1.5}, (1.5, 0.0), (0.0, 0.0)),
        ({"dy": -6.0}, (0.0, -6.0), (0.0, 0.0)),
        ({"sy": 1.4}, (0.0, 0.0), (0.0, 0.4)),
        ({"sx": 0.75}, (0.0, 0.0), (-0.25, 0.0)),
        ({"sx": 1.1, "sy": 1.1, "dx": 2.0}, (2.0, 0.0), (0.1, 0.1)),
    ],
    ids=["right", "up", "taller", "narrower", "larger"],
)
def test_a_moved_or_stretched_picture_is_measured(moved, shift, stretch) -> None:
    found = registration(picture(**moved), labels(), flat())
    assert found is not None
    np.testing.assert_allclose(found.shift, shift, atol=0.4)
    np.testing.assert_allclose(found.stretch, stretch, atol=0.02)
    assert found.displacement > 1.0


def test_a_picture_without_contrast_says_nothing() -> None:
    grey = np.full((HEIGHT, WIDTH, 3), 120, dtype=np.uint8)
    assert registration(grey, labels(), flat()) is None


def test_a_fold_of_a_surface_is_a_crease_and_a_slanted_plane_is_none() -> None:
    part = np.ones((HEIGHT, WIDTH), dtype=np.int32)
    columns = np.arange(WIDTH) + 0.5
    slanted = 1.0 / (1.0 + 0.004 * (columns - 64))
    folded = 1.0 / (1.0 + 0.006 * np.abs(columns - 64))
    plane, fold = (np.tile(each.astype(np.float32), (HEIGHT, 1)) for each in (slanted, folded))
    assert not creases(part, plane, K).any()
    bent = creases(part, fold, K)
    assert bent[:, 63:65].any()
    assert not bent[:, :60].any()


@pytest.mark.gl
def test_the_audit_names_the_side_whose_picture_is_off(tmp_path: Path) -> None:
    from audit_scene import SCENE

    import scenes
    from bench.faults_looks import other_lens
    from bench.planted import Stand
    from datagen.audit.measure.registration import compare_registration
    from datagen.backends import Size

    (tmp_path / "table.xml").write_text(SCENE)
    scene = scenes.convert_mjcf(tmp_path / "table.xml", tmp_path / "scene")
    stand = Stand.of(scene, "rest", "side", Size(192, 144))
    clean = stand.pair(stand.reference)
    assert compare_registration(clean).findings == ()
    assert compare_registration(clean).metrics["registration.px"] < 1.0
    faulty, subject = other_lens(clean, stand.fresh(), 20)
    (finding,) = compare_registration(faulty).findings
    assert (finding.kind, finding.subject) == ("picture_registration", subject)
    turned = replace(clean, reference=faulty.candidate)
    (finding,) = compare_registration(turned).findings
    assert finding.subject == "picture of candidate"
    stand.close()
