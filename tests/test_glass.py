"""What is seen through a pane is weakened by it once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import binary_erosion

import scenes
from datagen.backends import Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mitsuba.geometry import is_closed
from scenes import SampleLayer

CASE = Path(__file__).parent / "cases" / "x08-glass-once" / "scene.xml"
UNIFORM = '<material name="black_glass" rgba="0 0 0 .3" specular="0"/>'
TEXTURED = (
    '<texture name="o" type="2d" file="o.png"/><material name="black_glass" rgba="0 0 0 1" '
    'specular="0"><layer role="opacity" texture="o"/></material>'
)
PANE = '<geom name="pane" type="box" pos="0 0 .5" size=".3 .3 .02" material="black_glass"/>'
SHEET = '<geom name="pane" type="plane" pos="0 0 .5" size=".3 .3 .02" material="black_glass"/>'
HEADLIGHT = 'diffuse="0 0 0" specular="0 0 0"/>', 'diffuse=".8 .8 .8" specular="0 0 0"/>'
SIZE = Size(48, 48)


@pytest.fixture(scope="module")
def tracer() -> MitsubaBackend:
    return MitsubaBackend(spp=256, denoise=False, variant="llvm")


def shown(
    tracer: MitsubaBackend, folder: Path, *changes: tuple[str, str]
) -> tuple[np.ndarray, np.ndarray]:
    """Radiance of a changed case and where its pane is, away from its edges."""
    text = CASE.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    folder.mkdir()
    Image.fromarray(np.full((8, 8), 77, np.uint8)).save(folder / "o.png")
    (folder / "m.xml").write_text(text)
    scene = scenes.convert_mjcf(folder / "m.xml", folder / "scene")
    tracer.open(scene)
    tracer.apply(SampleLayer(scene, "rest"))
    buffers = tracer.render("top", SIZE, {"hdr", "part"})
    panes = [part.part for part in scene.info.parts if part.name == "pane"]
    return buffers.hdr, binary_erosion(np.isin(buffers.part, panes), iterations=2)


@pytest.mark.parametrize(
    "changes",
    [
        (),
        ((UNIFORM, TEXTURED),),
        ((PANE, SHEET),),
        ((PANE, SHEET), (UNIFORM, TEXTURED)),
        (HEADLIGHT,),
    ],
    ids=["pane", "textured pane", "sheet", "textured sheet", "under the headlight"],
)
def test_the_floor_keeps_seventy_percent_of_its_light_behind_glass_of_alpha_a_third(
    tracer: MitsubaBackend, tmp_path: Path, changes: tuple[tuple[str, str], ...]
) -> None:
    lights = tuple(change for change in changes if change == HEADLIGHT)
    without = (*lights, (PANE, ""))
    clear, _ = shown(tracer, tmp_path / "clear", *without)
    glass, where = shown(tracer, tmp_path / "glass", *changes)
    assert where.sum() > 100
    assert glass[where].mean() / clear[where].mean() == pytest.approx(0.7, abs=0.02)


def test_boxes_and_balls_are_closed_and_planes_are_not(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(
        '<mujoco><worldbody><geom name="box" type="box" size="1 1 1"/><geom name="ball" size="1"/>'
        '<geom name="can" type="cylinder" size="1 1"/><geom name="pill" type="capsule" size="1 1"/>'
        '<geom name="floor" type="plane" size="1 1 1"/></worldbody></mujoco>'
    )
    scene = scenes.convert_mjcf(path, tmp_path / "scene")
    closed = {part.name for part in scene.info.parts if is_closed(scene.triangles(part.path))}
    assert closed == {"box", "ball", "can", "pill"}
