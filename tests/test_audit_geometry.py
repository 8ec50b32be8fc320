from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench import faults_geometry as plant
from bench.planted import Stand
from bench.planted_faults import room
from datagen.audit.measure.edges import interior
from datagen.audit.measure.geometry import compare_geometry
from datagen.audit.measure.label_differences import compare_labels
from datagen.audit.view import ViewPair
from datagen.backends import Buffers, Size

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    scene = room(tmp_path_factory.mktemp("room"))
    stand = Stand.of(scene, scene.info.default_state, "front", Size(96, 72))
    yield stand
    stand.close()


def with_buffers(stand: Stand, **changed: Any) -> ViewPair:
    def change(buffers: Buffers) -> Buffers:
        return replace(buffers, **changed)

    return stand.changed(change)


def parts(stand: Stand) -> np.ndarray:
    assert stand.reference.buffers.part is not None
    return stand.reference.buffers.part.copy()


def depths(stand: Stand) -> np.ndarray:
    assert stand.reference.buffers.depth is not None
    return stand.reference.buffers.depth.copy()


def number(stand: Stand, name: str) -> int:
    return next(each.part for each in stand.scene.info.parts if each.name == name)


def test_interior_is_where_nine_pixels_agree() -> None:
    rng = np.random.default_rng(3)
    ids = rng.integers(0, 2, (9, 11)).astype(np.int32)
    ids[2:8, 3:9] = 1
    for row, column in np.ndindex(ids.shape):
        block = ids[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2]
        assert interior(ids)[row, column] == (block == ids[row, column]).all()


def test_clean_pair_agrees_in_everything(stand: Stand) -> None:
    found = compare_geometry(stand.pair(stand.reference))
    ones = ("ids.agreement", "instance.agreement", "semantic.agreement", "iou.min")
    assert [found.metrics[name] for name in ones] == [1.0] * 4
    others = {name: value for name, value in found.metrics.items() if name not in ones}
    assert max(others.values()) < 1e-9
    assert found.findings == ()
    assert "normal.mean_deg" not in found.metrics


