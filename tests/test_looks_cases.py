"""Colours and normals that others lost, in the rows that a run stores with each renderer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import binary_erosion

from datagen.backends.registry import capabilities
from datagen.configuration.config import RunConfig
from datagen.progress import SilentProgress
from datagen.run import pipeline
from scenes import srgb_encode
from writers import Row, read_rows

CASES = Path(__file__).parent / "cases"
TINT, FLAT = "a47-texture-times-rgba", "a50-stl-flat-normals"
HALF_SIZE = 0.2
"""Of the box of `FLAT` [m]."""
MARKS = {"mitsuba": (), "mujoco": pytest.mark.gl, "newton": pytest.mark.newton}


@pytest.fixture(scope="module", params=[pytest.param(n, marks=m) for n, m in MARKS.items()])
def rows(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Row]:
    """Row of each case."""
    folder = tmp_path_factory.mktemp(request.param)
    config = RunConfig.from_data(
        {
            "output": str(folder / "run"),
            "cache": str(folder / "cache"),
            "scenes": [
                {"name": case, "mjcf": {"path": str(CASES / case / "scene.xml")}}
                for case in (TINT, FLAT)
            ],
            "cameras": ["cam"],
            "size": [96, 72],
            "backends": [request.param],
            "passes": sorted({"albedo", "normal"} & capabilities()[request.param]),
            "mitsuba": {"variant": "llvm"},
        }
    )
    pipeline.run(config, SilentProgress())
    return {row.scene_id: row for row in read_rows(folder / "run" / "data")}


def expected(case: str) -> dict[str, Any]:
    return json.loads((CASES / case / "case.json").read_text(encoding="utf-8"))["expect"]


def faces_of_a_box(row: Row, half_size: float) -> NDArray[np.int64]:
    """Axis of the face, of those towards +x, +y and +z, that each pixel's ray meets; -1: none."""
    assert row.K is not None and row.T_world_camera is not None
    x, y = np.meshgrid(np.arange(row.width) + 0.5, np.arange(row.height) + 0.5)
    T = np.array(row.T_world_camera).reshape(4, 4)
    K = np.array(row.K).reshape(3, 3)
    rays = np.stack([x, y, np.ones_like(x)], axis=2) @ np.linalg.inv(K).T @ T[:3, :3].T
    near, far = ((side * half_size - T[:3, 3]) / rays for side in (1, -1))
    near, far = np.minimum(near, far), np.maximum(near, far)
    return np.where(near.max(axis=2) < far.min(axis=2), near.argmax(axis=2), -1)


def test_a_texture_is_multiplied_by_the_colour_of_its_material_or_geom(
    rows: dict[str, Row],
) -> None:
    row = rows[TINT]
    assert row.albedo is not None and row.rgb is not None
    for pixel in expected(TINT)["gl"]["cam"]:
        u, v = pixel["uv"]
        albedo = 255 * srgb_encode(row.albedo[v, u].astype(np.float64))
        np.testing.assert_allclose(albedo, pixel["rgb"], atol=0.6)
        if row.backend != "mitsuba":  # Ambient light of 1 shows the colour itself.
            np.testing.assert_array_equal(row.rgb[v, u], pixel["rgb"])


def test_each_face_of_an_stl_box_has_one_normal_and_one_brightness(rows: dict[str, Row]) -> None:
    row = rows[FLAT]
    assert row.part is not None and row.rgb is not None
    face = faces_of_a_box(row, HALF_SIZE)
    assert np.count_nonzero((face >= 0) != (row.part > 0)) <= 2
    face[row.part == 0] = -1
    if row.backend != "mujoco":  # It gives no normals.
        assert row.normal is not None
        found = np.unique(row.normal[row.part > 0].round(5), axis=0)
        np.testing.assert_array_equal(found, expected(FLAT)["rule"]["normals_in_view"])
        assert np.mean(row.normal.argmax(axis=2)[face >= 0] == face[face >= 0]) > 0.99
    to_sun = np.array([0.3, 0.4, 0.866])
    for axis, cosine in enumerate(to_sun / np.linalg.norm(to_sun)):
        inside = np.asarray(binary_erosion(face == axis, iterations=2), dtype=np.bool_)
        assert inside.sum() > 100
        shown = row.rgb[inside].astype(int)
        if row.backend == "mitsuba":
            assert np.ptp(shown) <= 10  # Of noise.
        else:
            np.testing.assert_allclose(shown, 255 * 0.6 * 0.8 * cosine, atol=0.6)
