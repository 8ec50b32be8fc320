from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from datagen.backends.base import Size
from datagen.backends.mujoco.backend import MujocoBackend
from scenes import SampleLayer, Scene, convert_mjcf
from scenes.sources.mjcf.config import MjcfConfig

MODEL = """
<mujoco><worldbody><camera name="c" pos="0 0 5"/>
<geom name="floor" type="plane" size="3 3 .1"/>
<geom name="wall" type="box" size=".1 .1 .1" group="3"/>
<body name="bare" pos="1 0 1" euler="0 0 30"><freejoint/>
<geom name="shape" type="capsule" size=".1 .2" pos=".1 0 0" group="3" rgba="1 0 0 1"/></body>
<body name="mug"><geom name="seen" size=".2" contype="0" conaffinity="0"/>
<geom name="hidden" type="box" size=".1 .1 .1" group="3"/></body>
<body name="ghost" pos="-1 0 1"><geom name="clear" size=".3" rgba="1 1 1 0"/></body>
</worldbody></mujoco>
"""


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    (tmp_path / "m.xml").write_text(MODEL)
    return convert_mjcf(tmp_path / "m.xml", tmp_path / "out")


def caveats(scene: Scene) -> list[str]:
    return json.loads((scene.folder / "report.json").read_text(encoding="utf-8"))["caveats"]


def test_an_object_without_drawn_geoms_is_the_box_around_what_collides(scene: Scene) -> None:
    assert [part.name for part in scene.info.parts] == ["floor", "shape", "seen"]
    part = scene.info.parts[1]
    points = scene.triangles(part.path).points
    assert np.allclose(points.max(axis=0), [0.1, 0.1, 0.3])
    assert np.allclose(points.min(axis=0), [-0.1, -0.1, -0.3])
    box, proxy = scene.world_transforms([part.path, "/World/bare/bare/collision/geom_2"])
    assert np.allclose(box[:3, 3], proxy[:3, 3])


def test_the_caveat_is_there_for_boxes_only(scene: Scene, tmp_path: Path) -> None:
    found = [line for line in caveats(scene) if "box proxy" in line]
    assert [line.split(" shows")[0] for line in found] == ["object bare"]
    assert "not comparable across backends" in found[0]
    (tmp_path / "all.xml").write_text(MODEL.replace('pos=".1 0 0" group="3"', 'pos=".1 0 0"'))
    assert "box proxy" not in str(caveats(convert_mjcf(tmp_path / "all.xml", tmp_path / "all")))


def test_groups_that_the_source_names_stand(scene: Scene, tmp_path: Path) -> None:
    source = MjcfConfig(path=tmp_path / "m.xml", drawn_groups=(0,))
    again = convert_mjcf(tmp_path / "m.xml", tmp_path / "again", source=source)
    assert [part.name for part in again.info.parts] == ["floor", "seen"]
    assert "object bare: no geom of it is drawn; no picture shows it" in caveats(again)


@pytest.mark.gl
def test_mujoco_shows_the_geom_itself(scene: Scene) -> None:
    backend = MujocoBackend()
    backend.open(scene)
    backend.apply(SampleLayer(scene, "rest"))
    part = backend.render("c", Size(64, 64), {"part"}).part
    backend.close()
    assert part is not None and {1, 2, 3} <= set(part.ravel().tolist())
