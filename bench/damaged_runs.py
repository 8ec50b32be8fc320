"""Damage runs, and look whether what comes of them is ever anything but the right bytes.

    python bench/damaged_runs.py flips --count 1000
    python bench/damaged_runs.py kills --count 40 [--workers 2]

Flips: half in finished runs, half in runs without a manifest; each round flips one bit in each
shard, checks it as a reader does, makes the run again and compares every file. Kills: SIGKILL at
random moments, up to three in one run; then the same command must come to the files of a run that
was never killed, with no process left.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from datagen.configuration.config import RunConfig
from datagen.progress import SilentProgress
from datagen.run import pipeline
from writers import ReadError, read_manifest, verify_shard

SCENE = """<mujoco><worldbody>
  <light pos="0 0 2" dir="0 0 -1"/><geom type="plane" size="1 1 .1" rgba=".6 .6 .6 1"/>
  <body name="box" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>
  <camera name="top" pos="0 0 2" fovy="40"/>
</worldbody></mujoco>"""
SHARDS = 50


class DamagedRun:
    """A run in a folder, and the files it must come to."""

    def __init__(self, folder: Path, spp: int) -> None:
        self.folder, self._file = folder / "run", folder / "run.yaml"
        (folder / "scene.xml").write_text(SCENE)
        self.config: dict[str, Any] = {
            "output": str(self.folder),
            "cache": str(folder / "cache"),
            "scenes": [{"mjcf": {"path": str(folder / "scene.xml")}}],
            "samples_per_state": SHARDS,
            "cameras": ["top"],
            "size": [32, 32],
            "mitsuba": {"spp": spp, "denoise": False, "variant": "scalar"},
            "randomize": {"object_pose": {"translation": {"uniform": [-0.2, 0.2]}}},
            "parquet": {"frames_per_shard": 1},
        }
        self.make()
        self.whole = self.files()

    @property
    def shards(self) -> int:
        """Shards that are there."""
        return len(list(self.folder.glob("data/*.parquet")))

    def make(self) -> dict[str, str]:
        """Make the run in this process; give the shards that were made again, and why."""
        summary = pipeline.run(RunConfig.from_data(self.config), SilentProgress())
        return dict(summary.damaged)

    def command(self, workers: int) -> list[str]:
        """The run as a command."""
        self._file.write_text(yaml.safe_dump(self.config | {"workers": workers}))
        return [sys.executable, "-m", "datagen", "run", str(self._file)]

    def files(self) -> dict[str, bytes]:
        """Every file of the run folder."""
        found = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}


def flips(run: DamagedRun, count: int, chance: random.Random) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    finished = False
    while outcomes.total() < count:
        finished = not finished
        where = "a finished run" if finished else "a half finished run"
        records = read_manifest(run.folder).shards
        for record in records:
            path = run.folder / "data" / record.name
            bit = chance.randrange(8 * record.bytes)
            data = bytearray(path.read_bytes())
            data[bit // 8] ^= 1 << bit % 8
            path.write_bytes(data)
            try:
                verify_shard(path, record)
            except ReadError:
                continue
            outcomes[f"bad: read from {where}"] += 1
        if not finished:
            (run.folder / "manifest.json").unlink()
        again = run.make()
        same = run.files() == run.whole
        for record in records:
            noticed = same and record.name in again
            outcomes[f"noticed and made again in {where}" if noticed else "bad: kept"] += 1
    return outcomes


def kills(run: DamagedRun, count: int, workers: int, chance: random.Random) -> Counter[str]:
    command = run.command(workers)
    outcomes: Counter[str] = Counter()
    for number in range(count):
        if number % 3 == 0:
            shutil.rmtree(run.folder)
        before = run.shards
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if number % 4 == 0:  # Before, amid or after the start of workers.
            time.sleep(chance.uniform(0.1, 5.0))
        else:
            goal = before + chance.randint(1, SHARDS // 4)
            while process.poll() is None and run.shards < goal:
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 0.1))
        family = _descendants(process.pid)
        process.kill()
        process.wait()
        time.sleep(1.0)
        left = [each for each in family if _runs(each)]
        state = "amid shards" if 0 < run.shards < SHARDS else f"with {run.shards} shards there"
        outcomes[f"bad: {len(left)} processes left" if left else f"killed {state}"] += 1
        if number % 3 == 2 or number == count - 1:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            same = done.returncode == 0 and run.files() == run.whole
            outcomes["then whole, every file equal" if same else f"bad: {done.stderr[-200:]}"] += 1
    return outcomes


def _descendants(process: int) -> set[int]:
    found: set[int] = set()
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = [int(word) for word in file.read_text().split()]
        except OSError:
            continue
        for child in children:
            found |= {child, *_descendants(child)}
    return found


def _runs(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def main() -> None:
    parser = argparse.ArgumentParser(description="Damage runs and hold what comes of them.")
    parser.add_argument("what", choices=["flips", "kills"])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="damaged-runs-") as name:
        if arguments.what == "flips":
            outcomes = flips(DamagedRun(Path(name), spp=1), arguments.count, chance)
        else:
            run = DamagedRun(Path(name), spp=64)
            outcomes = kills(run, arguments.count, arguments.workers, chance)
    for outcome, times in sorted(outcomes.items()):
        print(f"{times:6} {outcome}")
    if any(outcome.startswith("bad") for outcome in outcomes):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
