"""Looks that few scenes have, path traced: emission and metal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from datagen.backends.base import Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from scenes import SampleLayer, convert_mjcf, srgb_decode

DARK = """
<mujoco><visual><headlight active="1" ambient="0 0 0" diffuse="0 0 0" specular="0 0 0"/></visual>
<asset>
<texture name="check" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="8" height="8"/>
<material name="lamp" rgba=".8 .4 .6 1" emission="{emission}"/>
<material name="sign" texture="check" texrepeat="2 2" emission="{emission}"/>
</asset><worldbody>
<geom type="plane" size="1 1 .1" pos="0 1 0" material="lamp"/>
<geom type="plane" size="1 1 .1" pos="0 -1 0" material="sign"/>
<camera name="c" pos="0 0 3" fovy="40"/></worldbody></mujoco>
"""
METAL = """
<mujoco><visual><headlight ambient="1 1 1" diffuse="0 0 0"/></visual><asset>
<material name="tin" rgba=".8 .4 .6 1" {values}/></asset><worldbody>
<light pos="0 0 3" dir="0 0 -1"/>
<geom type="plane" size="1 1 .1" material="tin"/>
<camera name="c" pos="0 -2 1.5" xyaxes="1 0 0 0 .6 .8" fovy="40"/></worldbody></mujoco>
"""


@pytest.fixture(scope="module")
def backend() -> MitsubaBackend:
    return MitsubaBackend(spp=16, denoise=False)


def pictures(backend: MitsubaBackend, folder: Path, xml: str) -> tuple[np.ndarray, np.ndarray]:
    folder.mkdir()
    (folder / "m.xml").write_text(xml)
    scene = convert_mjcf(folder / "m.xml", folder / "out")
    sample = SampleLayer(scene, "rest")
    if "active" in xml:
        sample.set("/World.datagen:fill", 0.0)
    backend.open(scene)
    backend.apply(sample)
    found = backend.render("c", Size(64, 64), {"hdr", "albedo"})
    backend.close()
    assert found.hdr is not None and found.albedo is not None
    return found.hdr, found.albedo


def test_emission_shows_the_display_colour_in_the_dark(
    backend: MitsubaBackend, tmp_path: Path
) -> None:
    full, _ = pictures(backend, tmp_path / "full", DARK.format(emission=1))
    assert np.allclose(full[8, 8], srgb_decode([0.8, 0.4, 0.6]), rtol=2e-3)
    red = np.all(np.abs(full[36:] - [1, 0, 0]) < 1e-2, axis=2)
    blue = np.all(np.abs(full[36:] - [0, 0, 1]) < 1e-2, axis=2)
    assert min(red.mean(), blue.mean()) > 0.15
    half, _ = pictures(backend, tmp_path / "half", DARK.format(emission=0.5))
    assert np.allclose(half[8, 8], srgb_decode(0.5) * srgb_decode([0.8, 0.4, 0.6]), rtol=2e-3)
    none, _ = pictures(backend, tmp_path / "none", DARK.format(emission=0))
    assert none.max() == 0.0


def test_metal_changes_the_picture_and_keeps_the_albedo(
    backend: MitsubaBackend, tmp_path: Path
) -> None:
    shown = {
        values: pictures(backend, tmp_path / str(number), METAL.format(values=values))
        for number, values in enumerate(("", 'metallic="1" roughness=".2"', 'roughness=".9"'))
    }
    (plain, albedo), (metal, metal_albedo), (rough, _) = shown.values()
    assert np.mean(np.abs(metal - plain)) > 0.02
    assert np.mean(np.abs(rough - plain)) > 1e-4
    np.testing.assert_allclose(metal_albedo, albedo, atol=1e-3)
