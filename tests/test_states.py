from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from pxr import Usd

from scenes import SampleLayer, Scene, SceneError, convert_mjcf
from scenes.convert.states import Placement, posed, write_state
from scenes.sources.mjcf.config import MjcfConfig

MODEL = """
<mujoco><worldbody>
<body name="cube" pos="0 0 1"><freejoint/><geom type="box" size=".1 .1 .1"/>
<body name="lid" pos="0 0 .1"><joint name="h" axis="1 0 0"/><geom size=".05"/></body></body>
<body name="goal" mocap="true" pos="0 2 0"><geom size=".1"/></body>
</worldbody></mujoco>
"""
QPOS = [0.3, 0.2, 0.5, 0.6, 0.0, 0.8, 0.0, 0.7]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    (tmp_path / "m.xml").write_text(MODEL)
    return convert_mjcf(tmp_path / "m.xml", tmp_path / "out")


def test_state_holds_the_world_pose_of_every_body(scene: Scene) -> None:
    model = scene.load_model()
    placement = Placement(QPOS, [[0, 2.5, 0.1]], [[0, 1, 0, 0]])
    write_state(scene.folder, scene.info, model, "moved", placement)
    data = mujoco.MjData(model)
    data.qpos[:], data.mocap_pos[:], data.mocap_quat[:] = QPOS, [0, 2.5, 0.1], [0, 1, 0, 0]
    mujoco.mj_forward(model, data)
    scene = Scene.open(scene.folder)
    assert scene.state_names == ("moved", "rest")
    assert np.array_equal(scene.state("moved").qpos, QPOS)
    scene.show(SampleLayer(scene, "moved"))
    for body in scene.info.bodies:
        (T,) = scene.world_transforms([body.path])
        assert np.array_equal(T[:3, 3], data.xpos[body.body_id])
        assert np.array_equal(T[:3, :3], data.xmat[body.body_id].reshape(3, 3))


def test_base_layer_stands_at_qpos0_whatever_the_state(scene: Scene) -> None:
    scene.show(None)
    (T,) = scene.world_transforms(["/World/cube/cube"])
    assert np.allclose(T[:3, 3], [0, 0, 1])


def test_state_layer_is_replaced_whole_and_leaves_nothing_else(scene: Scene) -> None:
    model = scene.load_model()
    for _ in range(2):
        write_state(scene.folder, scene.info, model, "again", Placement(QPOS))
    names = sorted(file.name for file in (scene.folder / "states").iterdir())
    assert names == ["again.usda", "rest.usda"]


def test_state_makes_no_prim(scene: Scene) -> None:
    base = Usd.Stage.Open(str(scene.folder / "base.usdc"))
    stacked = Usd.Stage.Open(str(scene.folder / "scene.usda"))
    assert [p.GetPath() for p in stacked.Traverse()] == [p.GetPath() for p in base.Traverse()]


JOINTED = """
<mujoco><compiler angle="radian"/><worldbody>
<body name="box"><geom type="box" size=".2 .2 .2"/>
  <body name="drawer"><joint name="pull" type="slide" axis="0 1 0" ref=".05"/><geom size=".1"/>
    <body name="knob"><joint name="turn" axis="0 0 1" ref=".25"/><geom size=".02"/>
      <body name="tip"><joint name="tip" type="ball"/><geom size=".01"/></body></body></body>
</body></worldbody>
<keyframe><key name="open" qpos=".3 1.75 0 .6 0 .8"/></keyframe></mujoco>
"""


def test_state_holds_the_position_of_every_hinge_and_slide_from_qpos0(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(JOINTED)
    source = MjcfConfig(path=tmp_path / "m.xml", keyframe="open")
    scene = convert_mjcf(source.path, tmp_path / "out", source=source)
    assert [(joint.name, joint.kind, joint.qpos, joint.qpos0) for joint in scene.info.joints] == [
        ("pull", "slide", 0, 0.05),
        ("turn", "hinge", 1, 0.25),
        ("tip", "ball", 2, None),
    ]
    stage = Usd.Stage.Open(str(scene.folder / "scene.usda"))
    place, turn = (
        stage.GetAttributeAtPath(f"/World/box/joints/{name}.state:{axis}:physics:position").Get()
        for name, axis in (("pull", "linear"), ("turn", "angular"))
    )
    assert place == pytest.approx(0.25, abs=1e-7)
    assert turn == pytest.approx(1.5 * 180 / np.pi, abs=1e-5)


def test_state_and_sample_state_only_attributes_of_the_base_layer(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(JOINTED)
    source = MjcfConfig(path=tmp_path / "m.xml", keyframe="open")
    scene = convert_mjcf(source.path, tmp_path / "out", source=source)
    sample = SampleLayer(scene, "open")
    base = scene.stage.GetRootLayer()
    assert sum("physics:position" in path.name for path in sample.paths) == 2
    for path in sample.paths:
        there, here = base.GetAttributeAtPath(path), sample.layer.GetAttributeAtPath(path)
        assert there is not None and there.typeName == here.typeName
    assert scene.authored("/World/box/joints/turn.state:angular:physics:position") == 0.0


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        (Placement([0.0] * 3), r"qpos has shape \(3,\), the model needs \(8,\)"),
        (Placement([*QPOS[:7], np.nan]), r"qpos\[7\] = nan is not finite"),
        (Placement(QPOS, [[0, np.inf, 0]]), r"mocap_pos\[1\] = inf is not finite"),
        (Placement(QPOS, None, [[1, 0, 0]]), r"mocap_quat has shape \(1, 3\)"),
    ],
)
def test_placement_that_does_not_fit_is_refused(placement: Placement, message: str) -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    with pytest.raises(SceneError, match=message):
        posed(model, placement)


