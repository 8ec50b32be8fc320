from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from pxr import UsdGeom

from datagen.backends import Buffers, Size
from datagen.errors import DatagenError
from datagen.labels import Labeler, ObjectLabel, ViewLabels, shapes
from scenes import SampleLayer, Scene, convert_mjcf, pinhole
from scenes.stage.info import RobotInfo
from scenes.stage.matrices import rotation_from_quaternion

CASES = Path(__file__).parent / "cases"

ARM = """
<mujoco>
  <worldbody>
    <body name="arm" pos="0 0 0.1">
      <joint name="turn" type="hinge" axis="0 0 1"/>
      <geom name="base" type="box" size="0.1 0.1 0.1"/>
      <body name="hand" pos="0.3 0 0.2">
        <joint name="lift" type="slide" axis="0 0 1"/>
        <geom name="palm" type="box" size="0.05 0.02 0.03"/>
      </body>
    </body>
    <body name="cube" pos="0 0.6 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
    <camera name="top" pos="0 0 3" fovy="60"/>
  </worldbody>
</mujoco>
"""


def number_classes(scene: Scene) -> dict[str, int]:
    return {name: i for i, name in enumerate(sorted({o.label for o in scene.info.objects}), 1)}


def ray_parts(scene: Scene, camera: str, size: Size) -> NDArray[np.int32]:
    """Part map by MuJoCo's own rays through the pixel centres."""
    model = scene.load_model()
    data = mujoco.MjData(model)
    data.qpos[:] = scene.state(scene.info.default_state).qpos
    mujoco.mj_forward(model, data)
    view = pinhole(scene, camera, *size)
    part_of_geom = {part.geom_id: part.part for part in scene.info.parts}
    parts = np.zeros((size.height, size.width), np.int32)
    hit = np.zeros(1, np.int32)
    for row, column in np.ndindex(parts.shape):
        ray = np.linalg.solve(view.K, [column + 0.5, row + 0.5, 1.0])
        direction = view.T_world_camera[:3, :3] @ ray
        start = view.T_world_camera[:3, 3] + view.near * direction
        if mujoco.mj_ray(model, data, start, direction, None, 1, -1, hit) >= 0:
            parts[row, column] = part_of_geom[int(hit[0])]
    return parts


