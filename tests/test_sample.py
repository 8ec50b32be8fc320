"""What a sample takes as a value, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pxr import Gf

import scenes
from scenes import SampleLayer, Scene, SceneError

MODEL = """
<mujoco model="room">
  <worldbody>
    <light name="lamp" pos="0 0 2" dir="0 0 -1"/>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <body name="box" pos="0 0 .2"><freejoint/><geom name="b" type="box" size=".1 .1 .1"/></body>
    <camera name="cam" pos="0 -.9 1" xyaxes="1 0 0 0 .7 .7"/>
  </worldbody>
</mujoco>
"""
LAMP = "/World/lights/lamp"
BODY = "/World/box/box"
NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("room")
    (folder / "room.xml").write_text(MODEL)
    return scenes.convert_mjcf(folder / "room.xml", folder / "scene")


@pytest.fixture
def sample(scene: Scene) -> SampleLayer:
    return SampleLayer(scene, "rest")


@pytest.mark.parametrize(
    ("path", "value", "stored"),
    [
        (f"{LAMP}.inputs:color", (1, 0.5, 0), Gf.Vec3f(1, 0.5, 0)),
        (f"{LAMP}.inputs:color", np.array([1.0, 0.5, 0.0]), Gf.Vec3f(1, 0.5, 0)),
        (f"{LAMP}.inputs:intensity", 3, 3.0),
        (f"{LAMP}.inputs:intensity", np.float32(0.5), 0.5),
        (f"{LAMP}.visibility", "invisible", "invisible"),
        ("/World.datagen:headlight:active", False, False),
        (f"{BODY}.physics:principalAxes", Gf.Quatf(1), Gf.Quatf(1)),
        (f"{BODY}/b.points", [(0, 0, 0)], [Gf.Vec3f(0)]),
    ],
)
def test_a_value_of_the_attributes_type_is_kept(
    sample: SampleLayer, path: str, value: Any, stored: Any
) -> None:
    sample.set(path, value)
    found = sample.get(path)
    assert (list(found) == stored) if isinstance(stored, list) else (found == stored)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (f"{LAMP}.inputs:intensity", NAN, "float, finite"),
        (f"{LAMP}.inputs:intensity", INF, "float, finite"),
        (f"{LAMP}.inputs:intensity", 1e39, "float, finite"),
        (f"{LAMP}.inputs:intensity", 10**400, "float, finite"),
        (f"{LAMP}.inputs:intensity", None, "float, a number"),
        (f"{LAMP}.inputs:intensity", "a\nb", "float, a number"),
        (f"{LAMP}.inputs:intensity", True, "float, a number"),
        (f"{LAMP}.inputs:intensity", [1.0], "float, a number"),
        (f"{LAMP}.inputs:color", (1, 2), "color3f, 3 numbers"),
        (f"{LAMP}.inputs:color", 1.0, "color3f, 3 numbers"),
        (f"{LAMP}.inputs:color", None, "color3f, 3 numbers"),
        (f"{LAMP}.inputs:color", (1, NAN, 0), "color3f, finite"),
        (f"{LAMP}.inputs:color", (1, 1e300, 0), "color3f, finite"),
        (f"{LAMP}.inputs:color", Gf.Vec3f(INF), "color3f, finite"),
        (f"{LAMP}.inputs:color", [[1], [2, 3]], "color3f, 3 numbers"),
        (f"{LAMP}.inputs:color", "red", "color3f, a Vec3f"),
        (f"{LAMP}.visibility", "gone", "token, one of inherited, invisible"),
        (f"{LAMP}.visibility", None, "token, a text"),
        ("/World.datagen:headlight:active", 1.0, "bool, True or False"),
        ("/World/cameras/cam.clippingRange", Gf.Vec3f(1), "float2, 2 numbers"),
        (f"{BODY}.xformOp:transform", np.eye(4), "matrix4d, a Matrix4d"),
        (f"{BODY}.xformOp:transform", Gf.Matrix4d(NAN), "matrix4d, finite"),
        (f"{BODY}.physics:principalAxes", Gf.Quatf(NAN), "quatf, finite"),
        (f"{BODY}/b.points", [(0, 0)], "point3f, 3 numbers"),
        (f"{BODY}/b.points", 3, r"point3f\[\]"),
    ],
)
def test_any_other_value_is_refused_with_scene_path_value_and_type(
    sample: SampleLayer, path: str, value: Any, expected: str
) -> None:
    before, version = sample.get(path), sample.version
    with pytest.raises(
        SceneError, match=rf"^room: cannot set {path} to .*: expected {expected}\.$"
    ):
        sample.set(path, value)
    assert sample.version == version
    if path.endswith("points"):
        assert list(sample.get(path)) == list(before)
    else:
        assert sample.get(path) == before


@pytest.mark.parametrize("pose", [np.eye(3), None, "a", np.full((4, 4), "a"), np.full((4, 4), NAN)])
def test_a_pose_that_is_none_is_refused_with_its_prim(sample: SampleLayer, pose: Any) -> None:
    with pytest.raises(SceneError, match=rf"cannot set {BODY}\.xformOp:transform to "):
        sample.set_pose(BODY, pose)


@pytest.mark.parametrize(
    "path", [f"{LAMP}.nope", "/World/nope.visibility", BODY, "no path..", "", f"{LAMP}.purpose"]
)
def test_an_attribute_that_the_scene_lacks_is_no_phantom(
    scene: Scene, sample: SampleLayer, path: str
) -> None:
    text = sample.layer.ExportToString()
    with pytest.raises(SceneError, match="no such attribute"):
        sample.set(path, 1.0)
    assert sample.layer.ExportToString() == text
    scene.show(sample)
    assert not scene.stage.GetPrimAtPath("/World/nope")
