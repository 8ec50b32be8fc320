"""Names of scenes, and their cameras, from the config to the rows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from datagen.configuration.config import RunConfig
from datagen.errors import ConfigError
from datagen.progress import SilentProgress
from datagen.run.pipeline import run
from datagen.run.sources import plan_scenes
from writers import read_manifest

CASE = Path(__file__).parent / "cases" / "x07-two-scenes-one-file-name"
A, B = CASE / "a/scene.xml", CASE / "b/scene.xml"


def config(scenes: list[dict[str, Any]], folder: Path = Path("out"), **more: Any) -> RunConfig:
    settings = {"cameras": "all", "size": [16, 16], "backends": ["newton"], **more}
    cache = {"cache": str(folder.parent / "cache")}
    return RunConfig.from_data({"output": str(folder), "scenes": scenes, **cache, **settings})


def mjcf(path: Path, keyframe: str | None = None, **more: Any) -> dict[str, Any]:
    key = {"keyframe": keyframe} if keyframe else {}
    return {"mjcf": {"path": str(path), **key}, **more}


def ids(scenes: list[dict[str, Any]]) -> list[str]:
    return [plan.scene_id for plan in plan_scenes(config(scenes))]


def test_files_of_one_name_are_told_apart_by_folder_and_keyframe_in_any_order() -> None:
    scenes = [mjcf(A), mjcf(B, "low"), mjcf(B, "high")]
    names = ["a_scene", "b_scene_low", "b_scene_high"]
    assert ids(scenes) == names and ids(scenes[::-1]) == names[::-1]
    assert ids(scenes[:1]) == ["scene"]
    assert ids([mjcf(B), mjcf(B, "low")]) == ["scene_rest", "scene_low"]


def test_a_name_of_ones_own_is_taken_and_leaves_the_others_alone() -> None:
    assert ids([mjcf(A, name="ball"), mjcf(B)]) == ["ball", "scene"]
    with pytest.raises(ConfigError, match=r"scenes\.1: .*scene cube .*set scenes\.1\.name"):
        ids([mjcf(A, name="cube"), mjcf(B, name="cube")])
    with pytest.raises(ConfigError, match=r"scenes\.0\.name"):
        ids([mjcf(A, name="a/b")])
    with pytest.raises(ConfigError, match=r"set scenes\.1\.name"):
        ids([mjcf(A), mjcf(A)])


def rows(folder: Path) -> list[tuple[str, str]]:
    tables = [pyarrow.parquet.read_table(p) for p in sorted((folder / "data").glob("*.parquet"))]
    return [
        row
        for table in tables
        for row in zip(table["scene_id"].to_pylist(), table["camera"].to_pylist(), strict=True)
    ]


def test_scenes_of_one_file_name_with_cameras_of_their_own_make_one_run(tmp_path: Path) -> None:
    scenes = [
        mjcf(A, cameras=["front"]), mjcf(B, "low", cameras=["view"]), mjcf(B, "high", name="up"),
    ]  # fmt: skip
    settings = config(scenes, tmp_path / "run", samples_per_state=2)
    summary = run(settings, SilentProgress())
    assert (summary.rows, summary.rows_made) == (6, 6)
    expected = {("a_scene", "front"): 2, ("b_scene", "view"): 2, ("up", "view"): 2}
    assert Counter(rows(tmp_path / "run")) == expected
    manifest = read_manifest(tmp_path / "run")
    assert manifest.scenes["up"]["cameras"] == ["view"]
    assert manifest.scenes["b_scene"]["states"] == ["low"]
    plan = json.loads((tmp_path / "run/plan.json").read_text())["plan"]
    assert [scene["cameras"] for scene in plan["scenes"]] == [["front"], ["view"], "all"]
    assert run(settings, SilentProgress()).rows_made == 0

    poses = {
        row["scene_id"]: row["objects"]
        for path in (tmp_path / "run/data").glob("*.parquet")
        for row in pyarrow.parquet.read_table(path).to_pylist()
    }
    heights = {
        name: next(each for each in objects if each["name"] == "cube")
        for name, objects in poses.items()
        if name != "a_scene"
    }
    low, high = (json.dumps(heights[name], default=str) for name in ("b_scene", "up"))
    assert low != high


def test_all_cameras_of_each_scene_count_for_the_limit(tmp_path: Path) -> None:
    two = tmp_path / "two.xml"
    two.write_text(A.read_text().replace("<geom", '<camera name="top" pos="0 0 2"/><geom', 1))
    settings = config([mjcf(two), mjcf(B)], tmp_path / "run", limit=2)
    assert run(settings, SilentProgress()).rows == 2
    assert rows(tmp_path / "run") == [("two", "front"), ("two", "top")]


def test_a_camera_that_a_scene_has_not_is_named_with_the_key_of_its_source(tmp_path: Path) -> None:
    settings = config([mjcf(A), mjcf(B, cameras=["front"])], tmp_path / "run")
    with pytest.raises(ConfigError, match=r"scenes\.1\.cameras\.0: 'front' .*view.*scene b_scene"):
        run(settings, SilentProgress())
    with pytest.raises(ConfigError, match=r"cameras.*twice"):
        config([mjcf(A, cameras=["front", "front"])])
