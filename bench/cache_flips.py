"""Flip single bits of a cache's files and look whether a run notices each of them.

Flips in all scenes, one in each, are followed by a whole run in a fresh process: its rows must be
the bytes of the run before all damage, and each flipped file must hold what it held, or the run
must name it.

    python bench/cache_flips.py --count 300 --seed 0 [--libero N]
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from PIL import Image

MODEL = """<mujoco><asset><texture name="t" type="2d" file="t.png"/>
  <material name="m" texture="t" specular=".2"/></asset><worldbody>
  <light pos="0 0 2"/><camera name="view" pos="0 -.2 1.2" xyaxes="1 0 0 0 1 .1"/>
  <geom name="floor" type="plane" size="1 1 .1" material="m"/>
  <body name="box" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" material="m"/></body>
</worldbody></mujoco>"""
STAGE = """#usda 1.0
(defaultPrim = "World"
 metersPerUnit = 1
 upAxis = "Z")
def Xform "World" {
 def Cube "cube" {
  double size = 0.3
 }
 def SphereLight "lamp" {
  float inputs:radius = 0.1
  float inputs:intensity = 900
  double3 xformOp:translate = (0, 0, 2)
  uniform token[] xformOpOrder = ["xformOp:translate"]
 }
}"""


_SCENES = 6


def small_config(folder: Path) -> dict[str, Any]:
    """A run over a textured model and a stage, drawn by both renderers."""
    texels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(texels).save(folder / "t.png")
    sources: list[dict[str, Any]] = []
    for number in range(_SCENES):
        room, cube = folder / f"room{number}.xml", folder / f"cube{number}.usda"
        room.write_text(MODEL.replace(".1 .1 .1", f".1 .1 .{number + 10}"))
        cube.write_text(STAGE.replace("0.3", f"0.{number + 30}"))
        sources += [{"mjcf": {"path": str(room)}}, {"usd": {"path": str(cube)}}]
    return {
        "scenes": sources,
        "cameras": ["view"],
        "size": [32, 32],
        "backends": ["mitsuba", "mujoco"],
        "mitsuba": {"spp": 1, "denoise": False, "variant": "scalar"},
    }


def libero_config(_: Path) -> dict[str, Any]:
    """A run over one LIBERO task."""
    source = {"suite": "libero_spatial", "tasks": [0], "state": "stored"}
    return {
        "scenes": [{"libero": source}],
        "cameras": ["agentview"],
        "size": [64, 64],
        "backends": ["mitsuba", "mujoco"],
        "mitsuba": {"spp": 1, "denoise": False},
    }


class Stand:
    """A config with its cache, both as they are before all damage."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        folder.mkdir(parents=True)
        self.cache, self._kept, self._run = folder / "cache", folder / "kept", folder / "run"
        self._config = folder / "run.yaml"
        self._config.write_text(
            yaml.safe_dump({**config, "cache": str(self.cache), "output": str(self._run)})
        )
        code, told, self._rows = self._rendered()
        if code:
            raise SystemExit(told)
        _copy(self.cache, self._kept)
        self.files = sorted(
            path.relative_to(self.cache)
            for top in ("scenes", "libero")  # Files elsewhere are links to these.
            for path in (self.cache / top).rglob("*")
            if path.is_file()
        )

    def outcomes(self, flips: Mapping[Path, int]) -> dict[Path, str]:
        """Flip a bit in each of some files, run, tell what came of it, and put everything back."""
        for file, bit in flips.items():
            path = self.cache / file
            data = bytearray(path.read_bytes())
            data[bit // 8] ^= 1 << bit % 8
            path.chmod(0o644)
            path.write_bytes(data)
        code, told, rows = self._rendered()
        found = {file: self._outcome(file, code, told, rows) for file in flips}
        shutil.rmtree(self.cache)
        _copy(self._kept, self.cache)
        return found

    def _outcome(self, file: Path, code: int, told: str, rows: dict[str, bytes]) -> str:
        path = self.cache / file
        if "Traceback" in told or "Unexpected" in told:
            return "bad: " + told.splitlines()[-1]
        if code:
            return "named" if file.name in told else f"bad: exit code {code}: {told}"
        if rows != self._rows:
            return "bad: other rows"
        mended = path.is_file() and path.read_bytes() == (self._kept / file).read_bytes()
        return "made again" if mended else "bad: not noticed"

    def _rendered(self) -> tuple[int, str, dict[str, bytes]]:
        shutil.rmtree(self._run, ignore_errors=True)
        command = [sys.executable, "-m", "datagen", "run", str(self._config)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        shards = sorted((self._run / "data").glob("*.parquet"))
        return done.returncode, done.stderr, {each.name: each.read_bytes() for each in shards}


def _copy(source: Path, target: Path) -> None:
    """Copy a folder, links between its files kept."""
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)


def flips(stand: Stand, count: int, seed: int) -> list[tuple[Path, int, str]]:
    """Flip `count` bits, file by file in turn, at places drawn from the seed."""
    draw = random.Random(seed)
    scenes: dict[tuple[str, ...], list[Path]] = {}
    for file in stand.files:
        scenes.setdefault(file.parts[: 2 if file.parts[0] == "scenes" else 3], []).append(file)
    found: list[tuple[Path, int, str]] = []
    turn = 0
    while len(found) < count:
        files = [group[(turn + place) % len(group)] for place, group in enumerate(scenes.values())]
        bits = {
            file: draw.randrange(8 * (stand.cache / file).stat().st_size)
            for file in files[: count - len(found)]
        }
        found += [(file, bits[file], told) for file, told in stand.outcomes(bits).items()]
        turn += 1
        if sys.stderr.isatty():
            print(f"\r{len(found)}/{count}", end="", file=sys.stderr)
    return found


def main() -> None:
    """Print a table of outcomes by kind of file; exit code 1 where one was not noticed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=300)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--libero", type=int, default=0, metavar="N", help="of them on LIBERO")
    asked = arguments.parse_args()
    found: list[tuple[Path, int, str]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found += flips(
            Stand(folder / "small", small_config(folder)), asked.count - asked.libero, asked.seed
        )
        if asked.libero:
            found += flips(
                Stand(folder / "libero", libero_config(folder)), asked.libero, asked.seed
            )
    table = Counter((_kind(file), result.partition(":")[0]) for file, _, result in found)
    outcomes = ("made again", "named", "bad")
    print("file".ljust(22) + "".join(each.rjust(12) for each in outcomes))
    for kind in sorted({kind for kind, _ in table}):
        print(kind.ljust(22) + "".join(str(table[kind, each]).rjust(12) for each in outcomes))
    bad = [(file, bit, result) for file, bit, result in found if result.startswith("bad")]
    for file, bit, result in bad:
        print(f"{file} bit {bit}: {result}")
    if bad:
        raise SystemExit(1)


def _kind(file: Path) -> str:
    folder = file.parts[0]
    if file.name.startswith("exposure"):
        return f"{folder}: exposure"
    return f"{folder}: {file.name if len(file.parts) == 3 else '*' + file.suffix}"


if __name__ == "__main__":
    main()
