from __future__ import annotations

from pathlib import Path

import pytest
from usd_stages import mesh, write

from scenes import AssetError
from scenes.config import UsdSource
from scenes.usd_files import usd_files
from scenes.usd_stage import open_usd

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
        open_usd(UsdSource(path=stage))
