"""Which lights surfaces do not see, against closed forms."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import scenes
from datagen.backends import Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from scenes import SampleLayer, Scene

SIZE = Size(64, 48)
MODEL = """<mujoco><worldbody>
  <light name="sun" directional="true" dir="0 1 -1"/>
  <light name="lamp" pos="0 0 3" dir="0 0 -1" cutoff="90"/>
  <geom name="floor" type="plane" size="3 3 .1"/>
  <geom name="board" type="box" pos="0 0 1" size=".5 .5 .001"/>
  <camera name="top" pos="0 0 6" fovy="40"/>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("shadows")
    (folder / "m.xml").write_text(MODEL)
    return scenes.convert_mjcf(folder / "m.xml", folder / "scene")


def expected(position: np.ndarray) -> np.ndarray:
    """Floor in the shadow of the board: moved by its height under the sun, 1.5 times as large
    under the lamp."""
    x, y = position[..., 0], position[..., 1]
    sun = (np.abs(x) < 0.5) & (np.abs(y - 1.0) < 0.5)
    lamp = np.maximum(np.abs(x), np.abs(y)) < 0.75
    return np.stack([sun, lamp], axis=-1)


def test_a_board_shadows_the_floor_where_similar_triangles_say(scene: Scene) -> None:
    backend = MitsubaBackend(spp=1, denoise=False, variant="llvm")
    backend.open(scene)
    backend.apply(SampleLayer(scene, "rest"))
    found = backend.render("top", SIZE, {"shadowed", "position"})
    floor = np.abs(found.position[..., 2]) < 1e-3
    assert floor.mean() > 0.5
    np.testing.assert_array_equal(found.shadowed[floor], expected(found.position)[floor])
    assert not found.shadowed[~floor].any()


def test_the_scalar_variant_finds_the_same_shadows(scene: Scene, tmp_path: Path) -> None:
    script = f"""
import numpy as np
from pathlib import Path
from datagen.backends import Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from scenes import SampleLayer, Scene
scene = Scene.open(Path({str(scene.folder)!r}))
backend = MitsubaBackend(spp=1, denoise=False, variant="scalar")
backend.open(scene)
backend.apply(SampleLayer(scene, "rest"))
found = backend.render("top", Size(32, 24), {{"shadowed", "position"}})
np.savez(Path({str(tmp_path / "found.npz")!r}), s=found.shadowed, p=found.position)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    found = np.load(tmp_path / "found.npz")
    floor = np.abs(found["p"][..., 2]) < 1e-3
    np.testing.assert_array_equal(found["s"][floor], expected(found["p"])[floor])
