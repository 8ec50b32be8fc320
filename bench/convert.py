"""Time and size of conversions, beside mujoco-usd-converter's.

    make bench
    python bench/convert.py --peer .venv/peer/bin/python --model robot.xml

A LIBERO task of each standard suite and any MJCF file: seconds of MuJoCo's own compile, seconds of
the conversion beyond it with an empty cache and with its textures stored already, size on disk. The
peer brings a USD library of its own, so it runs in an environment of its own; its seconds and ours
with the compile are what to compare.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import mujoco

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scenes import Scene, libero_bundle, libero_scene, mjcf_scene  # noqa: E402
from scenes.sources.mjcf.config import MjcfConfig  # noqa: E402

SUITES = ("libero_spatial", "libero_object", "libero_goal", "libero_10", "libero_90")
BUILT = Path.home() / ".cache" / "datagen"
PEER = """
import sys, time, mujoco_usd_converter
start = time.perf_counter()
mujoco_usd_converter.Converter().convert(sys.argv[1], sys.argv[2])
print("seconds", time.perf_counter() - start)
"""
HEAD = ("scene", "compile s", "beyond s", "again s", "stage MB", "textures MB", "peer s", "peer MB")


def models(files: list[Path], cache: Path) -> Iterator[tuple[str, Path, Callable[[Path], Scene]]]:
    """Name, XML file and conversion of each scene."""
    for suite in SUITES:
        bundle = libero_bundle(suite, 0, cache=cache)
        yield (
            f"{suite}_00",
            bundle.folder / "model.xml",
            lambda out, bundle=bundle: libero_scene(bundle, [0], "stored", out)[0],
        )
    for file in files:
        source = MjcfConfig(path=file)
        yield file.stem, file, lambda out, source=source: mjcf_scene(source, out)


def robot() -> list[Path]:
    """Give the Panda of the robosuite that LIBERO brings along, which the peer can read."""
    spec = importlib.util.find_spec("robosuite")
    folders = () if spec is None else spec.submodule_search_locations or ()
    files = (Path(folder) / "models/assets/robots/panda/robot.xml" for folder in folders)
    return [file for file in files if file.is_file()]


def seconds(work: Callable[[], object]) -> float:
    """Time of work that finds none of MuJoCo's cached meshes and pictures."""
    mujoco.mj_clearCache(mujoco.mj_getCache())
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peer(python: Path | None, model: Path, out: Path) -> tuple[str, str]:
    """Seconds and megabytes of the peer, or why there are none."""
    if python is None:
        return "-", "-"
    done = subprocess.run(
        [str(python), "-c", PEER, str(model), str(out)], capture_output=True, text=True, check=False
    )
    found = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("seconds ")]
    if not found:
        reason = (done.stderr or done.stdout).strip().splitlines()[-1:]
        print(f"{model.name}: the peer says: {' '.join(reason)[-200:]}", file=sys.stderr)
        return "refused", "-"
    return f"{float(found[0]):.2f}", megabytes(out)


def megabytes(folder: Path) -> str:
    """Size of all files below a folder."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return f"{sum(file.stat().st_size for file in files) / 1e6:.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peer", type=Path, help="Python that has mujoco-usd-converter")
    parser.add_argument("--model", type=Path, action="append", default=[], help="MJCF file")
    parser.add_argument("--cache", type=Path, default=BUILT, help="folder of built LIBERO tasks")
    arguments = parser.parse_args()
    print(f"| {' | '.join(HEAD)} |\n| {' | '.join(['---'] * len(HEAD))} |")
    for name, model, convert in models(arguments.model or robot(), arguments.cache):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            first = seconds(lambda convert=convert, out=out: convert(out))
            compiled, again = [], []
            for _ in range(3):
                shutil.rmtree(out / "scenes")
                again.append(seconds(lambda convert=convert, out=out: convert(out)))
                compiled.append(
                    seconds(lambda model=model: mujoco.MjModel.from_xml_path(str(model)))
                )
            compile_s = min(compiled)
            (scene,) = (file.parent for file in out.rglob("scene.json"))
            textures = megabytes(scene / "textures")
            shutil.rmtree(scene / "textures", ignore_errors=True)
            numbers = (compile_s, first - compile_s, min(again) - compile_s)
            cells = [name, *(f"{number:.2f}" for number in numbers), megabytes(scene), textures]
            print(f"| {' | '.join([*cells, *peer(arguments.peer, model, out / 'peer')])} |")


if __name__ == "__main__":
    main()
