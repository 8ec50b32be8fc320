import hashlib
import json
import math
import multiprocessing
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from randomizers import (
    CameraPose,
    Check,
    Light,
    ObjectPose,
    RandomizerError,
    RandomizeSection,
    SampleId,
    check_interpenetration,
    parse_recipe,
    randomize,
    recipe_json,
    replay,
)
from scenes import SampleLayer, Scene, convert_mjcf, pinhole

CASES = Path(__file__).parent / "cases"
SECTION = TypeAdapter(RandomizeSection)
ID = SampleId("scene", 3, 0)

DESK = """<mujoco><worldbody>
<light name="key" pos="0 0 2" dir="0 0 -1" diffuse="0.5 0.4 0.3"/>
<light name="off" pos="1 0 2" dir="0 0 -1" active="false"/>
<camera name="front" pos="0 -1 1" xyaxes="1 0 0 0 1 1" fovy="45"/>
<geom name="desk" type="box" size="0.3 0.2 0.02" pos="0 0 0.48"/>
<body name="arm" pos="-0.6 0 0.5"><joint axis="0 0 1"/>
 <geom name="arm" type="box" size="0.05 0.05 0.05"/>
 <camera name="wrist" pos="0.1 0 0" euler="0 -90 -90"/>
 <light name="torch" pos="0.1 0 0" dir="1 0 0"/></body>
<body name="crate" pos="-0.1 0 0.55"><freejoint/>
 <geom name="crate" type="box" size="0.05 0.05 0.05"/></body>
<body name="dice" pos="-0.1 0 0.61"><freejoint/>
 <geom name="dice" type="box" size="0.01 0.01 0.01"/></body>
<body name="can" pos="0.15 0 0.56"><freejoint/>
 <geom name="can" type="cylinder" size="0.03 0.06"/></body>
<body name="kite" pos="0 0 2"><freejoint/><geom name="kite" type="box" size="0.1 0.1 0.01"/></body>
</worldbody></mujoco>"""

EVERYTHING = {
    "camera_pose": {
        "position": {"uniform": [-0.02, 0.02]},
        "rotation": {"normal": {"mean": 0, "std": 1}, "clip": [-3, 3]},
        "orbit": {"look_at": 1.2, "azimuth": {"uniform": [-10, 10]}, "elevation": 3},
        "fovy": {"uniform": [0.9, 1.1]},
    },
    "light": {
        "intensity": {"loguniform": [0.5, 2]},
        "tint": {"uniform": [0.8, 1.0]},
        "kelvin": {"choice": [3000, 5000, 8000]},
        "tilt": {"uniform": [0, 20]},
        "position": {"uniform": [-0.2, 0.2]},
    },
    "object_pose": {"translation": {"uniform": [-0.05, 0.05]}, "yaw": {"uniform": [-180, 180]}},
}


def convert(folder, xml, name="scene"):
    path = folder / f"{name}.xml"
    path.write_text(xml)
    return convert_mjcf(path, folder / name)


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    return convert(tmp_path_factory.mktemp("desk"), DESK)


@pytest.fixture(scope="module")
def lamps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("c01")
    return convert_mjcf(CASES / "c01-jitter-does-not-walk" / "scene.xml", folder / "scene")


def fresh(scene):
    return SampleLayer(scene, scene.info.default_state)


def drawn(scene, *randomizers, ids=ID, seed=1, **options):
    sample = fresh(scene)
    return sample, randomize(sample, randomizers, ids, seed, **options)


def values(outcome, parameter, target=None):
    return [
        draw.value
        for draw in outcome.recipe
        if draw.parameter == parameter and target in (None, draw.target)
    ]


def light_offsets(scene, number, plan):
    most = plan["light_position_jitter"]
    jitter = Light(position={"uniform": [-most, most]})
    sample, _ = drawn(scene, jitter, ids=SampleId("c01", number, 0), seed=plan["seed"])
    return np.array(
        [
            sample.pose(light.path)[:3, 3]
            - np.array(scene.authored(f"{light.path}.xformOp:transform")).T[:3, 3]
            for light in scene.info.lights
        ]
    )


