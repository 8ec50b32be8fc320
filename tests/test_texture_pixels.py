"""Textures without coordinates of their own lie as MuJoCo's renderer lays them."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import scenes
from datagen.backends import Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mujoco.backend import MujocoBackend
from scenes import SampleLayer, srgb_encode

pytestmark = pytest.mark.gl

VIEWS = {
    "px": ("3 .1 .2", "0 1 0 0 0 1"),
    "ny": (".1 -3 .2", "1 0 0 0 0 1"),
    "pz": (".1 .1 3", "1 0 0 0 1 0"),
    "nz": (".1 .1 -3", "-1 0 0 0 1 0"),
}
SHAPES = {
    "box": 'type="box" size=".5 .4 .3"',
    "sphere": 'type="sphere" size=".5"',
    "ellipsoid": 'type="ellipsoid" size=".5 .4 .3"',
    "cylinder": 'type="cylinder" size=".4 .5"',
    "capsule": 'type="capsule" size=".3 .4"',
    "plane": 'type="plane" size=".5 .4 .1"',
    "infinite": 'type="plane" size="0 0 .1"',
    "infinite_x": 'type="plane" size="0 .4 .1"',
    "infinite_y": 'type="plane" size=".5 0 .1"',
    "mesh": 'type="mesh" mesh="wedge" contype="0" conaffinity="0"',
}
WEDGE = "v -.5 -.4 0\nv .5 -.4 0\nv .5 .4 .3\nv -.5 .4 .3\nv 0 0 -.7\n" + "".join(
    f"f {face}\n" for face in ("1 2 3", "1 3 4", "2 1 5", "3 2 5", "4 3 5", "1 4 5")
)


@pytest.mark.parametrize("repeat", ['texrepeat="1 1"', 'texrepeat="2 3" texuniform="true"'])
@pytest.mark.parametrize("shape", SHAPES)
def test_texture_lies_as_in_mujoco(shape: str, repeat: str, tmp_path: Path) -> None:
    v, u = np.mgrid[0:256, 0:256]
    Image.fromarray(np.stack([u, v, 0 * u], axis=-1).astype(np.uint8)).save(tmp_path / "uv.png")
    (tmp_path / "wedge.obj").write_text(WEDGE)
    views = ["pz"] if 'type="plane"' in SHAPES[shape] else list(VIEWS)
    cameras = "".join(
        f'<camera name="{name}" pos="{VIEWS[name][0]}" xyaxes="{VIEWS[name][1]}" fovy="25"/>'
        for name in views
    )
    (tmp_path / "scene.xml").write_text(
        f"""<mujoco><asset><texture name="uv" type="2d" file="uv.png"/>
        <mesh name="wedge" file="wedge.obj"/><material name="m" texture="uv" {repeat}/></asset>
        <worldbody><geom {SHAPES[shape]} material="m"/>{cameras}</worldbody></mujoco>"""
    )
    scene = scenes.convert_mjcf(tmp_path / "scene.xml", tmp_path / "scene")
    ours = MitsubaBackend(spp=1, denoise=False, variant="llvm")
    theirs = MujocoBackend(colorspace="display", samples=0)
    for backend in (ours, theirs):
        backend.open(scene)
        backend.apply(SampleLayer(scene, "rest"))
    for name in views:
        a, b = (
            backend.render(name, Size(64, 64), {"albedo", "part"}) for backend in (ours, theirs)
        )
        assert a.albedo is not None and b.albedo is not None
        assert a.part is not None and b.part is not None
        shown = (a.part > 0) & (b.part > 0)
        difference = np.abs(srgb_encode(a.albedo) - srgb_encode(b.albedo))[shown][:, :2] * 255
        # Where the texture starts again, filters differ; most pixels lie elsewhere.
        around = np.minimum(difference, 256 - difference)
        assert np.median(around) < 2.5, name
    theirs.close()