class Bench:
    """A scene with its labeler and the part maps of MuJoCo's rays."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.labeler = Labeler(scene, number_classes(scene))
        self.sample = SampleLayer(scene, scene.info.default_state)

    def see(self, camera: str, size: Size, rgb: NDArray[np.uint8] | None = None) -> ViewLabels:
        self.scene.show(self.sample)
        buffers = Buffers(part=ray_parts(self.scene, camera, size), rgb=rgb)
        return self.labeler.labels(self.sample, camera, size, buffers)

    def see_nothing(self, camera: str, size: Size) -> ViewLabels:
        buffers = Buffers(part=np.zeros((size.height, size.width), np.int32))
        return self.labeler.labels(self.sample, camera, size, buffers)


def by_name(view: ViewLabels) -> dict[str, ObjectLabel]:
    return {label.name: label for label in view.objects}


def expected(case: str) -> dict[str, Any]:
    return json.loads((CASES / case / "case.json").read_text())["expect"]


@pytest.fixture
def arm(tmp_path: Path) -> Bench:
    model = tmp_path / "arm.xml"
    model.write_text(ARM)
    return Bench(convert_mjcf(model, tmp_path / "arm"))


@pytest.mark.parametrize(
    ("case", "key"),
    [("d05-background-depth", "img"), ("d07-boxes-half-open", "img"), ("d08-occlusion", "img")],
)
def test_visible_pixels_and_boxes_are_those_of_the_case(
    tmp_path: Path, case: str, key: str
) -> None:
    bench = Bench(convert_mjcf(CASES / case / "scene.xml", tmp_path / "scene"))
    for camera, truth in expected(case)[key].items():
        view = bench.see(camera, Size(*truth["size_wh"]))
        labels = by_name(view)
        for name, numbers in truth["objects"].items():
            box = numbers["tight_box_half_open_xyxy"]
            assert labels[name].pixels_visible == numbers["visible_pixels"], name
            assert labels[name].tight_box == (tuple(box) if box else None), name
        assert (view.instance == 0).sum() == truth["background_pixels"]
        np.testing.assert_array_equal(view.instance == 0, view.part == 0)
        np.testing.assert_array_equal(view.instance == 0, view.semantic == 0)


def test_whole_silhouettes_of_unhidden_boxes_are_what_rays_see(tmp_path: Path) -> None:
    case = "d07-boxes-half-open"
    bench = Bench(convert_mjcf(CASES / case / "scene.xml", tmp_path / "scene"))
    labels = by_name(bench.see_nothing("top", Size(80, 60)))
    for name, numbers in expected(case)["img"]["top"]["objects"].items():
        assert labels[name].pixels_total == numbers["visible_pixels"], name
    assert labels["outside"].loose_box is None
    assert labels["behind"].loose_box is None
    assert labels["behind"].occlusion is None
    half = 60 * 0.1 / 0.999
    np.testing.assert_allclose(
        labels["centre"].loose_box, (40 - half, 30 - half, 40 + half, 30 + half), rtol=1e-4
    )
    assert labels["corner"].loose_box is not None
    assert labels["corner"].loose_box[2:] == (80, 60)
    assert labels["dot"].loose_box is not None


def test_occlusion_is_the_hidden_share_of_the_whole_silhouette(tmp_path: Path) -> None:
    bench = Bench(convert_mjcf(CASES / "d08-occlusion" / "scene.xml", tmp_path / "scene"))
    labels = by_name(bench.see("top", Size(96, 72)))
    assert labels["hidden"].occlusion == 1.0
    assert labels["hidden"].pixels_total > 0
    assert labels["screen"].occlusion == 0.0
    assert labels["below_gap"].occlusion == 1.0
    # Seen are the top face at depth 1.79 m and the side face down to 1.81 m.
    focal = 36 / np.tan(np.radians(25))
    x0, x1 = 48 + focal * 0.25 / 1.81, 48 + focal * 0.65 / 1.79
    y0, y1 = 36 - focal * 0.1 / 1.79, 36 + focal * 0.1 / 1.79
    total = (np.ceil(x1 - 0.5) - np.ceil(x0 - 0.5)) * (np.ceil(y1 - 0.5) - np.ceil(y0 - 0.5))
    assert labels["half"].pixels_total == total
    assert labels["half"].occlusion == pytest.approx(1 - 96 / total)
    np.testing.assert_allclose(labels["half"].loose_box, (x0, y0, x1, y1), rtol=1e-4)


def test_instances_are_objects_and_keep_their_numbers_in_every_view(tmp_path: Path) -> None:
    case = "d09-instances-and-stable-ids"
    bench = Bench(convert_mjcf(CASES / case / "scene.xml", tmp_path / "scene"))
    numbers: dict[str, set[int]] = {}
    for camera, truth in expected(case)["by_object"].items():
        view = bench.see(camera, Size(*truth["size_wh"]))
        labels = by_name(view)
        for name, values in truth["objects"].items():
            label = labels["table" if name == "world" else name]
            box = values["tight_box_half_open_xyxy"]
            assert label.pixels_visible == values["visible_pixels"]
            assert label.tight_box == (tuple(box) if box else None)
            assert (view.instance == label.instance).sum() == values["visible_pixels"]
            numbers.setdefault(name, set()).add(label.instance)
    assert all(len(each) == 1 for each in numbers.values())


@pytest.mark.parametrize("key", ["wide", "tall", "square"])
def test_intrinsics_are_those_of_the_case(tmp_path: Path, key: str) -> None:
    case = "d01-intrinsics-fovy"
    bench = Bench(convert_mjcf(CASES / case / "scene.xml", tmp_path / "scene"))
    for camera, truth in expected(case)[key].items():
        view = bench.see_nothing(camera, Size(*truth["size_wh"])).camera
        k = truth["K_pixel_corner_origin"]
        wanted = [[k["fx"], 0, k["cx"]], [0, k["fy"], k["cy"]], [0, 0, 1]]
        np.testing.assert_allclose(view.K, wanted, atol=1e-3)


def test_camera_poses_are_those_of_the_case_in_opencv_axes(tmp_path: Path) -> None:
    case = "d03-camera-pose-conventions"
    bench = Bench(convert_mjcf(CASES / case / "scene.xml", tmp_path / "scene"))
    for camera, truth in expected(case)["rest"].items():
        pose = bench.see_nothing(camera, Size(*truth["size_wh"])).camera.T_world_camera
        np.testing.assert_allclose(pose[:3, 3], truth["world_pos"], atol=1e-5)
        axes = truth["opencv_right_down_forward_axes_in_world"]
        np.testing.assert_allclose(pose[:3, :3].T, axes, atol=1e-5)


def test_a_camera_goes_with_the_body_that_carries_it(tmp_path: Path) -> None:
    case = "d03-camera-pose-conventions"
    bench = Bench(convert_mjcf(CASES / case / "scene.xml", tmp_path / "scene"))
    model = bench.scene.load_model()
    data = mujoco.MjData(model)
    data.qpos[:] = 0.7
    mujoco.mj_forward(model, data)
    wrist = next(body for body in bench.scene.info.bodies if body.name == "wrist")
    bench.sample.set_pose(wrist.path, _pose(data, wrist.body_id))
    truth = expected(case)["moved"]["eye"]
    pose = bench.see_nothing("eye", Size(64, 48)).camera.T_world_camera
    np.testing.assert_allclose(pose[:3, 3], truth["world_pos"], atol=1e-5)
    axes = truth["opencv_right_down_forward_axes_in_world"]
    np.testing.assert_allclose(pose[:3, :3].T, axes, atol=1e-5)


def test_a_hidden_object_is_no_object_of_the_view(arm: Bench) -> None:
    cube = next(each for each in arm.scene.info.objects if each.name == "cube")
    UsdGeom.Imageable(arm.scene.stage.GetPrimAtPath(cube.path)).CreateVisibilityAttr("inherited")
    arm.labeler = Labeler(arm.scene, number_classes(arm.scene))
    assert set(by_name(arm.see_nothing("top", Size(8, 6)))) == {"arm", "cube"}
    arm.sample.set(f"{cube.path}.visibility", "invisible")
    assert set(by_name(arm.see_nothing("top", Size(8, 6)))) == {"arm"}


def test_visible_pixels_that_no_ray_foresaw_still_count(arm: Bench) -> None:
    size = Size(40, 30)
    parts = np.zeros((30, 40), np.int32)
    cube = next(each for each in arm.scene.info.objects if each.name == "cube")
    parts[0, 0] = next(p.part for p in arm.scene.info.parts if p.instance == cube.instance)
    alone = by_name(arm.see_nothing("top", size))["cube"]
    label = by_name(arm.labeler.labels(arm.sample, "top", size, Buffers(part=parts)))["cube"]
    assert label.pixels_total == alone.pixels_total + 1
    assert label.tight_box == (0, 0, 1, 1)


def test_semantics_follow_the_classes_of_the_run(tmp_path: Path) -> None:
    scene = convert_mjcf(CASES / "d09-instances-and-stable-ids" / "scene.xml", tmp_path / "scene")
    classes = {name: 10 * number for name, number in number_classes(scene).items()}
    part = np.array([[0, 1, 2, 3]], np.int32)
    sample = SampleLayer(scene, scene.info.default_state)
    view = Labeler(scene, classes).labels(sample, "all", Size(4, 1), Buffers(part=part))
    objects = {each.instance: each for each in scene.info.objects}
    owners = [objects[each.instance] for each in scene.info.parts[:3]]
    np.testing.assert_array_equal(view.instance, [[0, *(each.instance for each in owners)]])
    np.testing.assert_array_equal(view.semantic, [[0, *(classes[o.label] for o in owners)]])
    assert view.semantic.dtype == view.instance.dtype == np.int32


def test_a_class_without_a_number_is_refused(arm: Bench) -> None:
    with pytest.raises(DatagenError, match=r"'cube'.*not in the run's class table. Known: arm"):
        Labeler(arm.scene, {"arm": 1})


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (None, "need the pass 'part'"),
        (np.zeros((2, 3), np.int32), "3 x 2 pixels, not 4 x 2"),
        (np.full((2, 4), 99, np.int32), "from 99 to 99; the scene has parts 1 to 3"),
        (np.full((2, 4), -1, np.int32), "from -1 to -1"),
    ],
)
def test_a_part_map_that_does_not_fit_is_refused(
    arm: Bench, part: NDArray[np.int32] | None, message: str
) -> None:
    with pytest.raises(DatagenError, match=message):
        arm.labeler.labels(arm.sample, "top", Size(4, 2), Buffers(part=part))


def test_the_box_of_a_rigid_object_is_its_own_wherever_it_goes(arm: Bench) -> None:
    at_rest = by_name(arm.see_nothing("top", Size(8, 6)))["cube"]
    body = next(body for body in arm.scene.info.bodies if body.name == "cube")
    np.testing.assert_allclose(at_rest.box.size, [0.2, 0.2, 0.2], rtol=1e-6)
    rng = np.random.default_rng(3)
    for _ in range(8):
        quaternion = rng.normal(size=4)
        turn = np.eye(4)
        turn[:3, :3] = rotation_from_quaternion(quaternion / np.linalg.norm(quaternion))
        turn[:3, 3] = rng.normal(size=3)
        arm.sample.set_pose(body.path, turn)
        moved = by_name(arm.see_nothing("top", Size(8, 6)))["cube"]
        np.testing.assert_array_equal(at_rest.box.size, moved.box.size)
        np.testing.assert_array_equal(at_rest.box.center, moved.box.center)
        np.testing.assert_array_equal(moved.T_world_object, turn)


def test_the_box_of_an_articulated_object_follows_its_joints(arm: Bench) -> None:
    for lift in (0.0, 0.25):
        hand = next(body for body in arm.scene.info.bodies if body.name == "hand")
        pose = arm.sample.start_pose(hand.path)
        pose[2, 3] = 0.3 + lift
        arm.sample.set_pose(hand.path, pose)
        label = by_name(arm.see_nothing("top", Size(8, 6)))["arm"]
        # The root stands at z = 0.1: base from -0.1 to 0.1, palm around (0.3, 0, 0.2 + lift).
        lower, upper = np.array([-0.1, -0.1, -0.1]), np.array([0.35, 0.1, 0.23 + lift])
        np.testing.assert_allclose(label.box.center, (lower + upper) / 2, atol=1e-6)
        np.testing.assert_allclose(label.box.size, upper - lower, atol=1e-6)


def test_the_robot_stands_as_mujoco_says(arm: Bench) -> None:
    scene = arm.scene
    hand = next(body for body in scene.info.bodies if body.name == "hand")
    grip = np.eye(4)
    grip[:3, 3] = 0.1, 0.02, 0
    robot = RobotInfo(
        joints=("turn",),
        joint_qpos=(0,),
        gripper_joints=("lift",),
        gripper_qpos=(1,),
        ee_body=hand.path,
        T_body_ee=tuple(map(tuple, grip.tolist())),
    )
    scene.info = scene.info.model_copy(update={"robot": robot})
    model = scene.load_model()
    data = mujoco.MjData(model)
    data.qpos[:] = [np.pi / 2, 0.25, 0.2, 0.7, 0.3, 1, 0, 0, 0]
    mujoco.mj_forward(model, data)
    arm.sample.state.qpos[:] = data.qpos
    arm.sample.set_pose(hand.path, _pose(data, hand.body_id))
    label = arm.see_nothing("top", Size(8, 6)).robot
    assert label is not None
    np.testing.assert_array_equal(label.joint_positions, [np.pi / 2])
    np.testing.assert_array_equal(label.gripper_positions, [0.25])
    # The hand's x axis points along the world's y axis.
    np.testing.assert_allclose(label.ee_pose[:3], [-0.02, 0.4, 0.55], atol=1e-9)
    np.testing.assert_allclose(label.ee_pose[3:], data.body(hand.body_id).xquat, atol=1e-9)


def _pose(data: mujoco.MjData, body: int) -> NDArray[np.float64]:
    pose = np.eye(4)
    pose[:3, :3] = data.xmat[body].reshape(3, 3)
    pose[:3, 3] = data.xpos[body]
    return pose


def test_a_scene_without_a_robot_has_no_robot_label(arm: Bench) -> None:
    assert arm.see_nothing("top", Size(8, 6)).robot is None


def test_paired_backends_pay_for_silhouettes_once(
    arm: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    cast = shapes.silhouettes

    def counted(*arguments: Any) -> Any:
        calls.append(1)
        return cast(*arguments)

    monkeypatch.setattr(shapes, "silhouettes", counted)
    first = arm.see_nothing("top", Size(40, 30))
    second = arm.see_nothing("top", Size(40, 30))
    assert len(calls) == 1
    assert by_name(first)["cube"].pixels_total == by_name(second)["cube"].pixels_total
    body = next(body for body in arm.scene.info.bodies if body.name == "cube")
    pose = arm.sample.start_pose(body.path)
    pose[0, 3] += 50
    arm.sample.set_pose(body.path, pose)
    assert by_name(arm.see_nothing("top", Size(40, 30)))["cube"].pixels_total == 0
    assert by_name(arm.see_nothing("top", Size(20, 15)))["arm"].pixels_total < (
        by_name(first)["arm"].pixels_total / 3
    )


def test_a_fresh_labeler_says_the_same_as_a_used_one(arm: Bench) -> None:
    body = next(body for body in arm.scene.info.bodies if body.name == "cube")
    arm.see("top", Size(40, 30))
    pose = arm.sample.start_pose(body.path)
    pose[0, 3] += 0.05
    arm.sample.set_pose(body.path, pose)
    used = arm.see_nothing("top", Size(40, 30))
    arm.labeler = Labeler(arm.scene, number_classes(arm.scene))
    fresh = arm.see_nothing("top", Size(40, 30))
    for one, other in zip(used.objects, fresh.objects, strict=True):
        assert one.loose_box == other.loose_box
        assert one.pixels_total == other.pixels_total
        np.testing.assert_array_equal(one.box.center, other.box.center)


def test_a_view_without_its_movable_objects_is_flagged(arm: Bench) -> None:
    assert arm.see_nothing("top", Size(40, 30)).flags == ("object_out_of_view",)
    assert arm.see("top", Size(40, 30)).flags == ()


def test_a_view_without_one_object_of_interest_is_flagged(arm: Bench) -> None:
    parts = {each.name: each for each in arm.scene.info.parts}
    only_base = np.full((6, 8), parts["base"].part, np.int32)
    for interest, flags in (
        (("arm",), ()),
        (("arm", "cube"), ("object_out_of_view",)),
    ):
        info = arm.scene.info.model_copy(update={"objects_of_interest": interest})
        arm.scene.info = info
        labeler = Labeler(arm.scene, number_classes(arm.scene))
        view = labeler.labels(arm.sample, "top", Size(8, 6), Buffers(part=only_base))
        assert view.flags == flags


@pytest.mark.parametrize(
    ("shown", "elsewhere", "flags"),
    [
        ((9, 9, 9), 255, ("dark",)),
        ((10, 10, 10), 0, ()),
        ((0, 0, 139), 0, ()),
        ((0, 0, 138), 0, ("dark",)),
        ((255, 255, 254), 255, ()),
        ((255, 255, 255), 0, ("blown",)),
    ],
)
def test_only_pixels_that_show_something_make_a_view_dark_or_blown(
    arm: Bench, shown: tuple[int, int, int], elsewhere: int, flags: tuple[str, ...]
) -> None:
    size = Size(40, 30)
    seen = arm.see("top", size).part > 0
    rgb = np.full((30, 40, 3), elsewhere, np.uint8)
    rgb[seen] = shown
    assert arm.see("top", size, rgb).flags == flags


def test_a_view_is_blown_from_half_of_its_pixels(arm: Bench) -> None:
    part = next(part for part in arm.scene.info.parts if part.body.endswith("cube"))
    ids = np.full((1, 4), part.part, np.int32)
    for white, flags in ((1, ()), (2, ("blown",))):
        rgb = np.full((1, 4, 3), 128, np.uint8)
        rgb[:, :white] = 255
        buffers = Buffers(part=ids, rgb=rgb)
        assert arm.labeler.labels(arm.sample, "top", Size(4, 1), buffers).flags == flags
