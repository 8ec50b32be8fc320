"""What an audit makes of parts that things are seen through."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from datagen.audit.measure.looks import compare_looks
from datagen.audit.measure.transparency import transparent_parts, transparent_pixels
from datagen.audit.view import AUDIT_PASSES, Side, ViewPair
from datagen.backends import Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mujoco.backend import MUJOCO_PASSES, MujocoBackend
from datagen.labels import Labeler
from scenes import SampleLayer, convert_mjcf

SIZE = Size(96, 96)
WINDOW = """
<mujoco>
  <asset>
    <texture name="squares" type="2d" file="squares.png"/>
    <material name="squares" texture="squares"/>
  </asset>
  <worldbody>
    <light pos="0 0 3" castshadow="false"/>
    <camera name="above" pos="0 0 2" fovy="40"/>
    <geom name="floor" type="plane" size="2 2 .1" material="squares"/>
    <geom name="pane" type="box" size=".2 .3 .01" pos="0 0 .5" rgba="0 .3 .6 .2"/>
  </worldbody>
</mujoco>
"""


@pytest.mark.gl
def test_colours_behind_a_transparent_part_are_left_out_and_it_is_said(tmp_path: Path) -> None:
    squares = np.random.default_rng(4).integers(40, 255, (12, 12, 3), dtype=np.uint8)
    picture = Image.fromarray(squares).resize((96, 96), Image.Resampling.NEAREST)
    picture.save(tmp_path / "squares.png")
    (tmp_path / "window.xml").write_text(WINDOW)
    scene = convert_mjcf(tmp_path / "window.xml", tmp_path / "scene")
    pane = next(each.part for each in scene.info.parts if each.name == "pane")
    assert transparent_parts(scene) == (pane,)
    sample = SampleLayer(scene, "rest")
    labeler = Labeler(scene, {each.label: n for n, each in enumerate(scene.info.objects, 1)})
    sides = []
    unlit = {*AUDIT_PASSES} - {"rgb", "hdr"}
    for backend, passes in (
        (MujocoBackend(colorspace="display"), MUJOCO_PASSES),
        (MitsubaBackend(spp=1, denoise=False, cull_back_faces=True), unlit),
    ):
        backend.open(scene)
        backend.apply(sample)
        buffers = backend.render("above", SIZE, set(AUDIT_PASSES) & passes)
        backend.close()
        labels = labeler.labels(sample, "above", SIZE, buffers)
        sides.append(Side(backend.name, buffers, labels))
    pair = ViewPair(scene, "window", 0, 0, "above", SIZE, *sides)
    blended = transparent_pixels(pair)
    assert blended is not None and sides[0].buffers.part is not None
    assert blended[sides[0].buffers.part == pane].all() and not blended.all()
    compared = compare_looks(pair)
    assert compared.findings == ()
    assert any("behind a transparent part" in note for note in compared.notes)
    assert compared.metrics["albedo.filtered_psnr"] > 40.0
    assert compared.metrics["light.psnr"] > 32.0
