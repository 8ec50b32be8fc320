import json
from pathlib import Path

import mujoco
import numpy as np
import pytest

from randomizers import check_interpenetration, overlaps
from randomizers.geometry.boxes import Boxes, near_pairs, penetration
from scenes import SampleLayer, convert_mjcf

CASE = Path(__file__).parent / "cases" / "c04-overlap-truth"
EXPECT = json.loads((CASE / "case.json").read_text())["expect"]


def box(center, half, degrees=(0, 0, 0)):
    pose = np.eye(4)
    matrix, quaternion = np.zeros(9), np.zeros(4)
    mujoco.mju_euler2Quat(quaternion, np.deg2rad(degrees), "xyz")
    mujoco.mju_quat2Mat(matrix, quaternion)
    pose[:3, :3] = matrix.reshape(3, 3) * np.asarray(half)
    pose[:3, 3] = center
    return pose


def depth(first, second):
    return float(penetration(Boxes.of_transforms(first), Boxes.of_transforms(second))[0])


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("c04")

    def convert(name):
        scene = convert_mjcf(CASE / f"{name}.xml", folder / name)
        return SampleLayer(scene, scene.info.default_state)

    return {name: convert(name) for name in EXPECT}


def test_depth_is_the_shortest_way_out():
    big = box((0, 0, 0), (0.1, 0.1, 0.1))

    assert depth(big, box((0.15, 0.05, 0), (0.1, 0.1, 0.1))) == pytest.approx(0.05)
    assert depth(big, box((0, 0, 0), (0.03, 0.03, 0.03))) == pytest.approx(0.13)
    assert depth(big, box((0.2, 0, 0), (0.1, 0.1, 0.1))) == pytest.approx(0)
    assert depth(big, box((0.25, 0.3, 0), (0.1, 0.1, 0.1))) == pytest.approx(-0.1)


def test_depth_of_a_turned_box_is_measured_along_its_diagonal():
    turned = box((1, 0, 0), (0.1, 0.1, 0.1), (0, 0, 45))

    assert depth(box((0, 0, 0), (0.9, 0.1, 0.1)), turned) == pytest.approx(0.1 * np.sqrt(2) - 0.1)


def test_crossed_edges_are_told_apart_only_by_their_cross_product():
    first = box((0, 0, 0), (1, 0.1, 0.1), (45, 0, 0))
    second = box((0, 0, 0.1 * 2 * np.sqrt(2) + 0.01), (0.1, 1, 0.1), (0, 45, 0))

    assert depth(first, second) == pytest.approx(-0.01)


def test_a_flat_box_has_a_face_and_no_volume():
    floor = box((0, 0, 0), (1, 1, 0))

    assert depth(floor, box((0, 0, 0.09), (0.1, 0.1, 0.1))) == pytest.approx(0.01)
    assert depth(floor, box((0, 0, 0.11), (0.1, 0.1, 0.1))) == pytest.approx(-0.01)


def test_signs_equal_mujocos_distance_of_boxes():
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><geom type='box' size='1 1 1'/></body>"
        "<body><freejoint/><geom type='box' size='1 1 1'/></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    rng = np.random.default_rng(3)
    seen = {True: 0, False: 0}
    for _ in range(300):
        model.geom_size[:] = rng.uniform(0.1, 0.5, (2, 3))
        data.qpos[:] = rng.normal(size=14)
        data.qpos[[0, 1, 2, 7, 8, 9]] *= 0.5
        mujoco.mj_forward(model, data)
        poses = np.tile(np.eye(4), (2, 1, 1))
        poses[:, :3, :3] = data.geom_xmat.reshape(2, 3, 3) * model.geom_size[:, None, :]
        poses[:, :3, 3] = data.geom_xpos
        distance = mujoco.mj_geomDistance(model, data, 0, 1, 10.0, None)
        if abs(distance) < 1e-4:
            continue
        assert (depth(*poses) > 0) == (distance < 0)
        seen[distance < 0] += 1

    assert min(seen.values()) > 50


def test_the_broad_phase_keeps_every_overlapping_pair():
    rng = np.random.default_rng(5)
    poses = np.array(
        [
            box(rng.uniform(-1, 1, 3), rng.uniform(0.05, 0.3, 3), rng.uniform(0, 360, 3))
            for _ in range(60)
        ]
    )
    a, b = Boxes.of_transforms(poses[:30]), Boxes.of_transforms(poses[30:])
    near = set(zip(*(index.tolist() for index in near_pairs(a, b)), strict=True))
    every = np.stack(np.meshgrid(range(30), range(30), indexing="ij"), -1).reshape(-1, 2)
    deep = every[penetration(a[every[:, 0]], b[every[:, 1]]) > 0]

    assert 10 < len(deep) <= len(near) < len(every)
    assert {tuple(map(int, pair)) for pair in deep} <= near


@pytest.mark.parametrize("name", ["inside", "overlap"])
def test_things_in_each_other_are_reported_with_mujocos_depth(sample, name):
    (found,) = overlaps(sample[name])

    assert [found.first, found.second] == ["/World/A", "/World/B"]
    assert found.depth == pytest.approx(EXPECT[name][0]["deepest_penetration_m"], abs=1e-6)


def test_touching_things_are_no_overlap(sample):
    assert overlaps(sample["touch"]) == []


def test_boxes_are_strict_for_round_shapes(sample):
    (found,) = overlaps(sample["apart_aabb_overlap"])

    assert found.depth == pytest.approx(0.02, abs=1e-6)


@pytest.mark.parametrize(
    ("step", "passed"), [(0.0, True), (0.0009, True), (0.0011, False), (0.05, False)]
)
def test_a_pair_may_touch_up_to_a_millimetre(sample, step, passed):
    layer = sample["touch"]
    pose = layer.start_pose("/World/B/B")
    pose[0, 3] -= step
    layer.set_pose("/World/B/B", pose)
    check = check_interpenetration(layer)

    assert check.passed is passed
    assert ("/World/A and /World/B" in check.detail) is not passed


@pytest.mark.parametrize(("step", "passed"), [(0.0, True), (0.01, True), (-0.01, False)])
def test_a_pair_that_overlaps_in_the_state_may_not_get_deeper(sample, step, passed):
    layer = sample["overlap"]
    pose = layer.start_pose("/World/B/B")
    pose[0, 3] += step
    layer.set_pose("/World/B/B", pose)

    assert check_interpenetration(layer).passed is passed
