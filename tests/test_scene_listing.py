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


def test_its_own_picture_is_replaced_and_no_other(tmp_path: Path) -> None:
    picture, photo = tmp_path / "out.png", tmp_path / "photo.png"
    for _ in range(2):
        assert scenes(SCENE, "--picture", str(picture)).exit_code == 0
    Image.new("RGB", (4, 4)).save(photo)
    before = photo.read_bytes()
    done = scenes(SCENE, "--picture", str(photo))
    assert done.exit_code == 2 and "name another file" in done.stderr
    assert photo.read_bytes() == before


def test_a_picture_of_a_scene_without_cameras_is_refused_in_a_sentence(tmp_path: Path) -> None:
    scene = tmp_path / "blind.xml"
    scene.write_text("<mujoco><worldbody><geom name='ball' size='.1'/></worldbody></mujoco>")
    assert "object" in scenes(str(scene)).output
    done = scenes(str(scene), "--picture", str(tmp_path / "a.png"))
    assert done.exit_code == 2
    assert done.stderr.strip().endswith("blind.xml: has no camera to draw it from.")
    assert not (tmp_path / "a.png").exists()


def test_a_keyframe_and_further_folders_are_taken(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "m.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    )
    scene = tmp_path / "model" / "scene.xml"
    scene.write_text(
        "<mujoco><asset><mesh name='m' file='../meshes/m.obj'/></asset><worldbody><body name='b'>"
        "<freejoint/><geom type='mesh' mesh='m'/></body></worldbody>"
        "<keyframe><key name='up' qpos='0 0 1 1 0 0 0'/></keyframe></mujoco>"
    )
    assert scenes(str(scene)).exit_code == 3
    root = ("--root", str(tmp_path / "meshes"))
    done = scenes(str(scene), *root, "--keyframe", "up")
    assert done.exit_code == 0 and done.output.splitlines()[0].endswith("state up")
    assert "no keyframe 'down'. Known: up" in scenes(str(scene), *root, "--keyframe", "down").stderr
    done = scenes(str(scene), "--package", "a=b")
    assert done.exit_code == 2 and "--package: has no meaning for MJCF" in done.stderr


def test_wrong_names_and_files_are_refused_in_a_sentence(tmp_path: Path) -> None:
    text = tmp_path / "notes.png"
    text.write_text("not a picture")
    for arguments, told in (
        ((SCENE, "--camera", "frnt"), "'frnt' is not known. Known: front"),
        ((SCENE, "--picture", str(text)), "is there and is no picture that `datagen scenes` made"),
        ((SCENE, "--picture", str(tmp_path / "a.txt")), "should end with .png"),
        (("--picture", str(tmp_path / "a.png")), "go with one scene"),
    ):
        done = scenes(*arguments)
        assert done.exit_code == 2 and told in done.stderr
    assert text.read_text() == "not a picture"
