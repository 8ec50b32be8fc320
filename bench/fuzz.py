"""Feed damaged inputs of every kind and look that each is read or refused by one sentence.

    python bench/fuzz.py --count 3000 --seed 0 [--kind usdc] [--keep DIR]

Files of scenes go through the process that converts, configs and shards through another one that
may die. `stopped`: a library hung, grew or died over the file in that process, and it was refused
by name. `bad`: a trace, an unexpected error, a command that hangs or dies, or a message that is not
one line of letters naming the file; each is printed, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import yaml
from tqdm import tqdm

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.fuzz_inputs import HOLDER, KINDS, damaged, whole_inputs  # noqa: E402
from datagen.commands.errors import describe  # noqa: E402
from scenes import Converter, SceneError  # noqa: E402
from scenes.errors import ConversionFault  # noqa: E402
from scenes.sources.file_source import FileSource  # noqa: E402
from scenes.sources.limits import ConversionLimits  # noqa: E402
from scenes.sources.mjcf.config import MjcfConfig  # noqa: E402
from scenes.sources.mjcf.source import MjcfSource  # noqa: E402
from scenes.sources.urdf.config import UrdfConfig  # noqa: E402
from scenes.sources.urdf.source import UrdfSource  # noqa: E402
from scenes.sources.usd.config import UsdConfig  # noqa: E402
from scenes.sources.usd.source import UsdSource  # noqa: E402

STAGE = ROOT / "tests" / "cases" / "x05-bytes-that-are-no-text" / "scene.usda"
LIMITS = ConversionLimits(timeout=20.0, memory=1.5)
_RAW = ("Traceback", "pxrInternal", "/opt/", "Boost.Python", "0x7f", "Unexpected error")
_STOPPED = ("(--timeout).", "(--memory).", "ran out of memory.")
_SILENT_SECONDS = 30.0
OUTCOMES = ("read", "refused", "stopped", "bad")


def judged(message: str, *names: str) -> str:
    """Outcome of a refusal, by its message, which must name a file by a part of its path."""
    if any(word in message for word in _RAW):
        return f"bad: raw text: {message}"
    if not message.isprintable():
        return f"bad: more than one line of letters: {message!r}"
    if not any(name in message for name in names):
        return f"bad: the file is not named: {message}"
    stopped = message.endswith(_STOPPED) or "ended its process" in message
    return f"stopped: {message}" if stopped else "refused"


class Scenes:
    """Feeds files of scenes to the process that converts."""

    def __init__(self, folder: Path, whole: dict[str, bytes]) -> None:
        self._folder = folder
        self._whole = whole
        self._converter = Converter(LIMITS)

    def outcome(self, kind: str, data: bytes) -> str:
        """Convert a scene with a damaged file of a kind."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        source = self._source(kind, data)
        try:
            self._converter.convert(source, self._folder / "out")
        except ConversionFault as error:
            return f"bad: {error}"
        except SceneError as error:
            left = [each.name for each in self._folder.iterdir() if each.name.startswith(".")]
            if left or (self._folder / "out").exists():
                return f"bad: left behind: {left}"
            return judged(str(error), source.path.name, self._folder.name)
        except Exception as error:
            return f"bad: {type(error).__name__}: {error}"
        return "read"

    def close(self) -> None:
        """End the process."""
        self._converter.__exit__(None, None, None)

    def _source(self, kind: str, data: bytes) -> FileSource:
        files = {
            "t.png": self._whole["png"],
            "tex.png": self._whole["png"],
            "m.obj": self._whole["obj"],
        }
        name = {"mjcf": "m.xml", "urdf": "m.urdf", "usda": "s.usda", "usdc": "s.usdc"}.get(kind)
        if kind in ("obj", "stl", "msh", "png"):
            mesh = "m.obj" if kind == "png" else f"m.{kind}"
            files |= {mesh: self._whole["obj"], "s.xml": HOLDER.format(mesh=mesh).encode()}
            files["t.png" if kind == "png" else mesh] = data
            name = "s.xml"
        else:
            assert name is not None
            files[name] = data
        for each, content in files.items():
            (self._folder / each).write_bytes(content)
        path = self._folder / name
        if kind == "urdf":
            return UrdfSource(UrdfConfig(path=path))
        if kind in ("usda", "usdc"):
            return UsdSource(UsdConfig(path=path))
        return MjcfSource(MjcfConfig(path=path))


