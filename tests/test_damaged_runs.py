"""A damaged file of a run is never taken for a good one."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from datagen.audit.stored import StoredRun
from datagen.configuration.config import RunConfig
from datagen.progress import SilentProgress, Summary
from datagen.report import inspect
from datagen.run import pipeline
from writers import (
    JOURNAL_NAME,
    PlanError,
    ReadError,
    finished_shard,
    kept_records,
    read_manifest,
    read_plan,
    read_rows,
)

CASES = Path(__file__).parent / "cases"
SCENE = """<mujoco><worldbody>
  <light pos="0 0 2" dir="0 0 -1"/><geom type="plane" size="1 1 .1" rgba=".6 .6 .6 1"/>
  <body name="box" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>
  <camera name="top" pos="0 0 2" fovy="40"/>
</worldbody></mujoco>"""
SHARDS = 4


def settings(folder: Path) -> dict[str, Any]:
    return {
        "output": str(folder / "run"),
        "cache": str(folder / "cache"),
        "scenes": [{"mjcf": {"path": str(folder / "scene.xml")}}],
        "samples_per_state": SHARDS,
        "cameras": ["top"],
        "size": [16, 16],
        "mitsuba": {"spp": 1, "denoise": False, "variant": "llvm"},
        "randomize": {"object_pose": {"translation": {"uniform": [-0.2, 0.2]}}},
        "parquet": {"frames_per_shard": 1},
    }


def made(folder: Path, **changes: object) -> Summary:
    """Make the run of a folder that holds `scene.xml`, into `run`."""
    return pipeline.run(RunConfig.from_data(settings(folder) | changes), SilentProgress())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    (folder / "scene.xml").write_text(SCENE)
    made(folder)
    return folder


@pytest.fixture
def home(whole: Path) -> Path:
    """The whole run, put back as it was after each test."""
    kept = whole / "kept"
    if not kept.exists():
        shutil.copytree(whole / "run", kept)
    shutil.rmtree(whole / "run")
    shutil.copytree(kept, whole / "run")
    return whole


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def shard(home: Path, number: int) -> Path:
    return home / "run" / "data" / f"train-{number:05d}.parquet"


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def swap_bodies(home: Path) -> None:
    shutil.copyfile(shard(home, 1), shard(home, 2))


def cut(home: Path) -> None:
    shard(home, 2).write_bytes(shard(home, 2).read_bytes()[:-8])


def empty(home: Path) -> None:
    shard(home, 2).write_bytes(b"")


def flip_value(home: Path) -> None:
    flip(shard(home, 2), 8 * shard(home, 2).stat().st_size // 3)


def forget_digest(home: Path) -> None:
    journal = home / "run" / JOURNAL_NAME
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if shard(home, 2).name not in line))


def forge_name_in_journal(home: Path) -> None:
    """Another shard's body, and a journal that vouches for it."""
    swap_bodies(home)
    journal = home / "run" / JOURNAL_NAME
    line = next(each for each in journal.read_text().splitlines() if shard(home, 1).name in each)
    with journal.open("a") as file:
        file.write(line.replace(shard(home, 1).name, shard(home, 2).name) + "\n")


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize(
    "damage", [swap_bodies, cut, empty, flip_value, forget_digest, forge_name_in_journal]
)
def test_a_shard_that_is_not_what_was_written_is_made_again_with_a_word(
    home: Path, damage: Callable[[Path], None], finished: bool
) -> None:
    before = files(home / "run")
    if not finished:
        (home / "run" / "manifest.json").unlink()
    damage(home)
    summary = made(home)
    assert list(summary.damaged) == ["train-00002.parquet"]
    assert any("Made again: train-00002.parquet: " in line for line in summary.lines())
    assert summary.rows_made == 1
    assert files(home / "run") == before


def test_no_flipped_bit_of_a_shard_is_taken_for_the_shard(home: Path) -> None:
    path = shard(home, 1)
    noted = [kept_records(home / "run")[path.name]]
    rows = pq.read_table(path, columns=["row_id"])["row_id"].to_pylist()
    assert finished_shard(path, noted, rows) == noted[0]
    whole = path.read_bytes()
    for bit in random.Random(0).sample(range(8 * len(whole)), 60):
        flip(path, bit)
        with pytest.raises(ReadError, match="bytes are not those"):
            finished_shard(path, noted, rows)
        with pytest.raises(ReadError, match=path.name):
            inspect(home / "run")
        with pytest.raises(ReadError, match=path.name):
            StoredRun(home / "run")
        with pytest.raises(ReadError, match=path.name):
            list(read_rows(home / "run"))
        path.write_bytes(whole)


def test_a_journal_that_is_damaged_costs_no_more_than_shards(home: Path) -> None:
    before = files(home / "run")
    journal = home / "run" / JOURNAL_NAME
    lines = journal.read_bytes().splitlines()
    assert len(lines) == SHARDS
    journal.write_bytes(b"\xff\x00[[[\n" + lines[0] + b"\n" + lines[1][:-20] + b"\n" + b"[" * 5000)
    assert made(home).rows_made == SHARDS - 1
    assert files(home / "run") == before


