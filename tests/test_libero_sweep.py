"""Three tasks of LIBERO held against MuJoCo as `make sweep` holds all of them."""

import json
from pathlib import Path

import pytest

from bench.libero_sweep import CONFIG, lost_elements, mean_of
from datagen.audit.command import audit_command
from datagen.configuration.config import load_config

SCENES = (
    "scenes=[{libero: {suite: libero_object, tasks: [3]}},"
    "{libero: {suite: libero_10, tasks: [2]}}, {libero: {suite: libero_90, tasks: [45]}}]"
)


@pytest.mark.gl
@pytest.mark.libero
def test_three_tasks_show_what_mujoco_shows(tmp_path: Path) -> None:
    overrides = [SCENES, f"output={tmp_path}"]
    results, _ = audit_command(
        CONFIG,
        run=None,
        rows=None,
        overrides=overrides,
        output=None,
        limit=None,
        save_baseline=None,
        against=None,
    )
    views = json.loads((tmp_path / "audit" / "audit.json").read_text(encoding="utf-8"))["views"]
    assert len(views) == 6 and not results.refused
    assert mean_of(views, "ids.agreement") >= 0.9998
    assert [(view["scene_id"], view["failures"]) for view in views if view["failures"]] == []
    for view in views:
        measured = view["metrics"]
        assert measured["ids.agreement"] >= 0.998
        assert measured["ids.interior_misses"] == 0
        assert measured["depth.p999"] <= 1e-5
        assert measured["albedo.psnr"] >= 30.0
        assert measured["albedo.filtered_psnr"] >= 40.0
    assert lost_elements(load_config(CONFIG, overrides, {})) == ""
