from __future__ import annotations

import csv
import dataclasses
import gc
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from audit_scene import few_numbers, one_column_right, plant, settings
from typer.testing import CliRunner

from datagen.audit.caveats import sort_caveats
from datagen.audit.diagnose.findings import Comparison
from datagen.audit.pages.page import write_page
from datagen.audit.results import write_results
from datagen.audit.run import audit, audit_run
from datagen.audit.stored import StoredRun
from datagen.audit.view import ViewPair
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.cli import app
from datagen.errors import ConfigError
from datagen.progress import SilentProgress
from datagen.run import pipeline
from datagen.run.exposure import EXPOSURE
from scenes import Scene

gl = pytest.mark.gl


def open_scenes() -> int:
    gc.collect()
    return sum(isinstance(each, Scene) for each in gc.get_objects())


@gl
def test_two_equal_renderers_pass_and_give_the_same_files_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    files = []
    for name in ("a", "b"):
        results = audit(settings(tmp_path), SilentProgress(), compare=few_numbers)
        assert results.passed
        assert [view.camera for view in results.views] == ["top", "side", "top", "side"]
        assert all(view.metrics["ids.agreement"] == 1.0 for view in results.views)
        files.append([path.read_bytes() for path in write_results(results, tmp_path / name)])
    assert files[0] == files[1]
    record = json.loads(files[0][0])
    assert (record["results_version"], record["passed"], len(record["views"])) == (1, True, 4)
    lines = list(csv.DictReader(io.StringIO(files[0][1].decode())))
    named = {line["object"] for line in lines if line["metric"] == "objects.luminance_ratio"}
    assert {"red_box", "ball"} <= named
    assert {line["result"] for line in lines if line["metric"] == "ids.agreement"} == {"pass"}