def test_digest_whose_shard_never_landed_counts_for_nothing(home: Path) -> None:
    before = files(home / "run")
    (home / "run" / "manifest.json").unlink()
    shard(home, 3).unlink()
    summary = made(home)
    assert summary.rows_made == 1
    assert summary.damaged == {}
    assert files(home / "run") == before


@pytest.mark.parametrize("name", ["plan.json", "manifest.json"])
def test_no_flipped_bit_of_plan_or_manifest_is_taken_for_the_value(home: Path, name: str) -> None:
    path = home / "run" / name
    read: Callable[[], object] = {
        "plan.json": lambda: read_plan(home / "run"),
        "manifest.json": lambda: read_manifest(home / "run"),
    }[name]
    value, whole = read(), path.read_bytes()
    for bit in random.Random(0).sample(range(8 * len(whole)), 200):
        flip(path, bit)
        try:
            assert read() == value  # Such as a space that became another.
        except ReadError as error:
            assert str(error).startswith(f"{path}: ")
            assert str(error).endswith(".") and "\n" not in str(error)
        path.write_bytes(whole)


def test_damaged_manifest_is_written_anew(home: Path) -> None:
    before = files(home / "run")
    path = home / "run" / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"seed": 0', b'"seed": 1'))
    with pytest.raises(ReadError, match="damaged"):
        inspect(home / "run")
    assert made(home).rows_made == 0
    assert files(home / "run") == before


@pytest.mark.parametrize("file", ["plan.json", "scenes/scene/plan.json"])
def test_damaged_plan_says_what_to_do_and_that_keeps_the_shards(home: Path, file: str) -> None:
    before = files(home / "run")
    path = home / "run" / file
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ReadError, match=r"plan\.json: .*Remove this one file"):
        made(home)
    path.unlink()
    assert made(home).rows_made == 0
    assert files(home / "run") == before


def test_shards_of_another_run_do_not_count_where_the_plan_is_gone(home: Path) -> None:
    (home / "run" / "plan.json").unlink()
    assert made(home, seed=1).rows_made == SHARDS


def test_deep_and_foreign_json_is_one_sentence(home: Path) -> None:
    for name, text in [
        ("plan.json", "[" * 100_000),
        ("manifest.json", "[" * 100_000),
        ("manifest.json", "{}"),
        ("manifest.json", '{"seed": ' + "9" * 10_000 + "}"),
        ("plan.json", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")),
    ]:
        path = home / "run" / name
        whole = path.read_bytes()
        path.write_text(text)
        with pytest.raises(ReadError, match=name) as caught:
            StoredRun(home / "run")
        assert "\n" not in str(caught.value)
        path.write_bytes(whole)


def test_damaged_picture_is_named_and_made_anew(home: Path) -> None:
    expect = json.loads((CASES / "e12-damaged-picture" / "case.json").read_text())["expect"]["rule"]
    before = files(home / "run")
    path = shard(home, 0)
    data = path.read_bytes()
    start = data.index(b"WEBP") + 16
    path.write_bytes(data[:start] + bytes(20) + data[start + 20 :])
    with pytest.raises(ReadError) as caught:
        inspect(home / "run")
    assert (path.name in str(caught.value)) is expect["named"]
    made(home)
    assert (files(home / "run") == before) is expect["remade"]


def test_another_count_on_resume_is_refused_before_any_work(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = json.loads((CASES / "f10-other-count-on-resume" / "case.json").read_text())
    expect = case["expect"]["rule"]
    before = files(home / "run")

    def work(*_: object) -> None:
        raise AssertionError("scenes were prepared")

    monkeypatch.setattr(pipeline, "prepare_run", work)
    with pytest.raises(PlanError, match=expect["names"]) as caught:
        made(home, samples_per_state=9)
    assert f"is {SHARDS} there and 9 here" in str(caught.value)
    assert files(home / "run") == before


def test_rows_read_back_as_they_were_made(home: Path) -> None:
    rows = list(read_rows(home / "run"))
    assert [row.episode_index for row in rows] == list(range(SHARDS))
    assert len({np.asarray(row.rgb).tobytes() for row in rows}) == SHARDS


def test_full_disk_is_one_sentence_and_the_next_run_completes(home: Path) -> None:
    expect = json.loads((CASES / "f13-disk-full" / "case.json").read_text())["expect"]["rule"]
    before = files(home / "run")
    for path in (home / "run" / "data").iterdir():
        path.unlink()
    file = home / "run.yaml"
    file.write_text(yaml.safe_dump(settings(home)))
    limit = min(len(data) for name, data in before.items() if name.startswith("data/")) - 1
    code = (
        "import resource, sys; from datagen.cli import main\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        "sys.argv[1:] = ['run', sys.argv[1]]; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=False
    )
    last = done.stderr.splitlines()[-1]
    assert done.returncode == expect["exit"]
    assert "there is no space left" in last and str(home / "run") in last
    assert "Traceback" not in done.stderr
    assert len(list((home / "run" / "data").iterdir())) == expect["shards_left"]
    made(home)
    assert files(home / "run") == before
