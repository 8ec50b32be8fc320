"""`datagen scenes` of one scene."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from datagen.cli import app

SCENE = str(Path(__file__).parent / "cases/x07-two-scenes-one-file-name/a/scene.xml")


def scenes(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["scenes", *arguments])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAGEN_CACHE", str(tmp_path / "cache"))


def test_a_scene_is_listed_with_a_picture_of_it(tmp_path: Path) -> None:
    picture = tmp_path / "out.png"
    done = scenes(SCENE, "--picture", str(picture))
    assert done.exit_code == 0
    for line in ("camera  front", "object  ball  class ball", "light   light_0"):
        assert line in done.output.splitlines()
    pixels = np.asarray(Image.open(picture)).astype(int)
    red = (pixels[..., 0] > 1.5 * pixels[..., 1]) & (pixels[..., 0] > 60)
    assert 0.005 < red.mean() < 0.3


def test_wrong_names_and_files_are_refused_in_a_sentence(tmp_path: Path) -> None:
    text = tmp_path / "notes.png"
    text.write_text("not a picture")
    for arguments, told in (
        ((SCENE, "--camera", "frnt"), "'frnt' is not known. Known: front"),
        ((SCENE, "--picture", str(text)), "is there and is no picture"),
        ((SCENE, "--picture", str(tmp_path / "a.txt")), "should end with .png"),
        (("--picture", str(tmp_path / "a.png")), "go with one scene"),
    ):
        done = scenes(*arguments)
        assert done.exit_code == 2 and told in done.stderr
    assert text.read_text() == "not a picture"