def test_jitter_stays_about_the_authored_place_and_any_sample_can_be_made_alone(lamps):
    case = CASES / "c01-jitter-does-not-walk"
    plan = yaml.safe_load((case / "plan.yaml").read_text())
    rule = json.loads((case / "case.json").read_text())["expect"]["rule"]
    offsets = [light_offsets(lamps, number, plan) for number in range(plan["samples"])]
    largest = np.abs(offsets).max()

    assert 0.45 < largest <= rule["max_abs_offset_from_authored_m_over_200_samples"]
    np.testing.assert_array_equal(light_offsets(lamps, 137, plan), offsets[137])
    assert not np.allclose(offsets[137][0], offsets[137][1])


def digests(job):
    folder, seed, numbers = job
    scene = Scene.open(Path(folder))
    randomizers = SECTION.validate_python(EVERYTHING)
    found = {}
    for number in numbers:
        sample, outcome = drawn(scene, *randomizers, ids=SampleId("c02", number, 0), seed=seed)
        content = sample.layer.ExportToString() + recipe_json(outcome.recipe)
        found[number] = hashlib.sha256(content.encode()).hexdigest()
    return found


def test_samples_depend_on_neither_workers_nor_order_nor_range(desk):
    case = CASES / "c02-workers-and-order"
    plan = yaml.safe_load((case / "plan.yaml").read_text())
    rule = json.loads((case / "case.json").read_text())["expect"]["rule"]
    numbers = list(range(plan["samples"]))
    folder, seed = str(desk.folder), plan["seed"]
    alone = digests((folder, seed, numbers))

    assert len(set(alone.values())) == rule["distinct_samples"]
    assert digests((folder, seed, numbers[19:9:-1])) == {k: alone[k] for k in range(10, 20)}
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for workers in plan["workers"]:
            shares = [(folder, seed, numbers[k::workers]) for k in range(workers)]
            parts = pool.map(digests, shares, chunksize=1)
            assert {k: v for part in parts for k, v in part.items()} == alone


def test_hash_seed_of_the_process_has_no_influence(desk):
    code = (
        f"from test_randomizers import digests; print(digests(({str(desk.folder)!r}, 5, [0, 1])))"
    )
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "PYTHONHASHSEED": "777", "PYTHONPATH": path}
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )

    assert answer.stdout.strip() == str(digests((str(desk.folder), 5, [0, 1])))


def test_global_random_state_is_untouched(desk):
    before = random.getstate(), np.random.get_state()
    drawn(desk, *SECTION.validate_python(EVERYTHING))
    after = random.getstate(), np.random.get_state()

    assert after[0] == before[0]
    assert after[1][2] == before[1][2]
    np.testing.assert_array_equal(after[1][1], before[1][1])


def test_a_replayed_recipe_gives_the_same_bytes(desk):
    randomizers = SECTION.validate_python(EVERYTHING)
    for episode in range(10):
        sample, outcome = drawn(desk, *randomizers, ids=SampleId("scene", episode, 0))
        again = fresh(desk)
        text = recipe_json(outcome.recipe)
        assert parse_recipe(text) == outcome.recipe
        replay(again, parse_recipe(text))

        assert again.layer.ExportToString() == sample.layer.ExportToString()
        assert again.layer.ExportToString() != fresh(desk).layer.ExportToString()


def test_recipe_json_is_compact_and_sorted(desk):
    _, outcome = drawn(desk, Light(intensity=1.5, targets=["key"]))

    assert recipe_json(outcome.recipe) == (
        '[{"attempt":0,"parameter":"light.intensity","randomizer":"light","scope":"frame",'
        '"target":"/World/lights/key","value":1.5}]'
    )


