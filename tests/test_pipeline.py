"""The main job from a config to a run folder, on a small scene."""

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from rich.console import Console

from datagen.configuration.config import RunConfig
from datagen.progress import SilentProgress, Summary
from datagen.report import inspect
from datagen.run import pipeline
from writers import PlanError, ReadError, WriteError, held_folder, read_manifest, read_rows

ROOT = Path(__file__).parent.parent
SCENE = """<mujoco>
<worldbody>
  <light name="lamp" pos="0 0 2" dir="0 0 -1" diffuse=".7 .7 .7"/>
  <geom name="floor" type="plane" size="1 1 .1" rgba=".6 .6 .6 1"/>
  <body name="red_box" pos=".1 0 .1"><freejoint/>
    <geom type="box" size=".1 .1 .1" rgba="1 .2 .1 1" mass="1"/></body>
  <body name="ball" pos="-.3 0 .1"><freejoint/>
    <geom type="sphere" size=".1" rgba=".1 .2 1 1" mass="1"/></body>
  <camera name="top" pos="0 0 2" fovy="40"/>
</worldbody></mujoco>"""


def settings(folder: Path, **changes: object) -> dict[str, object]:
    (folder / "table.xml").write_text(SCENE)
    return {
        "seed": 3,
        "output": str(folder / "run"),
        "cache": str(folder / "cache"),
        "scenes": [{"mjcf": {"path": str(folder / "table.xml")}}],
        "samples_per_state": 6,
        "cameras": ["top"],
        "size": [32, 24],
        "mitsuba": {"spp": 1, "denoise": False, "variant": "llvm"},
        "randomize": {
            "light": {"intensity": {"uniform": [0.5, 1.5]}},
            "object_pose": {"translation": {"uniform": [-0.1, 0.1]}},
        },
        "parquet": {"frames_per_shard": 2},
        **changes,
    }


def made(data: dict[str, object]) -> Summary:
    return pipeline.run(RunConfig.from_data(data), SilentProgress())


def shard_bytes(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((folder / "data").glob("*.parquet"))}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    data = settings(tmp_path_factory.mktemp("a folder with spaces"))
    made(data)
    return data


def test_a_run_holds_what_the_plan_says(finished: dict[str, object]) -> None:
    folder = Path(str(finished["output"]))
    rows = list(read_rows(folder / "data"))
    assert [row.row_id for row in rows] == [f"table/{n}/0/top/mitsuba" for n in range(6)]
    pictures = {row.rgb.tobytes() for row in rows if row.rgb is not None}
    assert len(pictures) == 6
    for row in rows:
        assert row.part is not None and row.depth is not None and row.instance is not None
        assert np.array_equal(row.part > 0, np.isfinite(row.depth))
        box = next(each for each in row.objects if each.name == "red_box")
        mask = row.instance == box.instance
        v, u = np.nonzero(mask)
        assert (box.x0, box.y0, box.x1, box.y1) == (u.min(), v.min(), u.max() + 1, v.max() + 1)
        assert box.pixels_visible == mask.sum()
    manifest = read_manifest(folder)
    assert manifest.row_count == 6 and len(manifest.shards) == 3
    assert manifest.backends["mitsuba"]["variant"] == "llvm_ad_rgb"  # type: ignore[index]
    assert {entry.name for entry in manifest.classes} == {"ball", "floor", "red_box"}
    assert (folder / "README.md").is_file() and (folder / "report.html").is_file()


def test_a_finished_run_is_not_made_again(finished: dict[str, object]) -> None:
    folder = Path(str(finished["output"]))
    before = {file: file.stat().st_mtime_ns for file in (folder / "data").iterdir()}
    assert made(finished).rows_made == 0
    assert {file: file.stat().st_mtime_ns for file in (folder / "data").iterdir()} == before


def test_a_damaged_shard_is_made_again_to_the_same_bytes(finished: dict[str, object]) -> None:
    folder = Path(str(finished["output"]))
    before = shard_bytes(folder)
    (folder / "data" / "train-00000.parquet").unlink()
    second = folder / "data" / "train-00001.parquet"
    second.write_bytes(before["train-00001.parquet"][:-100])
    assert made(finished).rows_made == 4
    assert shard_bytes(folder) == before


