from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench import faults_geometry as plant
from bench.planted import Stand
from bench.planted_faults import room
from datagen.audit.diagnose.findings import Finding
from datagen.audit.diagnose.geometry.diagnosis import diagnose_geometry
from datagen.audit.diagnose.geometry.resection import resect
from datagen.audit.diagnose.geometry.warp import rotation
from datagen.audit.view import ViewPair
from datagen.backends import Buffers, Size
from scenes import convert_mjcf

pytestmark = pytest.mark.gl

CASES = Path(__file__).parent / "cases"
FLIPS = [("rows_flipped", (0,)), ("columns_flipped", (1,)), ("rotated_180", (0, 1))]


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    scene = room(tmp_path_factory.mktemp("room"))
    stand = Stand.of(scene, scene.info.default_state, "front", Size(192, 144))
    yield stand
    stand.close()


def only(pair: ViewPair, kind: str, subject: str) -> Finding:
    """The one finding of a view, which must name this culprit."""
    found = diagnose_geometry(pair)
    assert [(each.kind, each.subject) for each in found] == [(kind, subject)]
    return found[0]


def test_clean_pair_has_no_finding(stand: Stand) -> None:
    assert diagnose_geometry(stand.pair(stand.reference)) == ()


def test_rounding_and_ties_are_no_fault(stand: Stand) -> None:
    rng = np.random.default_rng(1)

    def change(buffers: Buffers) -> Buffers:
        assert buffers.depth is not None and buffers.part is not None
        noise = 1.0 + 1e-6 * rng.standard_normal(buffers.depth.shape)
        part = buffers.part.copy()
        rows, columns = np.nonzero(np.diff(part, axis=1))
        chosen = rng.choice(len(rows), 15, replace=False)
        part[rows[chosen], columns[chosen]] = part[rows[chosen], columns[chosen] + 1]
        return replace(buffers, depth=(buffers.depth * noise).astype(np.float32), part=part)

    assert diagnose_geometry(stand.changed(change)) == ()


@pytest.mark.parametrize(("kind", "axes"), FLIPS)
def test_flips_are_named(stand: Stand, kind: str, axes: tuple[int, ...]) -> None:
    only(plant.flipped(*axes)(stand), kind, "picture")


def test_flip_of_one_buffer_names_that_buffer(stand: Stand) -> None:
    found = only(plant.depth_of(np.flipud)(stand), "rows_flipped", "picture")
    assert "The depth of candidate is upside down" in found.sentence


def test_fault_behind_a_flip_is_found_too(stand: Stand) -> None:
    shifted = plant.shifted(3.0, 0.0)(stand).candidate.buffers
    pair = replace(stand, reference=replace(stand.reference, buffers=shifted))
    flipped = plant.flipped(0)(pair)
    found = diagnose_geometry(replace(flipped, reference=stand.reference))
    assert {each.kind for each in found} == {"rows_flipped", "pixel_shift"}


@pytest.mark.parametrize("shift", [(0.0, -0.5), (-3.25, 6.5)])
def test_pixel_shift_is_measured(stand: Stand, shift: tuple[float, float]) -> None:
    found = only(plant.shifted(*shift)(stand), "pixel_shift", "camera front")
    assert found.size == pytest.approx(np.abs(shift).max(), abs=0.05)


@pytest.mark.parametrize("degrees", [1.0, -10.0])
def test_field_of_view_is_measured(stand: Stand, degrees: float) -> None:
    found = only(plant.field_of_view(degrees)(stand), "field_of_view", "camera front")
    assert found.size == pytest.approx(degrees, abs=0.05)


@pytest.mark.parametrize("stated", [True, False])
def test_transposed_principal_point_is_told_from_a_shift(stand: Stand, stated: bool) -> None:
    pair = plant.transposed((6.0, -3.0), stated=stated)(stand)
    found = only(pair, "principal_point_transposed", "camera front")
    assert found.size == pytest.approx(9.0, abs=0.05)
    assert ("states" in found.sentence) == stated


def test_camera_axes_are_named_when_stated(stand: Stand) -> None:
    found = only(plant.gl_axes_stated(stand), "camera_pose", "camera front")
    assert "OpenGL's camera axes" in found.sentence


def test_inverse_pose_is_named_when_stated(stand: Stand) -> None:
    camera = stand.reference.labels.camera
    stated = replace(camera, T_world_camera=np.linalg.inv(camera.T_world_camera))
    labels = replace(stand.reference.labels, camera=stated)
    pair = stand.pair(replace(stand.reference, labels=labels))
    assert "inverse pose" in only(pair, "camera_pose", "camera front").sentence


def test_camera_that_looks_away_is_one_finding(stand: Stand) -> None:
    only(plant.gl_axes_rendered(stand), "camera_pose", "camera front")


@pytest.mark.parametrize("mm", [2.0, 200.0])
def test_camera_offset_is_measured(stand: Stand, mm: float) -> None:
    found = only(plant.camera_moved(mm)(stand), "camera_pose", "camera front")
    assert found.size == pytest.approx(mm, rel=0.05)


def test_camera_rotation_is_measured(stand: Stand) -> None:
    found = only(plant.camera_moved(5.0, 2.0)(stand), "camera_pose", "camera front")
    assert "5.0 mm away and turned by 2.00 degrees" in found.sentence


def test_wrong_near_distance_is_found_in_depth(stand: Stand) -> None:
    found = only(plant.other_near(0.001)(stand), "near_far", "camera front")
    assert found.size == pytest.approx(0.1, rel=0.01)