def test_adding_or_reordering_randomizers_and_parameters_changes_no_other_draw(desk):
    jitter = CameraPose(position={"uniform": [-1, 1]})
    _, alone = drawn(desk, jitter)
    more = CameraPose(position={"uniform": [-1, 1]}, fovy={"uniform": [0.9, 1.1]})
    _, beside = drawn(desk, Light(intensity={"uniform": [0, 1]}), more)
    _, one = drawn(desk, CameraPose(position={"uniform": [-1, 1]}, targets=["wrist"]))

    assert values(beside, "camera_pose.position") == values(alone, "camera_pose.position")
    assert values(one, "camera_pose.position") == values(alone, "camera_pose.position")[1:]


def test_a_name_of_its_own_gives_a_randomizer_draws_of_its_own(desk):
    first = drawn(desk, Light(intensity={"uniform": [0, 1]}))[1]
    second = drawn(desk, Light(intensity={"uniform": [0, 1]}, name="other"))[1]

    assert values(first, "light.intensity") != values(second, "light.intensity")


@pytest.mark.parametrize(
    ("scope", "same"),
    [
        ("run", {"frame", "episode", "scene"}),
        ("scene", {"frame", "episode"}),
        ("episode", {"frame"}),
        ("frame", set()),
        ("view", set()),
    ],
)
def test_a_scope_shares_its_draws(desk, scope, same):
    pan = CameraPose(rotation={"uniform": [-1, 1]}, scope=scope)
    first = drawn(desk, pan, ids=SampleId("a", 1, 1))[1]
    others = {
        "frame": SampleId("a", 1, 2),
        "episode": SampleId("a", 2, 1),
        "scene": SampleId("b", 1, 1),
    }
    equal = {
        name
        for name, ids in others.items()
        if [d.value for d in drawn(desk, pan, ids=ids)[1].recipe] == [d.value for d in first.recipe]
    }

    assert equal == same


def test_camera_moves_along_its_own_axes(desk):
    for camera in desk.info.cameras:
        sample, _ = drawn(desk, CameraPose(position=[0.1, 0.02, -0.3], targets=[camera.name]))
        before, after = sample.start_pose(camera.path), sample.pose(camera.path)

        np.testing.assert_allclose(after[:3, :3], before[:3, :3], atol=1e-15)
        np.testing.assert_allclose(
            after[:3, 3] - before[:3, 3], before[:3, :3] @ [0.1, 0.02, -0.3], atol=1e-12
        )


