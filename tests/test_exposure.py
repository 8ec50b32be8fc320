"""One exposure per scene brings the main view to MuJoCo's brightness."""

from pathlib import Path

import numpy as np
import pytest

import scenes
from datagen.backends import Size
from datagen.backends.mitsuba import MitsubaBackend
from datagen.exposure import EXPOSURE, exposure_flags, scene_exposure
from datagen.shading import luminance, mujoco_shading
from scenes import SampleLayer, Scene, pinhole

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


def test_the_main_view_is_as_bright_as_mujocos_formula(room: Scene) -> None:
    backend = MitsubaBackend(spp=16, denoise=False, variant="llvm")
    backend.open(room)
    sample = SampleLayer(room, "rest")
    sample.set(EXPOSURE, scene_exposure(room, backend, "rest"))
    backend.apply(sample)
    size = Size(128, 128)
    seen = backend.render("main", size, {"rgb", "part", "position", "normal", "albedo"})
    assert seen.rgb is not None
    wanted = luminance(mujoco_shading(room, seen, pinhole(room, "main", *size)))
    assert luminance(seen.rgb) == pytest.approx(wanted, rel=0.01)


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