def test_misses_inside_are_told_from_those_on_borders(stand: Stand) -> None:
    part = parts(stand)
    inside = np.argwhere(interior(part) & (part == number(stand, "floor")))
    edge = np.argwhere(~interior(part) & (part == number(stand, "floor")))
    part[tuple(inside[len(inside) // 2])] = number(stand, "wall")
    part[tuple(edge[0])] = number(stand, "wall")
    found = compare_geometry(with_buffers(stand, part=part))
    # The changed pixel has no uniform neighbourhood on the candidate's side.
    assert found.metrics["ids.interior_misses"] + found.metrics["ids.boundary_misses"] == 2
    assert found.metrics["ids.agreement"] == 1 - 2 / part.size


def test_a_block_of_wrong_ids_counts_inside(stand: Stand) -> None:
    part = parts(stand)
    floor = number(stand, "floor")
    clear = interior(part) & (part == floor)
    row, column = next(
        (r, c) for r, c in np.argwhere(clear) if clear[r : r + 4, c : c + 4].sum() == 16
    )
    part[row : row + 4, column : column + 4] = number(stand, "wall")
    found = compare_geometry(with_buffers(stand, part=part))
    assert found.metrics["ids.interior_misses"] == 4
    assert found.metrics["ids.boundary_misses"] == 12
    assert found.metrics["ids.unexplained"] == 16
    assert "ids.explained" not in found.metrics  # Of 16 pixels a share says little.
    red = (found.maps["ids.disagreement"] == (230, 0, 40)).all(axis=2)
    assert red.sum() == 4 and red[row + 1, column + 1]


def test_a_hundredth_of_a_pixel_is_explained_and_half_a_pixel_is_not(stand: Stand) -> None:
    tiny = compare_geometry(plant.shifted(0.015, 0.015)(stand)).metrics
    half = compare_geometry(plant.shifted(0.5, 0.0)(stand)).metrics
    assert tiny["ids.boundary_misses"] >= 1 and tiny["ids.unexplained"] == 0
    assert half["ids.boundary_misses"] > 20 and half["ids.explained"] < 0.2


def test_depth_errors_are_counted_in_metres(stand: Stand) -> None:
    depth = depths(stand)
    seen = np.argwhere(np.isfinite(depth))
    few, many = seen[: len(seen) // 50], seen[: len(seen) // 5]
    depth[tuple(many.T)] += 0.002
    depth[tuple(few.T)] += 0.02
    found = compare_geometry(with_buffers(stand, depth=depth))
    assert found.metrics["depth.over_1mm"] == pytest.approx(len(many) / len(seen))
    assert found.metrics["depth.over_1cm"] == pytest.approx(len(few) / len(seen))
    assert found.metrics["depth.p99"] == pytest.approx(0.022, rel=1e-3)
    assert found.metrics["depth.median"] == 0.0
    assert np.nanmax(found.maps["depth.difference"]) == pytest.approx(0.022, rel=1e-3)


def test_depth_is_compared_where_ids_agree_only(stand: Stand) -> None:
    part, depth = parts(stand), depths(stand)
    box = part == number(stand, "box")
    part[box], depth[box] = number(stand, "floor"), depth[box] + 1.0
    found = compare_geometry(with_buffers(stand, part=part, depth=depth))
    assert found.metrics["depth.p999"] == 0.0
    assert found.objects["box"]["iou"] == 0.0 == found.metrics["iou.min"]
    assert found.objects["box"]["pixels_reference"] == box.sum()


def test_normals_are_compared_by_angle(stand: Stand) -> None:
    part = parts(stand)
    up = np.zeros((*part.shape, 3), np.float32)
    up[part > 0] = (0, 0, 1)
    tilt = np.radians(3.0)
    tilted = np.where(part[..., None] > 0, np.float32([np.sin(tilt), 0, np.cos(tilt)]), 0)
    reference = replace(stand.reference, buffers=replace(stand.reference.buffers, normal=up))
    pair = replace(with_buffers(stand, normal=tilted.astype(np.float32)), reference=reference)
    found = compare_geometry(pair)
    assert found.metrics["normal.mean_deg"] == pytest.approx(3.0, abs=1e-3)
    assert found.metrics["normal.p99_deg"] == pytest.approx(3.0, abs=1e-3)
    np.testing.assert_allclose(found.maps["normal.angle"][part > 0], 3.0, atol=1e-3)


def test_stated_cameras_and_their_boxes_are_compared(stand: Stand) -> None:
    camera = stand.reference.labels.camera
    K, T = camera.K.copy(), camera.T_world_camera.copy()
    K[0, 2] += 2.5
    T[:3, 3] += 0.004 * T[:3, 2]
    shifted = replace(camera, K=K, T_world_camera=T)
    labels = replace(stand.reference.labels, camera=shifted)
    found = compare_geometry(stand.pair(replace(stand.reference, labels=labels))).metrics
    assert found["camera.k_px"] == pytest.approx(2.5)
    assert found["camera.position_mm"] == pytest.approx(4.0)
    assert found["camera.rotation_deg"] == pytest.approx(0.0, abs=1e-9)
    assert 2.5 <= found["box.max_corner_px"] < 4.0


def test_labels_differ_by_boxes_counts_and_occlusion(stand: Stand) -> None:
    part = parts(stand)
    box, floor = number(stand, "box"), number(stand, "floor")
    columns = np.nonzero((part == box).any(axis=0))[0]
    cut = part.copy()
    cut[:, : columns[0] + 3][cut[:, : columns[0] + 3] == box] = floor
    lost = np.count_nonzero((part == box) & (cut != box))
    found = compare_labels(with_buffers(stand, part=cut))
    assert found.metrics["labels.tight_box_px"] == 3.0
    assert found.metrics["labels.count_difference"] == 0.0
    total = next(each.pixels_total for each in stand.reference.labels.objects if each.name == "box")
    assert found.metrics["labels.occlusion_difference"] == pytest.approx(lost / total, abs=1e-3)
    gone = np.where(part == box, floor, part)
    assert compare_labels(with_buffers(stand, part=gone)).metrics["labels.count_difference"] == 1.0