def test_camera_turns_by_its_rotation_vector_in_its_own_axes(desk):
    sample, _ = drawn(desk, CameraPose(rotation=[0, 0, 30], targets=["front"]))
    path = "/World/cameras/front"
    relative = np.linalg.inv(sample.start_pose(path)) @ sample.pose(path)
    c, s = math.cos(math.pi / 6), math.sin(math.pi / 6)

    np.testing.assert_allclose(relative[:3, :3], [[c, -s, 0], [s, c, 0], [0, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(relative[:3, 3], 0, atol=1e-12)


def test_orbit_keeps_the_point_looked_at_in_the_middle_at_the_same_distance(desk):
    orbit = {"look_at": 1.3, "azimuth": 25, "elevation": 10}
    sample, _ = drawn(desk, CameraPose(orbit=orbit, targets=["front"]))
    path = "/World/cameras/front"
    before, after = sample.start_pose(path), sample.pose(path)
    ahead = [0, 0, -1.3, 1]

    np.testing.assert_allclose(after @ ahead, before @ ahead, atol=1e-12)
    assert after[2, 3] > before[2, 3] + 0.1, "a positive elevation looks from higher up"
    assert after[2, 0] == pytest.approx(before[2, 0], abs=1e-12), "the horizon stays level"
    side = after[:2, 3] - (before @ ahead)[:2]
    assert math.degrees(math.atan2(side[1], side[0])) == pytest.approx(-90 + 25)


def test_field_of_view_changes_by_the_factor_and_the_centre_stays(desk):
    sample, _ = drawn(desk, CameraPose(fovy=1.2, targets=["front"]))
    before = pinhole(desk, "front", 64, 48)
    desk.show(sample)
    after = pinhole(desk, "front", 64, 48)
    desk.show(None)

    assert 2 * math.degrees(math.atan(24 / before.K[1, 1])) == pytest.approx(45, abs=1e-5)
    assert 2 * math.degrees(math.atan(24 / after.K[1, 1])) == pytest.approx(54, abs=1e-5)
    np.testing.assert_array_equal(after.K[:2, 2], before.K[:2, 2])


def test_a_field_of_view_beyond_170_degrees_is_refused(desk):
    with pytest.raises(RandomizerError, match=r"/World/cameras/front: .* 180 degrees \(45 x 4\)"):
        drawn(desk, CameraPose(fovy=4, targets=["front"]))


def test_light_scales_its_intensity_and_colour_from_the_authored_ones(desk):
    sample, _ = drawn(desk, Light(intensity=0.5, tint=[1, 0.5, 0.25], targets=["key"]))
    path = "/World/lights/key"

    assert sample.get(f"{path}.inputs:intensity") == pytest.approx(
        0.5 * desk.authored(f"{path}.inputs:intensity")
    )
    np.testing.assert_allclose(
        sample.get(f"{path}.inputs:color"),
        np.array(desk.authored(f"{path}.inputs:color")) * [1, 0.5, 0.25],
        rtol=1e-6,
    )


@pytest.mark.parametrize(("kelvin", "warm"), [(3000, True), (6500, None), (9000, False)])
def test_temperature_tints_and_keeps_the_luminance(desk, kelvin, warm):
    sample, _ = drawn(desk, Light(kelvin=kelvin, targets=["key"]))
    path = "/World/lights/key.inputs:color"
    ratio = np.array(sample.get(path)) / np.array(desk.authored(path))

    assert ratio @ [0.2126, 0.7152, 0.0722] == pytest.approx(1, abs=1e-5)
    if warm is None:
        np.testing.assert_allclose(ratio, 1, atol=1e-6)
    else:
        assert ratio[0] > 1.05 > ratio[2] if warm else ratio[0] < 0.95 < ratio[2]


def test_light_tilts_by_the_angle_about_its_own_place(desk):
    sides = set()
    for episode in range(5):
        sample, _ = drawn(desk, Light(tilt=20), ids=SampleId("scene", episode, 0))
        for path in ("/World/lights/key", "/World/arm/arm/torch"):
            before, after = sample.start_pose(path), sample.pose(path)
            np.testing.assert_array_equal(after[:3, 3], before[:3, 3])
            cosine = before[:3, 2] @ after[:3, 2]
            assert math.degrees(math.acos(cosine)) == pytest.approx(20)
            sides.add(tuple(np.round(after[:3, 2], 6)))

    assert len(sides) == 10


def test_lights_that_are_off_stay_as_they_are(desk):
    _, outcome = drawn(desk, Light(intensity=0.5))

    assert {draw.target for draw in outcome.recipe} == {"/World/lights/key", "/World/arm/arm/torch"}


def test_objects_keep_their_height_stay_on_their_support_and_clear_of_each_other(desk):
    randomizer = ObjectPose(
        translation={"uniform": [-0.2, 0.2]}, yaw={"uniform": [-180, 180]}, targets=["c*"]
    )
    moved = 0
    for episode in range(60):
        sample, outcome = drawn(desk, randomizer, ids=SampleId("scene", episode, 0))
        assert check_interpenetration(sample).passed
        moved += len(values(outcome, "object_pose.translation"))
        for path, half in (("/World/crate/crate", 0.05), ("/World/can/can", 0.03)):
            pose = sample.pose(path)
            corners = pose[:2, :2] @ (half * np.array([[1, 1, -1, -1], [1, -1, 1, -1]]))
            reach = np.abs(pose[:2, 3]) + np.abs(corners).max(axis=1)
            assert (reach <= [0.3 + 1e-9, 0.2 + 1e-9]).all()
            assert pose[2, 3] == sample.start_pose(path)[2, 3]
            np.testing.assert_allclose(pose[2, :3], [0, 0, 1], atol=1e-15)

    assert moved > 110


def test_what_rests_on_a_moved_object_moves_along(desk):
    sample, outcome = drawn(
        desk, ObjectPose(translation=[0, 0.1], yaw=90, targets=["crate", "dice"])
    )
    relative = [
        np.linalg.inv(pose("/World/crate/crate")) @ pose("/World/dice/dice")
        for pose in (sample.start_pose, sample.pose)
    ]

    assert values(outcome, "object_pose.carried", "/World/crate") == [("/World/dice",)]
    assert values(outcome, "object_pose.translation", "/World/dice") == []
    np.testing.assert_allclose(relative[1], relative[0], atol=1e-12)
    np.testing.assert_allclose(sample.pose("/World/crate/crate")[:3, 3], [-0.1, 0.1, 0.55])
    np.testing.assert_allclose(sample.pose("/World/crate/crate")[:3, 0], [0, 1, 0], atol=1e-12)


def test_a_thing_on_another_stays_on_it_when_only_it_is_a_target(desk):
    for episode in range(20):
        sample, _ = drawn(
            desk,
            ObjectPose(translation={"uniform": [-0.1, 0.1]}, targets=["dice"], attempts=100),
            ids=SampleId("scene", episode, 0),
        )
        offset = sample.pose("/World/dice/dice")[:2, 3] - [-0.1, 0]

        assert np.abs(offset).max() <= 0.04 + 1e-9
        assert offset.any()


def test_an_object_that_fits_nowhere_stays_and_is_flagged(desk):
    far = ObjectPose(translation=[5, 0], targets=["can"])
    sample, outcome = drawn(desk, far)

    assert outcome.flags == ["object_pose_exhausted"]
    assert outcome.redraws == 20
    assert [(d.parameter, d.value, d.attempt) for d in outcome.recipe] == [
        ("object_pose.kept", "exhausted", 19)
    ]
    assert sample.layer.ExportToString() == fresh(desk).layer.ExportToString()


def test_an_object_with_nothing_under_it_stays_and_is_flagged(desk):
    sample, outcome = drawn(desk, ObjectPose(yaw=10, targets=["kite"]))

    assert outcome.flags == ["object_pose_unsupported"]
    assert values(outcome, "object_pose.kept") == ["unsupported"]
    assert sample.layer.ExportToString() == fresh(desk).layer.ExportToString()


def test_a_draw_is_repeated_until_it_fits(desk):
    step = ObjectPose(translation={"choice": [[5, 0], [0, 0.05]]}, targets=["can"])
    attempts = []
    for episode in range(20):
        outcome = drawn(desk, step, ids=SampleId("scene", episode, 0))[1]
        (draw,) = (d for d in outcome.recipe if d.parameter == "object_pose.translation")
        assert draw.value == (0, 0.05) and outcome.redraws == draw.attempt
        attempts.append(draw.attempt)

    assert min(attempts) == 0 and max(attempts) > 1


def test_an_object_on_a_floor_without_thickness_stays_on_it(lamps):
    inside = ObjectPose(translation=[0.9, 0.0])
    beyond = ObjectPose(translation=[0.96, 0.0])

    sample, outcome = drawn(lamps, inside)
    np.testing.assert_allclose(sample.pose("/World/cup/cup")[:3, 3], [0.9, 0, 0.05])
    assert outcome.flags == []
    assert drawn(lamps, beyond)[1].flags == ["object_pose_exhausted"]


def test_things_that_stand_in_each_other_move_as_one(tmp_path):
    for name in ("inside", "overlap"):
        scene = convert_mjcf(CASES / "c04-overlap-truth" / f"{name}.xml", tmp_path / name)
        shift = ObjectPose(translation={"uniform": [-0.2, 0.2]}, yaw={"uniform": [-90, 90]})
        sample, _ = drawn(scene, shift)
        relative = [
            np.linalg.inv(pose("/World/A/A")) @ pose("/World/B/B")
            for pose in (sample.start_pose, sample.pose)
        ]

        assert not np.allclose(sample.pose("/World/A/A"), sample.start_pose("/World/A/A"))
        np.testing.assert_allclose(relative[1], relative[0], atol=1e-12)


def test_things_side_by_side_are_put_clear_of_each_other(tmp_path):
    scene = convert_mjcf(CASES / "c04-overlap-truth" / "touch.xml", tmp_path / "touch")
    shift = ObjectPose(translation={"uniform": [-0.2, 0.2]}, yaw={"uniform": [-90, 90]})
    for episode in range(20):
        sample, _ = drawn(scene, shift, ids=SampleId("scene", episode, 0))

        assert check_interpenetration(sample).passed


def in_view(scene, camera, body, size=(32, 24)):
    def check(sample):
        scene.show(sample)
        eye = pinhole(scene, camera, *size)
        scene.show(None)
        x, y, z = (np.linalg.inv(eye.T_world_camera) @ [*sample.pose(body)[:3, 3], 1])[:3]
        u, v, w = eye.K @ [x, y, z]
        seen = z > 0 and 0 <= u / w < size[0] and 0 <= v / w < size[1]
        return [Check("object_out_of_view", bool(seen))]

    return check


def test_a_camera_that_sees_nothing_is_drawn_again_and_then_flagged(tmp_path):
    case = CASES / "c06-out-of-view-and-dark" / "scene.xml"
    scene = convert_mjcf(case, tmp_path / "scene")
    tremble = CameraPose(rotation={"uniform": [-5, 5]})
    seen = drawn(scene, tremble, check=in_view(scene, "top", "/World/cup/cup"))[1]
    away = drawn(scene, tremble, check=in_view(scene, "away", "/World/cup/cup"), redraws=4)[1]

    assert (seen.redraws, seen.flags) == (0, [])
    assert (away.redraws, away.flags) == (4, ["object_out_of_view"])
    assert {draw.attempt for draw in away.recipe} == {4}


def test_a_refused_sample_leaves_no_trace_in_the_accepted_one(desk):
    randomizers = (
        ObjectPose(translation={"choice": [[0, 0.05], [0, -0.04]]}, targets=["can"], attempts=1),
        Light(intensity={"uniform": [0, 1]}),
    )
    calls = []

    def third_time(sample):
        calls.append(sample.layer.ExportToString())
        return [Check("unlucky", len(calls) == 3)]

    sample, outcome = drawn(desk, *randomizers, check=third_time)
    again = fresh(desk)
    replay(again, outcome.recipe)

    assert outcome.redraws == 2 and outcome.flags == []
    assert len(set(calls)) == 3
    assert {draw.attempt for draw in outcome.recipe} == {2}
    assert again.layer.ExportToString() == sample.layer.ExportToString()


def test_an_object_moved_by_a_refused_attempt_goes_back_to_its_start(desk):
    flip = ObjectPose(translation={"choice": [[5, 0], [0, 0.05]]}, targets=["can"], attempts=1)
    start = fresh(desk).layer.ExportToString()
    for episode in range(10):
        layers = []

        def check(sample, layers=layers):
            layers.append(sample.layer.ExportToString())
            return [Check("unlucky", passed=False)]

        drawn(desk, flip, ids=SampleId("scene", episode, 0), check=check, redraws=5)
        if layers[0] != start and start in layers:
            break
    else:
        pytest.fail("no attempt moved the can before one that kept it")


def test_draws_shared_with_other_samples_are_not_repeated(desk):
    lamp = Light(intensity={"uniform": [0, 1]}, scope="episode")
    failing = lambda sample: [Check("dull", passed=False)]  # noqa: E731
    _, outcome = drawn(desk, lamp, check=failing)

    assert (outcome.redraws, outcome.flags) == (0, ["dull"])
    assert outcome.recipe == drawn(desk, lamp)[1].recipe
    beside = drawn(desk, lamp, CameraPose(rotation={"uniform": [-1, 1]}), check=failing)[1]
    assert beside.redraws == 10
    assert beside.recipe[:2] == outcome.recipe


def test_two_randomizers_of_one_value_are_refused(desk):
    lights = (Light(intensity=1.1), Light(intensity=0.9, name="dim", targets=["key"]))

    with pytest.raises(RandomizerError, match=r"'light' and 'dim' both draw /World/lights/key"):
        drawn(desk, *lights)
    drawn(desk, Light(intensity=1.1), Light(tilt=3, name="dim", targets=["key"]))


def test_a_pattern_that_matches_nothing_is_refused_with_the_names(desk):
    with pytest.raises(RandomizerError) as error:
        drawn(desk, CameraPose(fovy=1, targets=["fronk"]))

    assert str(error.value) == (
        "scene: randomizer 'camera_pose': no camera matches 'fronk'. Known: front, wrist. "
        "Did you mean 'front'? (`missing: skip` leaves such scenes as they are.)"
    )
    skipped = CameraPose(fovy=1, targets=["fronk"], missing="skip")
    assert drawn(desk, skipped)[1].recipe == []


def test_a_recipe_of_another_scene_is_refused(desk, lamps):
    _, outcome = drawn(desk, Light(intensity=0.5, targets=["key"]))
    other = [d.__class__(**{**vars(d), "target": "/World/lights/none"}) for d in outcome.recipe]

    with pytest.raises(RandomizerError, match="scene has no /World/lights/none"):
        replay(fresh(lamps), other)
    with pytest.raises(RandomizerError, match=r"recipe\[0\]: should have the keys attempt"):
        parse_recipe('[{"target": 1}]')


def test_a_section_is_a_list_or_a_mapping_of_names():
    listed = SECTION.validate_python([{"type": "light", "intensity": 2}])
    mapped = SECTION.validate_python({"light": {"intensity": 2}})
    named = SECTION.validate_python({"key": {"type": "light", "intensity": 2}})

    assert listed == mapped
    assert [randomizer.name for randomizer in listed + named] == ["light", "key"]
    assert SECTION.validate_json(SECTION.dump_json(listed)) == listed


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ([{"type": "light", "tilt": 1}, {"type": "light", "tilt": 2}], "'light' names two"),
        ([{"type": "light", "tilt": 1, "scope": "view"}], "should be one of run, scene, episode"),
        ([{"type": "object_pose", "yaw": 1, "scope": "view"}], "should be one of run, scene"),
        ([{"type": "light"}], "draws nothing: set one of intensity, tint, kelvin, tilt, position"),
        ([{"type": "camera_pose", "orbit": {"look_at": 1}}], "draws nothing: set one of azimuth"),
        ([{"type": "light", "intensity": {"normal": {"mean": 1, "std": 1}}}], "may become -inf"),
        ([{"type": "light", "kelvin": 500}], "may become 500.0 K"),
        ([{"type": "light", "intensity": [1, 2]}], "should draw a number, draws 2 components"),
        ([{"type": "camera_pose", "position": [1, 2]}], "should draw 3 components, draws 2"),
        ([{"type": "object_pose", "translation": [1, 2, 3]}], "should draw 2 components, draws 3"),
        ([{"type": "object_pose", "yaw": 1, "attempts": 0}], "greater than or equal to 1"),
        ([{"type": "lite"}], "'camera_pose', 'light', 'object_pose'"),
        ([{"type": "light", "tilt": 1, "colour": 1}], "Extra inputs are not permitted"),
    ],
)
def test_wrong_settings_are_refused(section, message):
    with pytest.raises(ValidationError, match=re.escape(message)):
        SECTION.validate_python(section)


def test_reading_settings_loads_nothing_heavy():
    code = "import sys, randomizers; sys.exit(any(m in sys.modules for m in sys.argv[1:]))"
    command = [sys.executable, "-c", code, "pxr", "mujoco", "scenes"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    assert subprocess.run(command, env=environment).returncode == 0
