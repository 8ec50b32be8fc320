from __future__ import annotations

import os
from pathlib import Path

import pytest
from pxr import Sdf
from usd_stages import mesh, write

from scenes import AssetError
from scenes.sources.usd.config import UsdConfig
from scenes.sources.usd.reading.files import UsdFiles, usd_files
from scenes.sources.usd.reading.stage import open_usd

REFERRING = 'def "thing" (prepend references = @{file}@) {{}}'


def test_every_layer_and_picture_is_found_through_references(tmp_path: Path) -> None:
    write(tmp_path / "inner", mesh("m")).rename(tmp_path / "thing.usda")
    (tmp_path / "tex.png").write_bytes(b"x")
    content = REFERRING.format(file="./thing.usda") + "\nasset picture = @./tex.png@"
    files = usd_files(write(tmp_path, content))
    assert [path.name for path in files.layers] == ["stage.usda", "thing.usda"]
    assert [path.name for path in files.assets] == ["tex.png"]


def test_the_digest_follows_the_content_of_every_file(tmp_path: Path) -> None:
    picture = tmp_path / "tex.png"
    picture.write_bytes(b"x")
    stage = write(tmp_path, "asset picture = @./tex.png@")
    before = usd_files(stage).digest
    assert usd_files(stage).digest == before
    picture.write_bytes(b"y")
    assert usd_files(stage).digest != before


@pytest.mark.parametrize("arc", ["references", "payload"])
def test_a_missing_layer_is_named_with_the_full_path(tmp_path: Path, arc: str) -> None:
    stage = write(tmp_path, REFERRING.format(file="./no/thing.usda").replace("references", arc))
    with pytest.raises(AssetError) as error:
        usd_files(stage)
    assert str(tmp_path / "no" / "thing.usda") in str(error.value)
    assert "'./no/thing.usda' of stage.usda" in str(error.value)


def test_a_missing_sublayer_is_named_with_the_full_path(tmp_path: Path) -> None:
    stage = tmp_path / "top.usda"
    stage.write_text("#usda 1.0\n(subLayers = [@./below.usda@])\n")
    with pytest.raises(AssetError, match=r"no such file: .*below\.usda"):
        usd_files(stage)


def test_a_file_outside_the_folders_is_refused_unless_they_are_named(tmp_path: Path) -> None:
    outside = write(tmp_path / "elsewhere", mesh("m"))
    stage = write(tmp_path / "here", REFERRING.format(file=str(outside)))
    with pytest.raises(AssetError, match=f"--root {outside.parent}"):
        usd_files(stage)
    assert len(usd_files(stage, [outside.parent]).layers) == 2
    (tmp_path / "secret.txt").write_text("x")
    stage = write(tmp_path / "there", "asset picture = @../secret.txt@")
    with pytest.raises(AssetError, match="outside the folders"):
        usd_files(stage)


def test_a_broken_layer_is_refused_in_one_sentence(tmp_path: Path) -> None:
    stage = tmp_path / "broken.usda"
    stage.write_text("#usda 1.0\ndef Mesh {{{")
    with pytest.raises(AssetError, match=r"broken\.usda: not a readable USD file") as error:
        usd_files(stage)
    assert "\n" not in str(error.value)
    (tmp_path / "text.usdc").write_bytes(b"no crate")
    with pytest.raises(AssetError, match="not a readable USD file"):
        usd_files(tmp_path / "text.usdc")


def test_a_layer_on_a_server_is_refused(tmp_path: Path) -> None:
    stage = write(tmp_path, REFERRING.format(file="omniverse://host/a.usd"))
    with pytest.raises(AssetError, match="lies on a server"):
        usd_files(stage)


def test_a_stage_that_does_not_compose_is_refused(tmp_path: Path) -> None:
    stage = write(tmp_path, "")
    stage.write_text(
        '#usda 1.0\n(defaultPrim="W"\nmetersPerUnit=1\nupAxis="Z")\n'
        'def "W" (prepend references = </Nowhere>) {}\n'
    )
    with pytest.raises(AssetError, match="does not compose"):
        open_usd(UsdConfig(path=stage))


def packed(folder: Path, content: str) -> Path:
    inner = write(folder / "inner", content)
    package = folder / "package.usdz"
    writer = Sdf.ZipFileWriter.CreateNew(str(package))
    writer.AddFile(str(inner), "stage.usda")
    writer.Save()
    return package


@pytest.mark.parametrize("content", [REFERRING, "asset picture = @{file}@"])
def test_what_a_package_names_outside_the_folders_is_refused(tmp_path: Path, content: str) -> None:
    outside = write(tmp_path / "elsewhere", mesh("m"))
    (tmp_path / "here").mkdir()
    package = packed(tmp_path / "here", content.format(file=outside))
    with pytest.raises(AssetError, match=f"package.usdz: .*--root {outside.parent}"):
        usd_files(package)
    around = write(tmp_path / "here", REFERRING.format(file="package.usdz"))
    with pytest.raises(AssetError, match=f"of package.usdz: .*--root {outside.parent}"):
        usd_files(around)
    assert len(usd_files(package, [outside.parent]).layers) == 2


def test_a_file_without_suffix_is_no_layer(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    files = usd_files(write(tmp_path, "asset picture = @./plain@"))
    assert [path.name for path in files.assets] == ["plain"]


def test_a_missing_layer_lies_beside_the_one_that_names_it(tmp_path: Path) -> None:
    stage = write(tmp_path, REFERRING.format(file="no.usda"))
    with pytest.raises(AssetError, match=f"no such file: {tmp_path}/no.usda"):
        usd_files(stage)


def test_a_pipe_in_place_of_a_picture_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tex.png")
    stage = write(tmp_path, "asset picture = @./tex.png@")
    with pytest.raises(AssetError, match=f"no regular file: {tmp_path}/tex.png"):
        usd_files(stage)


def test_composition_errors_are_told_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stage = write(tmp_path, REFERRING.format(file="./stage.usda"))
    with pytest.raises(AssetError, match="does not compose: Cycle detected"):
        open_usd(UsdConfig(path=stage))
    assert capfd.readouterr().err == ""


def test_a_layer_beyond_those_that_were_checked_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "inner", mesh("m")).rename(tmp_path / "thing.usda")
    stage = write(tmp_path, REFERRING.format(file="./thing.usda"))
    with pytest.raises(AssetError, match=r"layer .*thing\.usda: reached in a way"):
        open_usd(UsdConfig(path=stage), UsdFiles((stage,), ()))


def test_a_picture_whose_links_lead_in_a_circle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tex.png").symlink_to(tmp_path / "tex.png")
    stage = write(tmp_path, "asset picture = @./tex.png@")
    with pytest.raises(AssetError, match=r"tex\.png: its links lead in a circle"):
        usd_files(stage)