def test_a_shard_changed_by_one_bit_is_told_and_made_again(finished: dict[str, object]) -> None:
    folder = Path(str(finished["output"]))
    before = shard_bytes(folder)
    changed = bytearray(before["train-00001.parquet"])
    changed[len(changed) // 3] ^= 1
    (folder / "data" / "train-00001.parquet").write_bytes(changed)
    with pytest.raises(ReadError, match=r"train-00001\.parquet"):
        inspect(folder)
    assert made(finished).rows_made == 2
    assert shard_bytes(folder) == before


def test_another_config_is_refused_in_the_folder(finished: dict[str, object]) -> None:
    with pytest.raises(PlanError, match="samples_per_state"):
        made({**finished, "samples_per_state": 5})


def test_two_workers_write_the_same_bytes(finished: dict[str, object], tmp_path: Path) -> None:
    made({**finished, "output": str(tmp_path / "two"), "workers": 2})
    assert shard_bytes(tmp_path / "two") == shard_bytes(Path(str(finished["output"])))


def test_a_smaller_limit_gives_the_first_rows(finished: dict[str, object], tmp_path: Path) -> None:
    made({**finished, "output": str(tmp_path / "few"), "limit": 3})
    few = [row.rgb for row in read_rows(tmp_path / "few" / "data")]
    many = [row.rgb for row in read_rows(Path(str(finished["output"])) / "data")]
    assert len(few) == 3
    assert all(np.array_equal(a, b) for a, b in zip(few, many, strict=False))


def test_a_killed_run_goes_on_to_the_same_bytes(
    finished: dict[str, object], tmp_path: Path
) -> None:
    many = {**finished, "samples_per_state": 30, "parquet": {"frames_per_shard": 1}}
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump({**many, "output": str(tmp_path / "killed")}))
    command = [sys.executable, "-m", "datagen", "run", str(config)]
    data = tmp_path / "killed" / "data"
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list(data.glob("*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 0 < len(shard_bytes(tmp_path / "killed")) < 30
    assert not (tmp_path / "killed" / "manifest.json").exists()
    there = len(shard_bytes(tmp_path / "killed"))
    printed = io.StringIO()
    inspect(tmp_path / "killed", Console(file=printed, width=200), tmp_path / "page.html")
    assert re.search(rf"{there} of \d+ rows, {there} of 30 shards", printed.getvalue())
    assert f"{there} of 30 shards" in (tmp_path / "page.html").read_text()
    assert not (tmp_path / "killed" / "report.html").exists()
    made({**many, "output": str(tmp_path / "killed")})
    made({**many, "output": str(tmp_path / "whole")})
    assert shard_bytes(tmp_path / "killed") == shard_bytes(tmp_path / "whole")
    assert not (tmp_path / "killed" / "manifest.draft.json").exists()


@pytest.mark.gl
def test_two_backends_write_paired_rows(finished: dict[str, object], tmp_path: Path) -> None:
    made({**finished, "output": str(tmp_path / "pair"), "backends": ["mitsuba", "mujoco"]})
    rows = list(read_rows(tmp_path / "pair" / "data"))
    assert [row.backend for row in rows] == ["mitsuba", "mujoco"] * 6
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        assert first.recipe == second.recipe
        assert first.part is not None and second.part is not None
        assert np.mean(first.part == second.part) > 0.99
        same = first.part == second.part
        assert first.depth is not None and second.depth is not None
        np.testing.assert_allclose(first.depth[same], second.depth[same], atol=1e-4)


def test_datasets_loads_pictures(
    finished: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    files = str(Path(str(finished["output"])) / "data" / "*.parquet")
    loaded = datasets.load_dataset(
        "parquet", data_files=files, split="train", cache_dir=str(tmp_path)
    )
    assert len(loaded) == 6
    for name in ("rgb", "instance", "part", "semantic"):
        assert loaded[0][name].size == (32, 24)


def test_an_output_that_cannot_be_made_fails_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    data = settings(tmp_path, output=str(tmp_path / "file" / "run"))
    with pytest.raises(WriteError, match="not a folder"):
        made(data)
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    with pytest.raises(WriteError, match="link is a link to nothing"):
        made(data | {"output": str(tmp_path / "link")})
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_made_fails_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    data = settings(tmp_path, cache=str(tmp_path / "file" / "cache"))
    with pytest.raises(WriteError, match=r"not a folder.*DATAGEN_CACHE"):
        made(data)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_another_process_works_in_is_refused(tmp_path: Path) -> None:
    output = tmp_path / "run"
    with held_folder(output), pytest.raises(WriteError, match="another process"):
        made(settings(tmp_path, output=str(output)))
    assert list(output.iterdir()) == []


def command(folder: Path, *arguments: str) -> tuple[int, str]:
    finished = subprocess.run(
        [sys.executable, "-m", "datagen", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return finished.returncode, finished.stderr.strip()


@pytest.mark.parametrize(
    ("mesh", "told"),
    [
        (None, "missing.obj"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 nan\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n", "vertex 3"),
    ],
)
def test_a_refused_model_ends_a_run_with_exit_code_3(
    tmp_path: Path, mesh: str | None, told: str
) -> None:
    if mesh is not None:
        (tmp_path / "missing.obj").write_text(mesh)
    data = settings(tmp_path)
    (tmp_path / "table.xml").write_text(
        '<mujoco><asset><mesh file="missing.obj"/></asset><worldbody>'
        '<geom type="mesh" mesh="missing"/><camera name="top"/></worldbody></mujoco>'
    )
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(data))
    before = sorted(tmp_path.iterdir())
    code, message = command(tmp_path, "run", "config.yaml")
    assert code == 3
    assert told in message and "missing.obj" in message
    assert "Traceback" not in message
    assert [path for path in sorted(tmp_path.iterdir()) if path.name != "cache"] == before


def test_a_manifest_states_its_renderers_though_an_earlier_run_made_the_shards(
    finished: dict[str, object],
) -> None:
    folder = Path(str(finished["output"]))
    before = read_manifest(folder).backends
    (folder / "manifest.json").unlink()
    assert made(finished).rows_made == 0
    assert read_manifest(folder).backends == before
