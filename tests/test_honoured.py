"""Whatever a sample changes is in the picture or refused by its path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pxr import Gf, Sdf, UsdGeom

import scenes
from datagen.backends import Backend, Buffers, Size
from datagen.backends.errors import BackendError
from datagen.backends.honoured import Honoured
from datagen.backends.registry import backend_entries, open_backend
from datagen.labels.labeler import Labeler
from scenes import SampleLayer, Scene

MODEL = """
<mujoco model="room">
  <visual><headlight ambient=".1 .1 .1" diffuse=".3 .3 .3" specular=".4 .4 .4"/></visual>
  <asset>
    <texture name="t" type="2d" builtin="checker" width="16" height="16" rgb1="1 0 0" rgb2="0 1 0"/>
    <material name="checks" texture="t" specular=".6" shininess=".3"/>
    <material name="plain" rgba=".2 .4 .8 1" specular=".6" shininess=".3"/>
  </asset>
  <worldbody>
    <light name="spot" pos=".2 0 1" dir="-.1 0 -1" cutoff="30" exponent="5" diffuse=".5 .4 .3"
      ambient=".05 .05 .05"/>
    <light name="sun" pos="1 1 2" dir="-1 -1 -2" type="directional" diffuse=".3 .3 .3"/>
    <geom name="floor" type="plane" size="1 1 .1" material="checks"/>
    <body name="box" pos="0 0 .2"><freejoint/>
      <geom name="b" type="box" size=".1 .1 .1" material="plain"/>
      <geom name="knob" type="sphere" size=".08" pos="0 0 .15" material="plain"/></body>
    <camera name="cam" pos="0 -.9 1" xyaxes="1 0 0 0 .7 .7" fovy="50"/>
  </worldbody>
</mujoco>
"""
SIZE = Size(64, 48)
TABLES = {name: entry.honours() for name, entry in backend_entries().items()}
MARKS = {"mujoco": pytest.mark.gl, "newton": pytest.mark.newton}
OPTIONS: dict[str, dict[str, Any]] = {
    "mitsuba": {"variant": "llvm", "spp": 4, "denoise": False},
    "mujoco": {},
    "newton": {},
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("room")
    (folder / "room.xml").write_text(MODEL)
    found = scenes.convert_mjcf(folder / "room.xml", folder / "scene")
    # As a USD file may state it.
    knob = UsdGeom.Imageable(found.stage.GetPrimAtPath("/World/box/box/knob"))
    knob.CreateVisibilityAttr("inherited")
    return found


@pytest.fixture(scope="module", params=[pytest.param(n, marks=MARKS.get(n, ())) for n in TABLES])
def backend(request: pytest.FixtureRequest, scene: Scene) -> Backend:
    found = open_backend(request.param, OPTIONS[request.param])
    found.open(scene)
    request.addfinalizer(found.close)
    return found


def see(backend: Backend, sample: SampleLayer) -> Buffers:
    backend.apply(sample)
    return backend.render("cam", SIZE, {"rgb", "part", "depth"})


def same(first: Buffers, second: Buffers) -> bool:
    pairs = [(getattr(first, name), getattr(second, name)) for name in ("rgb", "part", "depth")]
    return all(np.array_equal(one, other) for one, other in pairs)


def other_value(spec: Sdf.AttributeSpec) -> Any:
    """A value of the attribute's type that is not its own."""
    value = spec.default if spec.default is not None else spec.typeName.defaultValue
    if spec.name == "visibility":
        return "inherited" if value == "invisible" else "invisible"
    if spec.name == "clippingRange":
        return Gf.Vec2f(1.2, 20.0)
    if isinstance(value, bool):
        return not value
    if isinstance(value, Gf.Matrix4d):
        turn = Gf.Matrix4d().SetRotate(Gf.Rotation(Gf.Vec3d(1, 0, 0), 4.0))
        return turn * value * Gf.Matrix4d().SetTranslate(Gf.Vec3d(0.05, 0.03, 0.02))
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 0.5 + 0.17
    if isinstance(value, str):
        return {"rightHanded": "leftHanded", "none": "loop", "guide": "render", "Z": "X"}.get(
            value, "other"
        )
    if isinstance(value, Sdf.AssetPath):
        return "other.png"
    if isinstance(value, Gf.Quatf):
        return Gf.Quatf(0.6, 0.8, 0.0, 0.0)
    if type(value).__module__.endswith("Vt"):
        return list(value)[:-1]
    return type(value)(*(each * 0.5 + 0.17 for each in value))


def test_every_attribute_is_seen_or_refused(scene: Scene, backend: Backend) -> None:
    table = TABLES[backend.name]
    before = see(backend, SampleLayer(scene, "rest"))
    layer, paths = scene.stage.GetRootLayer(), []
    layer.Traverse(Sdf.Path.absoluteRootPath, paths.append)
    specs = [layer.GetAttributeAtPath(path) for path in paths if path.IsPropertyPath()]
    ignored, seen = [], 0
    for spec in (each for each in specs if each):
        if spec.name in table.neutral or spec.name.startswith(("physics:", "state:")):
            continue
        sample = SampleLayer(scene, "rest")
        sample.set(str(spec.path), other_value(spec))
        try:
            shown = see(backend, sample)
        except BackendError as error:
            assert str(spec.path) in str(error) and backend.name in str(error)
            continue
        seen += 1
        if same(before, shown):
            ignored.append(str(spec.path))
    assert not ignored, ignored
    assert seen > 25
    assert same(before, see(backend, SampleLayer(scene, "rest")))


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_neutral_attributes_are_few_and_stated(table: Honoured) -> None:
    assert table.neutral <= {"horizontalAperture", "datagen:fill", "datagen:exposure"}


@pytest.mark.parametrize("hidden", ["/World/box/box/knob", "/World/box"])
def test_labels_and_pictures_follow_visibility(scene: Scene, backend: Backend, hidden: str) -> None:
    numbers = {part.part for part in scene.info.parts if part.path.startswith(hidden)}
    sample = SampleLayer(scene, "rest")
    whole = see(backend, sample)
    assert numbers <= set(np.unique(whole.part))
    labeler = Labeler(scene, {each.label: each.instance for each in scene.info.objects})
    before = {o.name: o for o in labeler.labels(sample, "cam", SIZE, whole).objects}
    sample = SampleLayer(scene, "rest")
    sample.set(f"{hidden}.visibility", "invisible")
    buffers = see(backend, sample)
    assert not numbers & set(np.unique(buffers.part))
    assert not np.array_equal(buffers.rgb, whole.rgb)
    after = {o.name: o for o in labeler.labels(sample, "cam", SIZE, buffers).objects}
    if hidden == "/World/box":
        assert "box" not in after
    else:
        assert after["box"].pixels_total < before["box"].pixels_total
        assert after["box"].loose_box[1] > before["box"].loose_box[1]
        assert after["box"].box.size[2] < before["box"].box.size[2]
