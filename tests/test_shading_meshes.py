"""MuJoCo's formula at the vertices of meshes, against MuJoCo's own pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import binary_erosion

import scenes
from datagen.audit.measure.light_import import light_import
from datagen.audit.view import AUDIT_PASSES, Side, ViewPair
from datagen.backends import Size
from datagen.backends.mitsuba.backend import PASSES, MitsubaBackend
from datagen.backends.mujoco.backend import MUJOCO_PASSES, MujocoBackend
from datagen.labels import Labeler
from datagen.shading.formula import mujoco_shading
from scenes import SampleLayer

pytestmark = pytest.mark.gl
SIZE = Size(96, 72)
MODEL = """<mujoco>
<visual><headlight ambient=".1 .1 .1" diffuse=".1 .1 .1" specular="0 0 0"/></visual>
<asset><mesh name="table" file="table.obj"/></asset>
<worldbody>
  <light pos=".4 .1 .9" dir="0 0 -1" diffuse=".7 .7 .7" specular=".5 .5 .5" cutoff="80"
    exponent="2" castshadow="{shadow}"/>
  <geom name="table" type="mesh" mesh="table" rgba=".6 .5 .4 1"/>
  {more}
  <camera name="front" pos="0 -1.4 1.2" xyaxes="1 0 0 0 .7 .8" fovy="60"/>
</worldbody></mujoco>"""
TABLE = """v -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nv -1 -1 -.2\nv 1 -1 -.2\nv 1 1 -.2\nv -1 1 -.2
f 1 2 3\nf 1 3 4\nf 5 7 6\nf 5 8 7\nf 1 6 2\nf 1 5 6\nf 2 7 3\nf 2 6 7\nf 3 8 4\nf 3 7 8\nf 4 5 1
f 4 8 5
"""


def sides(folder: Path, shadow: str = "false", more: str = ""):
    (folder / "table.obj").write_text(TABLE)
    (folder / "m.xml").write_text(MODEL.format(shadow=shadow, more=more))
    scene = scenes.convert_mjcf(folder / "m.xml", folder / "scene")
    sample = SampleLayer(scene, "rest")
    labeler = Labeler(scene, {each.label: n for n, each in enumerate(scene.info.objects, 1)})
    tracer = MitsubaBackend(spp=1, denoise=False, variant="llvm", cull_back_faces=True)
    found = []
    for backend, passes in (
        (MujocoBackend(colorspace="display", samples=1), MUJOCO_PASSES),
        (tracer, PASSES - {"rgb", "hdr"}),
    ):
        backend.open(scene)
        backend.apply(sample)
        buffers = backend.render("front", SIZE, passes & {*AUDIT_PASSES})
        labels = labeler.labels(sample, "front", SIZE, buffers)
        found.append(Side(backend.name, buffers, labels))
    return scene, ViewPair(scene, "m", 0, 0, "front", SIZE, *found)


def test_a_large_triangle_is_lit_at_its_corners_as_in_mujocos_picture(tmp_path: Path) -> None:
    scene, pair = sides(tmp_path)
    buffers, view = pair.candidate.buffers, pair.candidate.labels.camera
    picture = pair.reference.buffers.rgb / 255.0
    inside = binary_erosion((pair.reference.buffers.part == 1) & (buffers.part == 1))
    at_vertices = mujoco_shading(scene, buffers, view)
    by_pixel = mujoco_shading(scene, replace(buffers, triangle=None), view)
    errors = [np.abs(each - picture)[inside].max() for each in (at_vertices, by_pixel)]
    assert errors[0] < 2.5 / 255
    assert errors[1] > 20 / 255


BALL = '<geom name="ball" pos="0 0 .3" size=".15" rgba=".2 .5 .8 1"/>'


def test_shadows_that_mujoco_draws_are_left_out_of_the_light_check(tmp_path: Path) -> None:
    _, pair = sides(tmp_path, "true", BALL)
    found = light_import(pair, None)
    assert found is not None
    assert found.agrees
    assert any("shadows" in note for note in found.notes)


def test_a_light_that_is_missing_everywhere_is_no_shadow(tmp_path: Path) -> None:
    _, pair = sides(tmp_path, "true", BALL)
    dark = tmp_path / "dark"
    dark.mkdir()
    _, unlit = sides(dark, "true", BALL.replace("/>", '/><light active="false" pos="0 0 9"/>'))
    path = unlit.scene.info.lights[0].path
    sample = SampleLayer(unlit.scene, "rest")
    sample.set(f"{path}.visibility", "invisible")
    backend = MujocoBackend(colorspace="display", samples=1)
    backend.open(unlit.scene)
    backend.apply(sample)
    rgb = backend.render("front", SIZE, {"rgb"}).rgb
    buffers = replace(pair.reference.buffers, rgb=rgb)
    pair.scene.show(SampleLayer(pair.scene, "rest"))
    found = light_import(replace(pair, reference=replace(pair.reference, buffers=buffers)), None)
    assert found is not None
    assert not found.agrees