@pytest.mark.parametrize("file", ["scene.json", "base.usdc"])
def test_scene_with_a_broken_file_is_refused_with_the_remedy(tmp_path: Path, file: str) -> None:
    (tmp_path / "m.xml").write_text(MODEL)
    broken = convert_mjcf(tmp_path / "m.xml", tmp_path / "made").folder.rename(tmp_path / "out")
    (broken / file).write_bytes((broken / file).read_bytes()[:60])
    with pytest.raises(SceneError, match=rf"{file}: .*remove the folder"):
        Scene.open(broken)


def test_poses_of_many_free_bodies_take_none_of_the_space_for_contacts() -> None:
    """And are those that MuJoCo computes with it."""
    body = '<body pos="{0} 0 1" euler="{0} 20 0"><freejoint/><geom size=".1"/></body>'
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{''.join(body.format(k) for k in range(700))}</worldbody></mujoco>"
    )
    assert model.narena > 2**29
    data = posed(model, Placement(model.qpos0))
    assert data.narena < 2**25
    known = mujoco.MjData(model)
    mujoco.mj_kinematics(model, known)
    np.testing.assert_array_equal(data.xpos, known.xpos)
    np.testing.assert_array_equal(data.geom_xmat, known.geom_xmat)


FOLLOWERS = """
<mujoco><worldbody>
<light name="lamp" mode="track" pos="0 0 3" dir="0 0 -1"/>
<body name="cube" pos="0 0 1"><freejoint/><geom type="box" size=".1 .1 .1" pos=".1 0 0"/>
<camera name="track" mode="track" pos="0 -1 .5"/>
<camera name="com" mode="trackcom" pos="0 -1 .5"/>
<camera name="aim" mode="targetbody" target="goal" pos="0 .2 .5"/>
<camera name="aimcom" mode="targetbodycom" target="goal" pos="0 .2 .5"/>
<light name="spot" mode="targetbody" target="goal" pos="0 0 1"/></body>
<body name="goal" pos="0 2 0"><geom size=".1"/></body>
</worldbody></mujoco>
"""


def test_what_follows_a_body_goes_with_it_in_every_state(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(FOLLOWERS)
    scene = convert_mjcf(tmp_path / "m.xml", tmp_path / "out")
    model = scene.load_model()
    moves = {"near": [0.3, 0.2, 0.5, 0.6, 0, 0.8, 0], "far": [-2, 1, 0.7, 0, 0.6, 0, 0.8]}
    for name, qpos in moves.items():
        write_state(scene.folder, scene.info, model, name, Placement(qpos))
    scene = Scene.open(scene.folder)
    stood: dict[str, list[np.ndarray]] = {}
    for name in ("rest", "near", "far"):
        data = mujoco.MjData(model)
        data.qpos[:] = moves.get(name, model.qpos0)
        mujoco.mj_forward(model, data)
        scene.show(SampleLayer(scene, name))
        for camera in scene.info.cameras:
            (T,) = scene.world_transforms([camera.path])
            np.testing.assert_allclose(T[:3, 3], data.cam_xpos[camera.camera_id], atol=1e-12)
            axes = data.cam_xmat[camera.camera_id].reshape(3, 3)
            np.testing.assert_allclose(T[:3, :3], axes, atol=1e-12)
            stood.setdefault(camera.name, []).append(T)
        for light in scene.info.lights:
            (T,) = scene.world_transforms([light.path])
            np.testing.assert_allclose(T[:3, 3], data.light_xpos[light.light_id], atol=1e-12)
            np.testing.assert_allclose(-T[:3, 2], data.light_xdir[light.light_id], atol=1e-12)
    for first, second, third in stood.values():
        assert not np.allclose(first, second) and not np.allclose(second, third)
