"""Runs from USD and URDF sources, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from datagen.cli import app

RUN = """
seed: 3
output: {folder}/run
cache: {folder}/cache
scenes:
  - usd:
      path: configs/usd/shelf.usda
      objects:
        "{{name}}": {{label: tin, paths: [/Shelf/Goods/tin_*], free: true}}
      cameras: {{front_2: {{position: [0, -2, 1], look_at: [0, 0, 0.4]}}}}
  - urdf:
      path: configs/urdf/lift.urdf
      cameras: {{front_2: {{position: [1.3, -0.9, 0.7], look_at: [0.15, 0, 0.25]}}}}
cameras: [front_2]
size: [48, 48]
backends: [mujoco]
randomize:
  object_pose: {{targets: [tin_1], missing: skip, yaw: {{uniform: [-90, 90]}}}}
"""


@pytest.mark.gl
def test_a_run_takes_usd_and_urdf_and_can_be_given_again(tmp_path: Path) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(RUN.format(folder=tmp_path))
    done = CliRunner().invoke(app, ["run", str(config)])
    assert done.exit_code == 0, done.output
    rows = [
        row for file in sorted((tmp_path / "run" / "data").iterdir())
        for row in pq.read_table(file).to_pylist()
    ]  # fmt: skip
    assert [row["scene_id"] for row in rows] == ["shelf", "lift"]
    names = {thing["name"]: thing for thing in rows[0]["objects"]}
    assert names["tin_1"]["class"] == names["tin_2"]["class"] == "tin"
    assert names["tin_1"]["pixels_visible"] > 5
    assert [thing["name"] for thing in rows[1]["objects"]] == ["lift_arm"]
    recipe = json.loads(rows[0]["recipe"])
    assert [draw["target"] for draw in recipe] == ["/World/tin_1"]
    assert np.allclose(np.array(rows[1]["T_world_camera"]).reshape(4, 4)[:3, 3], [1.3, -0.9, 0.7])
    again = CliRunner().invoke(app, ["run", str(config)])
    assert again.exit_code == 0, again.output


def test_a_missing_file_is_refused_before_any_work(tmp_path: Path) -> None:
    config = tmp_path / "run.yaml"
    text = RUN.format(folder=tmp_path).replace("configs/usd/shelf.usda", "configs/usd/none.usda")
    config.write_text(text)
    done = CliRunner().invoke(app, ["run", str(config)])
    assert done.exit_code == 2
    assert "scenes.0.usd.path: 'configs/usd/none.usda' does not exist" in done.output