@gl
def test_a_planted_shift_ends_the_command_with_5_and_says_what_failed_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, one_column_right)
    config = settings(tmp_path)
    data = json.loads(config.model_dump_json()) | {"cache": str(config.cache)}
    data["audit"] = {"backends": ["mujoco", "newton"], "fine": 1}
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(data))
    command = ["audit", str(tmp_path / "audit.yaml"), "--limit", "2"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 5, done.output
    failed = [line for line in done.output.splitlines() if "ids.agreement:" in line]
    assert any(line.strip().startswith("table/0/0/top:") for line in failed)
    assert all("allowed >= 99.8 %" in line for line in failed)
    folder = tmp_path / "run" / "audit"
    assert sorted(path.name for path in folder.iterdir()) == [
        "audit.csv",
        "audit.html",
        "audit.json",
    ]
    lifted = [
        f"--set=audit.thresholds.ids.{name}=null"
        for name in ("agreement", "explained", "unexplained")
    ]
    assert "ids.agreement:" not in CliRunner().invoke(app, [*command, *lifted]).output


@gl
def test_limit_counts_views_in_whole_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    results = audit(settings(tmp_path, limit=1), SilentProgress(), compare=few_numbers)
    assert [view.key for view in results.views] == ["table/0/0/top newton", "table/0/0/side newton"]


def test_one_backend_alone_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    config = settings(tmp_path, audit={"backends": ["mujoco"]})
    with pytest.raises(ConfigError, match=r"audit\.backends: mujoco alone"):
        audit(config, SilentProgress())


@gl
def test_the_path_tracer_sees_what_mujoco_sees(tmp_path: Path) -> None:
    config = settings(tmp_path, limit=1, audit={"backends": ["mujoco", "mitsuba"]})
    before = open_scenes()
    results = audit(config, SilentProgress())
    for view in results.views:
        assert view.metrics["ids.agreement"] >= 0.999
        assert view.metrics["ids.interior_misses"] == 0
        assert view.metrics["depth.p999"] < 1e-5
        assert {"reference", "candidate", "difference", "flip"} <= set(view.pictures)
        geometry = ("ids", "depth", "camera", "labels", "instance", "iou", "box")
        assert not [v for v in view.failures if v.metric.startswith(geometry)]
    assert results.backends["mujoco"]["colorspace"] == "display"
    assert open_scenes() == before


@gl
def test_an_audit_without_pictures_traces_no_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("a path was traced")

    monkeypatch.setattr(MitsubaBackend, "_look", refused)
    audited = {"backends": ["mujoco", "mitsuba"], "pictures": False}
    results = audit(settings(tmp_path, limit=1, audit=audited), SilentProgress())
    write_page(results, tmp_path / "page")
    for view in results.views:
        assert {"ids.agreement", "depth.p999", "albedo.psnr"} <= view.metrics.keys()
        assert not [name for name in view.metrics if name.startswith("rgb")]


@gl
def test_the_exposure_is_the_run_s_not_that_of_the_backend_set_for_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracers: list[Any] = []

    def found(scene: Any, tracer: Any, state: str) -> float:
        tracers.append(tracer._backend)
        return 0.25

    shown: list[float] = []

    def compared(pair: ViewPair, fine: Any) -> tuple[Comparison, ...]:
        shown.append(pair.scene.value(EXPOSURE))
        return ()

    monkeypatch.setattr("datagen.audit.session.scene_exposure", found)
    config = settings(tmp_path, limit=1, audit={"backends": ["mujoco", "mitsuba"], "fine": 1})
    audit(config, SilentProgress(), compare=compared)
    assert shown == [0.25, 0.25]
    assert [tracer._cull for tracer in tracers] == [False]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    pipeline.run(settings(folder, samples_per_state=4), SilentProgress())
    return folder


def audited(folder: Path, patch: pytest.MonkeyPatch, rows: int = 4):
    plant(patch)
    return audit_run(
        folder / "run",
        rows,
        SilentProgress(),
        overrides=[f"cache={folder / 'cache'}", "audit.backends=[mujoco, newton]", "audit.fine=1"],
        compare=few_numbers,
    )


@gl
def test_rows_of_a_run_are_made_again_to_the_byte(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = audited(finished, monkeypatch)
    assert results.passed
    assert len({row.row_id for row in results.stored}) == 4
    cameras = [view.camera for view in results.views]
    assert (cameras.count("top"), cameras.count("side")) == (2, 2)
    assert [v.key for v in results.views] == [v.key for v in audited(finished, monkeypatch).views]


@gl
def test_a_stored_row_of_other_pixels_is_named(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = StoredRun.rows

    def touched(self: StoredRun, wanted):
        rows = stored(self, wanted)
        view = min(rows)
        row = rows[view]["mujoco"]
        rgb = row.rgb.copy()
        rgb[0, 0, 0] ^= 4
        rows[view]["mujoco"] = dataclasses.replace(row, rgb=rgb)
        return rows

    monkeypatch.setattr(StoredRun, "rows", touched)
    results = audited(finished, monkeypatch)
    (row,) = results.failed_rows
    assert row.differences == ("rgb: 1 of 3072 pixels differ, by up to 4",)
    assert not results.passed
    assert not results.failed_views


@gl
def test_a_run_is_not_made_again_with_other_settings(finished: Path) -> None:
    with pytest.raises(ConfigError, match="what can be set is audit and cache"):
        StoredRun(finished / "run", ["seed=4"])


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["a.yaml", "--run", "b"],
        ["a.yaml", "--rows", "3"],
        ["--run", "b", "--limit", "3"],
        ["a.yaml", "--save-baseline", "b", "--against", "c"],
    ],
)
def test_options_that_do_not_fit_together_are_refused(options: list[str]) -> None:
    done = CliRunner().invoke(app, ["audit", *options])
    assert done.exit_code == 2
    assert "audit: " in done.output


def test_caveats_go_to_the_numbers_they_touch() -> None:
    report = {
        "caveats": ["object bowl shows a box proxy: pictures are not comparable across backends"],
        "approximated": ["lights: no falloff", "the table is 1 mm higher"],
        "left_out": ["31 sites: never drawn", "skybox: empty"],
    }
    caveats = sort_caveats("kitchen", report, ["bowl", "bowl_2"])
    assert caveats.objects == {"bowl": tuple(report["caveats"])}
    assert caveats.families["light"] == ("lights: no falloff",)
    assert caveats.families["rgb"] == ("lights: no falloff", "skybox: empty")
    assert caveats.scene == ("the table is 1 mm higher",)


def test_backends_shows_what_each_renderer_gives() -> None:
    done = CliRunner().invoke(app, ["backends"])
    assert done.exit_code == 0
    head, *lines = (line.split() for line in done.output.splitlines())
    column = {name: place for place, name in enumerate(head)}
    table = {line[0]: line for line in lines}
    assert table["hdr"][column["mitsuba"]] == "yes"
    assert table["hdr"][column["mujoco"]] == "-"
    assert table["normal"][column["newton"]] == "yes"
    assert np.all([table["rgb"][place] == "yes" for place in column.values() if place])
