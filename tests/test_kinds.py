from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner
from usd_stages import mesh, write

from datagen.cli import app
from scenes import AssetError
from scenes.sources.kinds import source_kind


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.xml", "<!-- <robot> --><mujoco/>", "mjcf"),
        ("a.xml", '<?xml version="1.0"?><robot name="r"/>', "urdf"),
        ("a.urdf", "", "urdf"),
        ("a.USDA", "", "usd"),
        ("a.usdz", "", "usd"),
    ],
)
def test_a_file_is_told_by_suffix_or_root_element(
    tmp_path: Path, name: str, text: str, kind: str
) -> None:
    (tmp_path / name).write_text(text)
    assert source_kind(tmp_path / name).kind == kind


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<sdf/>")
    with pytest.raises(AssetError, match="it starts with <sdf>; scenes are MJCF"):
        source_kind(tmp_path / "a.xml")
    with pytest.raises(AssetError, match="no such file"):
        source_kind(tmp_path / "b.xml")


def test_convert_takes_usd_with_its_units(tmp_path: Path) -> None:
    stage = write(tmp_path, mesh("m"))
    stage.write_text(stage.read_text().replace("metersPerUnit", "endTimeCode"))
    arguments = ["convert", str(stage), str(tmp_path / "out")]
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 3 and "--meters-per-unit" in refused.output
    wrong = CliRunner().invoke(app, [*arguments, "--meters-per-unit", "-1"])
    assert wrong.exit_code == 2 and "--meters-per-unit: -1.0" in wrong.output
    done = CliRunner().invoke(app, [*arguments, "--meters-per-unit", "0.01"])
    assert done.exit_code == 0, done.output
    assert "approximated: unit: lengths of the stage, 0.01 m, became metres" in done.output


@pytest.mark.parametrize(("option", "value"), [("--package", "a=b"), ("--tessellation", "2")])
def test_options_of_another_kind_are_refused(option: str, value: str, tmp_path: Path) -> None:
    stage = write(tmp_path, mesh("m"))
    done = CliRunner().invoke(app, ["convert", str(stage), str(tmp_path / "out"), option, value])
    assert done.exit_code == 2 and f"{option}: has no meaning for USD" in done.output


def test_a_folder_whose_name_is_too_long_is_refused_in_one_sentence(tmp_path: Path) -> None:
    scene = tmp_path / "a.xml"
    scene.write_text("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>")
    done = CliRunner().invoke(app, ["convert", str(scene), str(tmp_path / ("x" * 300))])
    assert done.exit_code == 2 and "cannot be made: File name too long" in done.output
