from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from scenes import SampleLayer, Scene, SceneError, camera_path, convert_mjcf, pinhole
from scenes.sources.mjcf.config import MjcfConfig

MODEL = """
<mujoco><statistic extent="3"/><worldbody>
<camera name="still" pos="1 2 3" xyaxes="0 1 0 0 0 1" fovy="40"/>
<camera name="measured" pos="0 0 2" sensorsize="0.02 0.01" focal="0.03 0.04"
        principal="0.001 0.002" resolution="640 480"/>
<camera name="flat" projection="orthographic" fovy="2"/>
<camera pos="0 0 9"/>
<body name="arm" pos="1 0 1" euler="0 30 0"><joint name="j" axis="0 0 1"/><geom size=".1"/>
<camera name="hand" pos="0 .1 .2" euler="10 20 30"/>
<camera name="aim" mode="targetbody" target="goal" pos="0 0 .5"/>
<camera name="track" mode="trackcom" pos="0 -1 .5"/></body>
<body name="goal" pos="-1 0 0"><geom size=".1"/></body>
</worldbody><keyframe><key name="turned" qpos="1.2"/></keyframe></mujoco>
"""
WIDTH, HEIGHT = 320, 200


@pytest.fixture(scope="module", params=[None, "turned"])
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("cameras")
    (folder / "m.xml").write_text(MODEL)
    source = MjcfConfig(path=folder / "m.xml", keyframe=request.param)
    scene = convert_mjcf(folder / "m.xml", folder / "out", source=source)
    scene.show(SampleLayer(scene, scene.info.default_state))
    return scene


def posed(scene: Scene) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = scene.load_model()
    data = mujoco.MjData(model)
    if scene.info.default_state == "turned":
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return model, data


@pytest.mark.parametrize("camera", ["still", "camera_3", "hand", "aim", "track", "measured"])
def test_camera_stands_where_mujoco_has_it_in_every_state(scene: Scene, camera: str) -> None:
    _, data = posed(scene)
    number = next(c.camera_id for c in scene.info.cameras if c.name == camera)
    T = pinhole(scene, camera, WIDTH, HEIGHT).T_world_camera
    assert np.allclose(T[:3, 3], data.cam_xpos[number], atol=1e-12)
    # OpenCV's axes: x right, y down, z forward; MuJoCo's: x right, y up, looking along -z.
    axes = data.cam_xmat[number].reshape(3, 3) * [1, -1, -1]
    assert np.allclose(T[:3, :3], axes, atol=1e-12)


def test_carried_cameras_hang_on_their_body_and_following_ones_do_not(scene: Scene) -> None:
    assert camera_path(scene, "hand") == "/World/arm/arm/hand"
    assert camera_path(scene, "aim") == "/World/cameras/aim"
    assert camera_path(scene, "still") == "/World/cameras/still"


def test_focal_length_follows_from_the_vertical_field_of_view(scene: Scene) -> None:
    lens = pinhole(scene, "still", WIDTH, HEIGHT)
    focal = HEIGHT / 2 / np.tan(np.radians(20))
    assert np.allclose(
        lens.K, [[focal, 0, WIDTH / 2], [0, focal, HEIGHT / 2], [0, 0, 1]], rtol=1e-6
    )
    assert lens.near == pytest.approx(0.01 * 3)


@pytest.mark.parametrize("camera", ["still", "measured", "hand"])
@pytest.mark.parametrize(("width", "height"), [(320, 200), (100, 100), (64, 200)])
def test_intrinsics_are_mujocos_frustum(scene: Scene, camera: str, width: int, height: int) -> None:
    model, data = posed(scene)
    view = mujoco.MjvCamera()
    view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, model.camera(camera).id
    drawn = mujoco.MjvScene(model, 100)
    everything = mujoco.mjtCatBit.mjCAT_ALL
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, view, everything, drawn)
    eye = drawn.camera[0]
    tall = eye.frustum_top - eye.frustum_bottom
    half = eye.frustum_width or 0.5 * tall * width / height
    lens = pinhole(scene, camera, width, height)
    assert lens.K[0, 0] == pytest.approx(eye.frustum_near * width / (2 * half), rel=1e-6)
    assert lens.K[1, 1] == pytest.approx(eye.frustum_near * height / tall, rel=1e-6)
    assert lens.K[0, 2] == pytest.approx(width / 2 - eye.frustum_center * width / (2 * half), 1e-6)
    assert lens.K[1, 2] == pytest.approx(height * eye.frustum_top / tall, rel=1e-6)


def test_orthographic_camera_is_in_the_stage_but_gives_no_pinhole(scene: Scene) -> None:
    prim = scene.stage.GetPrimAtPath(camera_path(scene, "flat"))
    assert prim.GetAttribute("projection").Get() == "orthographic"
    with pytest.raises(SceneError, match="camera 'flat' is orthographic"):
        pinhole(scene, "flat", WIDTH, HEIGHT)


def test_unknown_camera_is_answered_with_the_known_ones(scene: Scene) -> None:
    with pytest.raises(SceneError, match=r"no camera 'fornt'\. Known: still, measured"):
        camera_path(scene, "fornt")


def test_camera_without_a_field_of_view_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "scene.xml"
    path.write_text(
        '<mujoco><worldbody><geom type="sphere" size=".1"/><camera name="shut" fovy="0"/>'
        "</worldbody></mujoco>"
    )
    scene = convert_mjcf(path, tmp_path / "scene")
    with pytest.raises(SceneError, match="'shut' has a field of view of 0"):
        pinhole(scene, "shut", 32, 24)
