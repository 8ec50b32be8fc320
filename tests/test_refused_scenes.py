"""Scenes that are refused beside others that are not."""

import json
import os
import shlex
import stat
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from datagen.audit.run import audit
from datagen.cli import app
from datagen.configuration.config import RunConfig
from datagen.errors import ConfigError, DatagenError
from datagen.progress import SilentProgress, Summary
from datagen.run import cluster, pipeline
from scenes import AssetError, SceneError
from scenes.sources.libero import build_process
from writers import PlanError, read_manifest, read_rows

SCENE = """<mujoco><asset><mesh name="lump" file="{name}.obj" scale=".1 .1 .1"/></asset><worldbody>
  <light pos="0 0 2" dir="0 0 -1"/><geom name="floor" type="plane" size="1 1 .1"/>
  <body name="{label}"><geom type="mesh" mesh="lump"/></body>
  <camera name="top" pos="0 0 2"/></worldbody></mujoco>"""
MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"


def scenes_config(folder: Path, broken: str = "", **changes: Any) -> dict[str, Any]:
    """Config of the scenes a, b and c, of which some lack their mesh."""
    folder.mkdir(exist_ok=True)
    for name in "abc":
        (folder / f"{name}.xml").write_text(SCENE.format(name=name, label="lump"))
        (folder / f"{name}.obj").unlink(missing_ok=True)
        if name not in broken:
            (folder / f"{name}.obj").write_text(MESH)
    return {
        "output": str(folder / "run"),
        "cache": str(folder / "cache"),
        "scenes": [{"mjcf": {"path": str(folder / f"{name}.xml")}} for name in "abc"],
        "cameras": ["top"],
        "size": [16, 16],
        "mitsuba": {"spp": 1, "denoise": False, "variant": "llvm"},
        **changes,
    }


def made(data: dict[str, Any]) -> Summary:
    return pipeline.run(RunConfig.from_data(data), SilentProgress())


def shards(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((folder / "data").iterdir())}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def whole(home: Path) -> dict[str, bytes]:
    """Shards of a run of which no scene is refused."""
    made(scenes_config(home))
    return shards(home / "run")


def test_the_others_are_made_to_the_same_bytes_and_the_mended_scene_joins_them(
    home: Path, whole: dict[str, bytes]
) -> None:
    output = home / "gap"
    config = home / "run.yaml"
    config.write_text(yaml.safe_dump(scenes_config(home, "b", output=str(output))))
    done = CliRunner().invoke(app, ["run", str(config)])
    assert done.exit_code == 3, done.output
    told = [line for line in done.output.splitlines() if line.startswith("  b: ")]
    assert len(told) == 1 and str(home / "b.obj") in told[0]
    kept = {name: data for name, data in whole.items() if name != "train-00001.parquet"}
    assert len(whole) == 3 and shards(output) == kept
    assert {row.row_id for row in read_rows(output / "data")} == {
        "a/0/0/top/mitsuba", "c/0/0/top/mitsuba",
    }  # fmt: skip
    manifest = read_manifest(output)
    assert list(manifest.refused) == ["b"] and "b.obj" in manifest.refused["b"]
    assert list(manifest.scenes) == ["a", "c"]
    for page in ("report.html", "README.md"):
        assert "b.obj" in (output / page).read_text()
    shown = CliRunner().invoke(app, ["inspect", str(output)])
    assert shown.exit_code == 0 and "1 scene refused" in shown.output

    (output / "data" / "train-00002.parquet").unlink()
    (output / "manifest.json").unlink()
    again = made(scenes_config(home, "b", output=str(output)))
    assert (again.rows, again.rows_made, list(again.refused)) == (2, 1, ["b"])
    assert shards(output) == kept

    mended = made(scenes_config(home, output=str(output)))
    assert (mended.rows, mended.rows_made, dict(mended.refused)) == (3, 1, {})
    assert shards(output) == whole
    assert read_manifest(output).refused == {}
    assert CliRunner().invoke(app, ["run", str(config)]).exit_code == 0

    with pytest.raises(SceneError, match=r"holds rows of the scene b, which is refused now: .*obj"):
        made(scenes_config(home, "b", output=str(output)))
    assert shards(output) == whole


def test_a_mended_scene_that_would_renumber_classes_needs_another_folder(
    home: Path, whole: dict[str, bytes]
) -> None:
    output = str(home / "renumbered")
    made(scenes_config(home, "b", output=output))
    data = scenes_config(home, output=output)
    (home / "b.xml").write_text(SCENE.format(name="b", label="bowl"))
    with pytest.raises(PlanError, match=r"'classes\.floor' is 1 there and 2 here"):
        made(data)


def test_a_scene_that_changed_after_its_rows_were_made_needs_another_folder(
    home: Path, whole: dict[str, bytes]
) -> None:
    data = scenes_config(home)
    (home / "b.obj").write_text(MESH.replace("v 1 0 0", "v 2 0 0"))
    with pytest.raises(PlanError, match=r"b.plan\.json.*'digest'"):
        made(data)


def test_where_every_scene_is_refused_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(SceneError) as caught:
        made(scenes_config(tmp_path, "abc"))
    head, *lines = str(caught.value).splitlines()
    assert head == "Every scene was refused:"
    assert [line[:3] for line in lines] == ["a: ", "b: ", "c: "]
    assert not (tmp_path / "run").exists()