def test_depth_from_the_near_plane_and_distance_are_told_apart(stand: Stand) -> None:
    offset = only(plant.depth_of(lambda d: d - 0.01)(stand), "near_far", "camera front")
    assert "+10.00 mm off" in offset.sentence or "-10.00 mm off" in offset.sentence
    distance = stand.reference.buffers.distance
    assert distance is not None
    found = only(plant.depth_of(lambda _: distance)(stand), "near_far", "camera front")
    assert "distance to the camera's centre" in found.sentence


def test_inverse_depth_with_another_near_and_far_is_found(stand: Stand) -> None:
    pair = plant.depth_of(lambda d: 1.0 / (0.9 / d + 0.02))(stand)
    assert "near or far distance" in only(pair, "near_far", "camera front").sentence


def test_near_plane_that_cuts_is_found(stand: Stand) -> None:
    pair = plant.clipped(0.05)(stand)
    found = diagnose_geometry(pair)
    assert [each.kind for each in found] == ["near_far"]
    depth = stand.reference.buffers.depth
    assert depth is not None
    near = 1000 * np.quantile(depth[np.isfinite(depth)], 0.05)
    assert found[0].size == pytest.approx(near, rel=0.01)


@pytest.mark.parametrize(
    ("axis", "mm"), [("x", (2.0, 0.0, 0.0)), ("z", (0.0, 0.0, 2.0))], ids=["x", "z"]
)
def test_object_moved_by_2_mm_is_measured(
    stand: Stand, axis: str, mm: tuple[float, float, float]
) -> None:
    found = only(plant.moved("box", mm)(stand), "object_pose", "object box")
    assert found.size == pytest.approx(2.0, abs=0.3)
    assert f"{axis} +{found.size:.1f}"[:4] in found.sentence


def test_object_far_from_its_place_is_measured(stand: Stand) -> None:
    found = only(plant.moved("ball", (0.0, 200.0, 0.0))(stand), "object_pose", "object ball")
    assert found.size == pytest.approx(200.0, rel=0.02)


def test_object_turned_is_measured_in_degrees(stand: Stand) -> None:
    found = only(plant.moved("box", (0.0, 0.0, 0.0), 2.0)(stand), "object_pose", "object box")
    assert (found.unit, found.size) == ("deg", pytest.approx(2.0, abs=0.2))


@pytest.mark.parametrize(("name", "percent"), [("box", 2.0), ("ball", -2.0)])
def test_object_scale_is_told_from_a_pose(stand: Stand, name: str, percent: float) -> None:
    found = only(plant.resized(name, percent)(stand), "object_scale", f"object {name}")
    assert found.size == pytest.approx(percent, rel=0.4)


def test_moved_object_is_found_beside_a_wrong_camera(stand: Stand) -> None:
    sample = stand.fresh()
    (body,) = [each.path for each in stand.scene.info.bodies if each.name == "box"]
    pose = sample.pose(body)
    pose[0, 3] += 0.03
    sample.set_pose(body, pose)
    path = "/World/cameras/front.focalLength"
    sample.set(path, sample.get(path) * 1.1)
    found = diagnose_geometry(stand.rendered(sample))
    assert [each.kind for each in found] == ["field_of_view", "object_pose"]
    assert found[1].subject == "object box"
    assert found[1].size == pytest.approx(30.0, abs=1.5)


def test_missing_object_is_named_on_either_side(stand: Stand) -> None:
    pair = plant.hidden("can")(stand)
    found = only(pair, "object_missing", "object can")
    assert found.sentence.startswith("candidate does not draw can")
    can = next(each for each in stand.reference.labels.objects if each.name == "can")
    assert found.size == can.pixels_visible
    candidate = replace(pair.reference, backend="other")
    turned = replace(pair, reference=pair.candidate, candidate=candidate)
    found = only(turned, "object_missing", "object can")
    assert found.sentence.startswith("candidate does not draw can")


def test_object_hidden_behind_another_is_not_missing(stand: Stand) -> None:
    pair = plant.moved("box", (-300.0, -350.0, 100.0))(stand)
    assert {each.kind for each in diagnose_geometry(pair)} == {"object_pose"}


def test_case_of_flips_and_mirrors(tmp_path: Path) -> None:
    shutil.copy(CASES / "d12-flip-and-mirror" / "scene.xml", tmp_path / "scene.xml")
    scene = convert_mjcf(tmp_path / "scene.xml", tmp_path / "scene")
    stand = Stand.of(scene, scene.info.default_state, "top", Size(64, 64))
    try:
        assert diagnose_geometry(stand.pair(stand.reference)) == ()
        for kind, axes in FLIPS:
            only(plant.flipped(*axes)(stand), kind, "picture")
        shift = only(plant.shifted(0.5, 0.0)(stand), "pixel_shift", "camera top")
        assert shift.size == pytest.approx(0.5, abs=0.2)
    finally:
        stand.close()


def test_resection_recovers_a_pinhole_from_world_points() -> None:
    rng = np.random.default_rng(7)
    K = np.array([[210.0, 0, 70], [0, 190, 52], [0, 0, 1]])
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation(np.array([0.4, -2.0, 0.9])), (0.3, -1.2, 2.0)
    rows, columns = np.mgrid[0:100, 0:150] + 0.5
    rays = np.stack([(columns - 70) / 210, (rows - 52) / 190, np.ones_like(rows)], axis=-1)
    points = rays * rng.uniform(0.5, 3.0, (100, 150, 1))
    position = (points @ T[:3, :3].T + T[:3, 3]).astype(np.float32)
    found = resect(Buffers(position=position))
    assert found is not None
    np.testing.assert_allclose(found[0], K, atol=0.01)
    np.testing.assert_allclose(found[1], T, atol=1e-4)
    assert resect(Buffers(position=np.ascontiguousarray(position[:, ::-1]))) is None
