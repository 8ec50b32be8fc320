"""What scenes left out, in the terminal."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from datagen.cli import app
from datagen.run.scene_notes import scene_notes


def report(folder: Path, left_out: list[str], approximated: list[str]) -> Path:
    folder.mkdir()
    lists = {"left_out": left_out, "approximated": approximated, "caveats": []}
    (folder / "report.json").write_text(json.dumps(lists))
    return folder


def test_scenes_that_left_most_out_come_first_and_whole_ones_are_not_named(tmp_path: Path) -> None:
    folders = {
        "whole": report(tmp_path / "a", [], []),
        "near": report(tmp_path / "b", [], ["lights: x"]),
        "poor": report(tmp_path / "c", ["joint j: y", "joint k: y"], ["lights: x"]),
    }
    heading, *lines = scene_notes(folders)
    assert "scenes/SCENE/report.json" in heading
    assert lines == [
        "  poor: 2 left out, 1 shown differently, such as joint j: y",
        "  near: 1 shown differently, such as lights: x",
    ]
    assert scene_notes({"whole": folders["whole"]}) == []


def test_many_scenes_are_counted_instead_of_listed(tmp_path: Path) -> None:
    folders = {f"s{n:02}": report(tmp_path / str(n), ["x" * 500], []) for n in range(30)}
    lines = scene_notes(folders)
    assert len(lines) == 14 and lines[-1] == "  and 18 more"
    assert max(map(len, lines[1:])) < 140


def test_a_run_ends_with_what_its_scenes_left_out(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(
        "<mujoco><worldbody><camera name='c' pos='0 0 3'/><light pos='0 0 3'/><site name='s'/>"
        "<geom size='.3'/></worldbody></mujoco>"
    )
    config = tmp_path / "c.yaml"
    config.write_text(
        f"scenes: [{{mjcf: {{path: {tmp_path}/m.xml}}}}]\n"
        "backends: [mitsuba]\ncameras: [c]\nsize: [64, 64]\n"
        "mitsuba: {spp: 1, denoise: false}\noutput: out\n"
    )
    done = CliRunner().invoke(app, ["run", str(config), "--set", f"output={tmp_path / 'out'}"])
    assert done.exit_code == 0, done.output
    assert "  m: 1 left out, " in done.output and "1 sites: marks of the model" in done.output
