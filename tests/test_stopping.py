"""Signals end a command with one sentence and leave no process; the same command goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from datagen.interrupts import ending

ROOT = Path(__file__).parent.parent
CASES = Path(__file__).parent / "cases"
SCENE = """<mujoco><worldbody>
  <light pos="0 0 2" dir="0 0 -1"/><geom type="plane" size="1 1 .1" rgba=".6 .6 .6 1"/>
  <body name="box" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>
  <camera name="top" pos="0 0 2" fovy="40"/>
</worldbody></mujoco>"""


def config(folder: Path, workers: int) -> Path:
    (folder / "scene.xml").write_text(SCENE)
    data = {
        "output": str(folder / "run"),
        "cache": str(folder / "cache"),
        "workers": workers,
        "scenes": [{"mjcf": {"path": str(folder / "scene.xml")}}],
        "samples_per_state": 300,
        "cameras": ["top"],
        "size": [16, 16],
        "mitsuba": {"spp": 1, "denoise": False, "variant": "scalar"},
        "parquet": {"frames_per_shard": 1},
    }
    file = folder / "run.yaml"
    file.write_text(yaml.safe_dump(data))
    return file


def started(*arguments: str) -> subprocess.Popen[str]:
    """Start a command in a group of its own, as a shell does."""
    return subprocess.Popen(
        [sys.executable, "-m", "datagen", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def descendants(process: int) -> set[int]:
    found: set[int] = set()
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, file.read_text().split()):
            found |= {child, *descendants(child)}
    return found


def alive(processes: set[int]) -> set[int]:
    """Those that run still; one that is dead and not yet waited for does not."""
    return {
        each
        for each in processes
        if Path(f"/proc/{each}/stat").exists()
        and Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    }


def ended(process: subprocess.Popen[str], family: set[int]) -> tuple[int, str]:
    """Give exit code and last line; nothing else but stages may be told, and nobody is left."""
    _, told = process.communicate(timeout=60)
    wait_for(lambda: not alive(family))
    assert "Traceback" not in told and "Exception" not in told
    lines = told.splitlines()
    assert sum("give the same command again" in line.lower() for line in lines) == 1
    return process.returncode, lines[-1]


def shards(folder: Path) -> list[Path]:
    return list((folder / "run" / "data").glob("*.parquet"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("group", [True, False])
def test_signal_ends_a_run_with_workers(
    tmp_path: Path, number: signal.Signals, group: bool
) -> None:
    case = json.loads((CASES / "f11-interrupted-with-workers" / "case.json").read_text())
    process = started("run", str(config(tmp_path, workers=2)))
    wait_for(lambda: len(shards(tmp_path)) >= 2)
    family = descendants(process.pid)
    assert len(family) >= 2
    (os.killpg if group else os.kill)(process.pid, number)
    code, last = ended(process, family)
    assert (last, code) == ending(number)
    if number == signal.SIGINT:
        assert code == case["expect"]["rule"]["exit"]
    assert 0 < len(shards(tmp_path)) < 300
    assert sorted(path.suffix for path in (tmp_path / "run" / "data").iterdir()) == (
        [".parquet"] * len(shards(tmp_path))
    )


@pytest.mark.parametrize("stage", ["starting", "scene", "workers"])
def test_interrupt_in_any_stage_is_one_sentence(tmp_path: Path, stage: str) -> None:
    process = started("run", str(config(tmp_path, workers=2)))
    wait_for(
        {
            "starting": lambda: b"datagen" in Path(f"/proc/{process.pid}/cmdline").read_bytes(),
            "scene": lambda: descendants(process.pid),
            "workers": lambda: (
                (tmp_path / "run" / "data").parent.exists() and descendants(process.pid)
            ),
        }[stage]
    )
    if stage == "starting":
        time.sleep(0.2)  # The interpreter itself, before any line of ours, prints a traceback.
    family = descendants(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    code, last = ended(process, family)
    assert (last, code) == ending(signal.SIGINT)
    assert shards(tmp_path) == []


def test_second_interrupt_ends_at_once(tmp_path: Path) -> None:
    process = started("run", str(config(tmp_path, workers=2)))
    wait_for(lambda: len(shards(tmp_path)) >= 2)
    family = descendants(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    code, last = ended(process, family)
    assert (last, code) == ending(signal.SIGINT)


def test_run_whose_process_is_killed_leaves_no_worker(tmp_path: Path) -> None:
    process = started("run", str(config(tmp_path, workers=2)))
    wait_for(lambda: len(shards(tmp_path)) >= 2)
    family = descendants(process.pid)
    process.kill()
    process.communicate()
    wait_for(lambda: not alive(family))
