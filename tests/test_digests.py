"""Damaged files of scenes are made again, or named."""

import ctypes
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

import scenes
from scenes import AssetError, Scene, convert_mjcf, mjcf_scene
from scenes.convert.looks.textures import TextureFiles
from scenes.sources.mjcf.config import MjcfConfig
from scenes.storage.digests import file_digest

MODEL = """<mujoco><asset><texture name="t" type="2d" file="t.png"/>
  <material name="m" texture="t"/></asset><worldbody><light pos="0 0 2"/>
  <camera name="view" pos="0 0 2"/><body name="box"><freejoint/>
  <geom type="box" size=".1 .1 .1" material="m"/></body></worldbody></mujoco>"""


@pytest.fixture
def source(tmp_path: Path) -> MjcfConfig:
    texels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    Image.fromarray(texels).save(tmp_path / "t.png")
    (tmp_path / "m.xml").write_text(MODEL)
    return MjcfConfig(path=tmp_path / "m.xml")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    # Files that are written twice within a tick of the clock look the same.
    later = path.stat().st_mtime_ns + 10**7
    os.utime(path, ns=(later, later))


_DROP, _OVERRIDE = 24, 1
"""prctl's PR_CAPBSET_DROP and the right to write what is read-only."""


def bound() -> None:
    if os.geteuid() == 0 and ctypes.CDLL(None).prctl(_DROP, _OVERRIDE, 0, 0, 0):
        raise OSError("root kept its right")


FILES = ("base.usdc", "digests.json", "model.mjb", "report.json", "scene.json", "scene.usda",
         "states/rest.usda")  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_a_flipped_bit_in_the_cache_makes_the_scene_again(
    source: MjcfConfig, tmp_path: Path, seed: int
) -> None:
    folder = mjcf_scene(source, tmp_path / "cache").folder
    whole = contents(folder)
    assert set(FILES) < set(whole) and len(whole) == len(FILES) + 1
    draw = random.Random(seed)
    for name, data in whole.items():
        flip(folder / name, draw.randrange(8 * len(data)))
        scene = mjcf_scene(source, tmp_path / "cache")
        assert scene.folder == folder
        assert contents(folder) == whole, name


@pytest.mark.parametrize("seed", range(3))
def test_a_flipped_bit_in_a_converted_folder_is_named(
    source: MjcfConfig, tmp_path: Path, seed: int
) -> None:
    folder = convert_mjcf(source.path, tmp_path / "out").folder
    whole = contents(folder)
    draw = random.Random(seed)
    for name, data in whole.items():
        flip(folder / name, draw.randrange(8 * len(data)))
        with pytest.raises(AssetError) as caught:
            Scene.open(folder)
        assert str(folder / name) in str(caught.value) or name == "scene.json"
        (folder / name).write_bytes(data)
        os.utime(folder / name, ns=(0, 0))
        Scene.open(folder)
        (folder / name).unlink()
        with pytest.raises(scenes.SceneError, match=f"{Path(name).name}"):
            Scene.open(folder)
        (folder / name).write_bytes(data)


def test_a_swapped_texture_is_named(source: MjcfConfig, tmp_path: Path) -> None:
    folder = convert_mjcf(source.path, tmp_path / "out").folder
    (picture,) = (folder / "textures").iterdir()
    Image.new("RGB", (32, 32)).save(picture)
    with pytest.raises(AssetError, match=rf"{picture}: damaged or edited"):
        Scene.open(folder)


def test_a_damaged_texture_of_the_store_reaches_no_new_scene(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    (tmp_path / "a").mkdir()
    name = TextureFiles(tmp_path / "a", tmp_path / "store").write(pixels)
    whole = (tmp_path / "a" / name).read_bytes()
    (kept,) = (tmp_path / "store").iterdir()
    assert kept.samefile(tmp_path / "a" / name)
    flip(kept, 400)
    for folder in ("b", "c"):
        assert TextureFiles(tmp_path / folder, tmp_path / "store").write(pixels) == name
        assert (tmp_path / folder / name).read_bytes() == whole
    (kept,) = (tmp_path / "store").iterdir()
    assert kept.samefile(tmp_path / "c" / name)


def test_a_file_that_several_scenes_share_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    first = file_digest(tmp_path / "a")
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("it was read again"))
    assert file_digest(tmp_path / "b") == first


def test_a_read_only_cache_that_holds_the_scene_serves_a_run(
    source: MjcfConfig, tmp_path: Path
) -> None:
    """Root may write everywhere, so the run gives that right up."""
    config = {
        "output": str(tmp_path / "out" / "run"),
        "cache": str(tmp_path / "cache"),
        "scenes": [{"mjcf": {"path": str(source.path)}}],
        "cameras": ["view"],
        "size": [16, 16],
        "mitsuba": {"spp": 1, "denoise": False, "variant": "scalar"},
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(config))
    mjcf_scene(source, tmp_path / "cache")
    before = contents(tmp_path / "cache")
    (tmp_path / "out").mkdir()
    cache = [tmp_path / "cache", *(p for p in (tmp_path / "cache").rglob("*") if p.is_dir())]
    for folder in cache:
        folder.chmod(0o555)

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "datagen", "run", str(tmp_path / "run.yaml")],
            env=os.environ | {"PYTHONPATH": str(Path(scenes.__path__[0]).parent)},
            capture_output=True,
            text=True,
            preexec_fn=bound,
            check=False,
        )

    try:
        done = run()
        assert done.returncode == 0, done.stderr
        assert contents(tmp_path / "cache") == before
        shutil.rmtree(tmp_path / "out" / "run")
        (tmp_path / "m.xml").write_text(MODEL.replace(".1 .1 .1", ".2 .1 .1"))
        done = run()
        assert done.returncode == 4
        assert "cannot be written: Permission denied" in done.stderr
    finally:
        for folder in cache:
            folder.chmod(0o755)


def test_old_leftovers_of_the_cache_go_with_the_next_conversion(
    source: MjcfConfig, tmp_path: Path
) -> None:
    parent = tmp_path / "cache" / "scenes"
    child = subprocess.run(
        [sys.executable, "-c", "import sys; from pathlib import Path\n"
         "from scenes.storage.temporary import temporary_folder\n"
         f"print(temporary_folder(Path({str(parent)!r})))"],
        env=os.environ | {"PYTHONPATH": str(Path(scenes.__path__[0]).parent)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    left = Path(child.stdout.strip())
    (left / "base.usdc").write_text("half")
    (parent / ".locks").mkdir()
    (parent / ".locks" / "other-0.lock").write_text("")
    folder = mjcf_scene(source, tmp_path / "cache").folder
    assert {each.name for each in parent.iterdir()} == {folder.name, ".locks"}
    assert not list((parent / ".locks").iterdir())
    assert json.loads((folder / "digests.json").read_text())["files"].keys() == (
        contents(folder).keys() - {"digests.json"}
    )


def test_tables_that_are_no_text_are_damage_like_any_other(
    source: MjcfConfig, tmp_path: Path
) -> None:
    folder = mjcf_scene(source, tmp_path / "cache").folder
    whole = contents(folder)
    for name in ("scene.json", "digests.json", "report.json"):
        data = bytearray(whole[name])
        data[40] ^= 0x80
        (folder / name).write_bytes(data)
        with pytest.raises(AssetError, match=name):
            Scene.open(folder)
        assert contents(mjcf_scene(source, tmp_path / "cache").folder) == whole