def test_the_limit_counts_the_rows_of_a_refused_scene(tmp_path: Path) -> None:
    summary = made(scenes_config(tmp_path, "a", limit=2))
    assert (summary.rows, list(summary.refused)) == (1, ["a"])
    assert [row.scene_id for row in read_rows(tmp_path / "run" / "data")] == ["b"]


def test_a_camera_that_a_later_scene_lacks_is_still_an_error_of_the_config(tmp_path: Path) -> None:
    data = scenes_config(tmp_path, "a")
    (tmp_path / "c.xml").write_text(SCENE.format(name="c", label="lump").replace("top", "side"))
    with pytest.raises(ConfigError, match=r"cameras\.0: .*scene c"):
        made(data)
    assert not (tmp_path / "run").exists()


def test_more_lights_than_mujoco_draws_are_told_before_rendering(tmp_path: Path) -> None:
    data = scenes_config(tmp_path, backends=["mujoco"])
    lamps = "<light/>" * 7
    text = SCENE.format(name="c", label="lump")
    (tmp_path / "c.xml").write_text(text.replace("<worldbody>", f"<worldbody>{lamps}"))
    with pytest.raises(ConfigError, match=r"at most 8 lights, but in the scene c 9 shine"):
        made(data)
    assert not (tmp_path / "run").exists()
    audited = RunConfig.from_data({**data, "backends": ["mitsuba"]})
    with pytest.raises(ConfigError, match=r"at most 8 lights"):
        audit(audited, SilentProgress())


def test_a_scene_that_breaks_while_it_is_rendered_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise AssetError("base.usdc: missing.")

    monkeypatch.setattr(cluster, "make_shard", broken)
    with pytest.raises(DatagenError, match=r"base\.usdc: missing") as caught:
        made(scenes_config(tmp_path))
    assert caught.value.exit_code == 4


@pytest.mark.gl
def test_an_audit_compares_the_others_and_ends_with_3(tmp_path: Path) -> None:
    data = scenes_config(
        tmp_path,
        "b",
        backends=["mujoco"],
        audit={"backends": ["mujoco", "mitsuba"], "fine": 1, "findings": "note"},
    )
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(data))
    limits = "--set=audit.thresholds.ids.agreement.min=0.999999"
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "audit.yaml"), limits])
    assert done.exit_code == 3, done.output
    assert "1 scene refused, without rows:" in done.output
    record = json.loads((tmp_path / "run" / "audit" / "audit.json").read_text())
    assert [view["scene_id"] for view in record["views"]] == ["a", "c"]
    assert list(record["refused"]) == ["b"] and "b.obj" in record["refused"]["b"]
    assert "b.obj" in (tmp_path / "run" / "audit" / "audit.html").read_text()


@pytest.mark.gl
def test_an_audit_of_a_run_names_the_scenes_it_lacks_and_ends_with_3(tmp_path: Path) -> None:
    made(scenes_config(tmp_path, "b", backends=["mujoco"]))
    sets = ["--set=audit.backends=[mujoco, mitsuba]", "--set=audit.fine=1"]
    run = str(tmp_path / "run")
    done = CliRunner().invoke(app, ["audit", "--run", run, "--rows", "1", *sets])
    assert done.exit_code == 3, done.output
    record = json.loads((tmp_path / "run" / "audit" / "audit.json").read_text())
    assert list(record["refused"]) == ["b"] and "b.obj" in record["refused"]["b"]


FAKE_BUILD = """
import json, os, sys
request = json.load(sys.stdin)
with open(os.environ["CALLS"], "a") as calls:
    calls.write("x")
def say(job, error=""):
    print(json.dumps({"job": job, "error": error, "seconds": 0.1}), flush=True)
if request["jobs"][0]["task"] == "unimportable":
    sys.exit("No module named 'robosuite'")
say(-1)
for number, job in enumerate(request["jobs"]):
    if job["task"] == "kills":
        sys.stderr.write("Segmentation fault")
        os._exit(139)
    say(number, "no place for the bowl." if job["task"] == "refuses" else "")
"""


def built(
    tasks: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, str], int]:
    """Reasons of failures by task, and how many processes were started."""
    executable = folder / "python"
    (folder / "build.py").write_text(FAKE_BUILD)
    # No interpreter line: those hold no path with a space.
    command = shlex.join([sys.executable, str(folder / "build.py")])
    executable.write_text(f"#!/bin/sh\nexec {command}\n")
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    environment = os.environ | {"CALLS": str(folder / "calls")}
    monkeypatch.setattr(build_process.sys, "executable", str(executable))
    monkeypatch.setattr(build_process, "_environment", lambda _: environment)
    monkeypatch.setattr(
        build_process, "installed_catalogue", lambda: SimpleNamespace(asset_roots=[])
    )
    jobs: list[Any] = [{"suite": "s", "task": task, "target": task} for task in tasks]
    failures = build_process.run_builds(jobs, folder, None)
    return {task: str(error) for task, error in failures.items()}, len(
        (folder / "calls").read_text()
    )


def test_a_task_that_kills_the_build_process_loses_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures, processes = built(["a", "kills", "b", "refuses", "c"], tmp_path, monkeypatch)
    assert failures == {
        "kills": "s/kills: the build process ended early: Segmentation fault",
        "refuses": "s/refuses: no place for the bowl.",
    }
    assert processes == 2


def test_a_build_process_that_cannot_start_is_not_started_for_each_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures, processes = built(["unimportable", "a"], tmp_path, monkeypatch)
    assert list(failures) == ["unimportable", "a"]
    assert all(each.endswith("No module named 'robosuite'") for each in failures.values())
    assert processes == 1
