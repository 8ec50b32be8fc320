"""A run folder can be used from any current folder, and moved."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from datagen.audit.stored import StoredRun
from datagen.configuration.config import RunConfig
from datagen.progress import SilentProgress, Summary
from datagen.run import pipeline
from datagen.run.plan import deciding_config
from datagen.run.sources import plan_scenes
from writers import read_plan, read_rows

MODEL = """<mujoco><worldbody>
<light pos="0 0 2" dir="0 0 -1"/><camera name="top" pos="0 0 2"/>
<geom name="floor" type="plane" size="1 1 .1"/>
</worldbody></mujoco>"""


def settings(path: str, output: str, cache: Path, **source: object) -> RunConfig:
    return RunConfig.from_data(
        {
            "output": output,
            "cache": str(cache),
            "scenes": [{"mjcf": {"path": path, **source}}],
            "cameras": ["top"],
            "size": [16, 12],
            "mitsuba": {"spp": 1, "denoise": False, "variant": "llvm"},
        }
    )


def made(config: RunConfig) -> Summary:
    return pipeline.run(config, SilentProgress())


def project(folder: Path) -> Path:
    (folder / "models").mkdir(parents=True)
    (folder / "elsewhere" / "deep").mkdir(parents=True)
    (folder / "models" / "a table.xml").write_text(MODEL)
    return folder


def test_a_run_goes_on_and_is_read_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, cache = project(tmp_path / "my project"), tmp_path / "cache"
    monkeypatch.chdir(home)
    assert made(settings("models/a table.xml", "out/run", cache)).rows_made == 1
    (row,) = read_rows(Path("out/run/data"))
    assert row.source == "mjcf/a table.xml"

    monkeypatch.chdir(home / "elsewhere" / "deep")
    again = settings("../../models/a table.xml", "../../out/run", cache)
    assert made(again).rows_made == 0
    plan_scenes(StoredRun(Path("../../out/run")).config)

    moved = home.rename(tmp_path / "moved")
    monkeypatch.chdir("/")
    stored = StoredRun(moved / "out" / "run")
    (plan,) = plan_scenes(stored.config)
    assert plan.states == stored.plan.scenes[0].states


def test_a_run_with_an_absolute_source_moves_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, cache = project(tmp_path / "my project"), tmp_path / "cache"
    source = str(home / "models" / "a table.xml")
    made(settings(source, str(home / "run"), cache))
    shutil.move(home / "run", tmp_path / "archive")
    monkeypatch.chdir("/")
    plan_scenes(StoredRun(tmp_path / "archive").config)
    assert made(settings(source, str(tmp_path / "archive"), cache)).rows_made == 0


def test_roots_packages_and_paths_of_all_file_sources_are_anchored() -> None:
    source: dict[str, Any] = {
        "mjcf": {"path": "a.xml", "roots": ["meshes", "/opt/meshes"]},
        "urdf": {"path": "b.urdf", "packages": {"arm": "ros/arm"}},
        "usd": {"path": "/c.usda"},
    }
    config = RunConfig.from_data(
        {
            "output": "out/run",
            "cameras": ["top"],
            "scenes": [{kind: found} for kind, found in source.items()],
        }
    )
    kept = {
        kind: each
        for found in deciding_config(config)["scenes"]
        for kind, each in found.items()
        if each
    }
    assert kept["mjcf"]["path"] == "../../a.xml"
    assert kept["mjcf"]["roots"] == ["../../meshes", "/opt/meshes"]
    assert kept["urdf"]["packages"] == {"arm": "../../ros/arm"}
    assert kept["usd"]["path"] == "/c.usda"


def test_shards_are_the_same_wherever_the_run_and_its_source_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, cache = project(tmp_path / "home"), tmp_path / "cache"
    monkeypatch.chdir(home)
    made(settings("models/a table.xml", "run", cache))
    made(settings("models/a table.xml", "elsewhere/deep/run", cache))
    made(settings(str(home / "models" / "a table.xml"), str(tmp_path / "run"), cache))
    shards = [
        [shard.read_bytes() for shard in sorted((folder / "run" / "data").glob("*.parquet"))]
        for folder in (home, home / "elsewhere" / "deep", tmp_path)
    ]
    assert len(shards[0]) == 1 and shards[0] == shards[1] == shards[2]


def test_the_plan_names_no_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, cache = project(tmp_path / "my project"), tmp_path / "cache"
    monkeypatch.chdir(home)
    made(settings("models/a table.xml", "out/run", cache))
    assert str(tmp_path) not in str(read_plan(Path("out/run")))
