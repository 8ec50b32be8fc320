"""One exposure per scene brings the main view to MuJoCo's brightness."""

from pathlib import Path

import numpy as np
import pytest

import scenes
from datagen.backends import Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mujoco.backend import MujocoBackend
from datagen.run.exposure import EXPOSURE, exposure_flags, scene_exposure
from datagen.shading.formula import luminance
from scenes import SampleLayer, Scene

ROOM = """<mujoco>
<visual><headlight diffuse=".3 .3 .3" ambient=".1 .1 .1" specular="0 0 0"/></visual>
<worldbody>
  <light pos="0 0 3" dir="0 0 -1" diffuse=".6 .6 .6" specular="0 0 0"/>
  <geom name="floor" type="plane" size="3 3 .1" rgba=".6 .5 .4 1"/>
  <geom name="box" type="box" size=".3 .3 .3" pos="0 0 .3" rgba=".2 .5 .8 1"/>
  <camera name="main" pos="0 -2 2" xyaxes="1 0 0 0 .7 .7" fovy="50"/>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("room")
    (folder / "room.xml").write_text(ROOM)
    return scenes.convert_mjcf(folder / "room.xml", folder / "scene")


TABLE = ROOM.replace(
    '<geom name="box" type="box" size=".3 .3 .3" pos="0 0 .3" rgba=".2 .5 .8 1"/>',
    '<geom name="top" type="box" size=".9 .9 .02" pos="0 0 .9" rgba=".7 .6 .4 1"/>',
)


@pytest.mark.gl
@pytest.mark.parametrize("model", [ROOM, TABLE], ids=["box", "floor in the shadow of a table"])
def test_the_main_view_is_as_bright_as_mujocos_picture(model: str, tmp_path: Path) -> None:
    (tmp_path / "room.xml").write_text(model)
    scene = scenes.convert_mjcf(tmp_path / "room.xml", tmp_path / "scene")
    backend = MitsubaBackend(spp=16, denoise=False, variant="llvm")
    backend.open(scene)
    sample = SampleLayer(scene, "rest")
    sample.set(EXPOSURE, scene_exposure(scene, backend, "rest"))
    found = []
    for each in (backend, MujocoBackend()):
        each.open(scene)
        each.apply(sample)
        rgb = each.render("main", Size(128, 128), {"rgb"}).rgb
        assert rgb is not None
        found.append(luminance(rgb))
    assert found[0] == pytest.approx(found[1], rel=0.04)


def test_the_exposure_is_kept_by_what_decides_it(room: Scene) -> None:
    backend = MitsubaBackend(spp=4, denoise=False, variant="llvm")
    backend.open(room)
    first = scene_exposure(room, backend, "rest")
    files = set(Path(room.folder).glob("exposure-*.json"))
    assert scene_exposure(room, backend, "rest") == first
    assert set(Path(room.folder).glob("exposure-*.json")) == files
    other = MitsubaBackend(spp=4, denoise=False, variant="llvm", max_depth=2)
    other.open(room)
    darker = scene_exposure(room, other, "rest")
    assert darker > first, "without bounce light the picture needs more exposure"
    assert np.isfinite(darker)


@pytest.mark.parametrize(
    ("exposure", "backend", "flags"),
    [
        (1.0, "mitsuba", ()),
        (0.1, "mitsuba", ()),
        (0.09, "mitsuba", ("unusual_exposure",)),
        (11.0, "mitsuba", ("unusual_exposure",)),
        (11.0, "mujoco", ()),
        (None, "mitsuba", ()),
    ],
)
def test_an_exposure_outside_its_range_flags_path_traced_views(
    exposure: float | None, backend: str, flags: tuple[str, ...]
) -> None:
    assert exposure_flags(exposure, backend) == flags