class Readers:
    """Feeds configs and shards to a process that may die."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._process: BaseProcess | None = None

    def outcome(self, kind: str, data: bytes) -> str:
        """Read a damaged config or shard."""
        file = self._folder / ("c.yaml" if kind == "yaml" else "train-00000.parquet")
        file.write_bytes(data)
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._here, there = context.Pipe()
            self._process = context.Process(target=_serve, args=(there,), daemon=True)
            self._process.start()
            there.close()
        self._here.send((kind, str(file)))
        try:
            told = self._here.recv() if self._here.poll(_SILENT_SECONDS) else "bad: it hangs"
        except EOFError:
            told = "bad: it died"
        if told.startswith("bad: it"):
            self.close()
        return told

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _serve(pipe: Connection) -> None:
    from datagen.configuration.config import load_config
    from writers import read_record, read_rows, row_schema

    while True:
        kind, name = pipe.recv()
        file = Path(name)
        try:
            if kind == "yaml":
                load_config(file)
            else:
                read_record(file, row_schema((), depth_mm=False))
                for _ in read_rows(file):
                    pass
        except BaseException as error:
            sentence, _ = describe(error)
            # A config has a line for each of its problems.
            lines = sentence.splitlines() if kind == "yaml" else [sentence]
            told = [judged(line, file.name) for line in lines]
            pipe.send(next((each for each in told if each != "refused"), "refused"))
        else:
            pipe.send("read")


def a_shard(folder: Path) -> bytes:
    """Make a small run and give its shard."""
    (folder / "box.xml").write_text(
        '<mujoco><worldbody><light pos="0 0 2"/><camera name="view" pos="0 0 2"/>'
        '<body name="box"><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>'
    )
    config = {
        "output": str(folder / "run"),
        "cache": str(folder / "cache"),
        "scenes": [{"mjcf": {"path": str(folder / "box.xml")}}],
        "cameras": ["view"],
        "size": [16, 16],
        "samples_per_state": 3,
        "mitsuba": {"spp": 1, "denoise": False, "variant": "scalar"},
    }
    (folder / "run.yaml").write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "datagen", "run", str(folder / "run.yaml")]
    subprocess.run(command, check=True, capture_output=True)
    return (folder / "run" / "data" / "train-00000.parquet").read_bytes()


def main() -> None:
    """Print a table by kind."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=3000, help="inputs of all kinds together")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--kind", choices=KINDS, action="append", help="only this kind")
    arguments.add_argument("--keep", type=Path, metavar="DIR", help="keep what is bad or stopped")
    asked = arguments.parse_args()
    kinds = asked.kind or KINDS
    table: Counter[tuple[str, str]] = Counter()
    told: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stage = folder / "scene.usda"
        stage.write_bytes(STAGE.read_bytes().replace(b"\xff\xfe", b""))
        whole = dict(whole_inputs(stage, a_shard(folder)))
        scenes, readers = Scenes(folder / "scene", whole), Readers(folder / "files")
        try:
            for number in tqdm(range(asked.count), disable=not sys.stderr.isatty()):
                kind = kinds[number % len(kinds)]
                draw = random.Random(f"{asked.seed} {kind} {number}")
                data = whole[kind]
                if number >= len(kinds):  # The first of each kind is whole.
                    data = damaged(data, draw, whole[draw.choice(KINDS)])
                reader = readers if kind in ("yaml", "shard") else scenes
                outcome = reader.outcome(kind, data)
                if number < len(kinds) and outcome != "read":
                    outcome = f"bad: the whole one: {outcome}"
                word = outcome.partition(":")[0]
                table[kind, word] += 1
                if word in ("bad", "stopped"):
                    told.append(f"{kind} {number}: {outcome}")
                    if asked.keep:
                        asked.keep.mkdir(exist_ok=True)
                        (asked.keep / f"{word}-{number}.{kind}").write_bytes(data)
        finally:
            scenes.close()
            readers.close()
    print("kind".ljust(8) + "".join(each.rjust(9) for each in OUTCOMES))
    for kind in kinds:
        print(kind.ljust(8) + "".join(str(table[kind, each]).rjust(9) for each in OUTCOMES))
    print("\n".join(told))
    if any(word == "bad" for _, word in table):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
