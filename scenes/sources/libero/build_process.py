"""Build LIBERO bundles in a process of its own, `scenes.sources.libero.build`."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from scenes.errors import SceneError
from scenes.sources.libero.catalogue import installed_catalogue

if TYPE_CHECKING:
    from scenes.sources.libero.build import Answer, Job, Request

Progress = Callable[[int, int, str], None]
"""Called with the number of bundles built, the number to build, and the task just built."""
STARTED = -1
"""Job of the first answer of a build process, which says that LIBERO could be imported."""
_SILENCE_SECONDS = 600.0  # A build answers every few seconds, and every minute when starved.
_SHOWN_LOG_LINES = 15


def run_builds(jobs: list[Job], cache: Path, progress: Progress | None) -> dict[str, SceneError]:
    """Build bundles; those after one that ends the process are built by another process.

    Returns:
        What failed, by target.
    """
    failures: dict[str, SceneError] = {}
    first = 0
    while first < len(jobs):
        count, failed = _run_build(jobs[first:], cache, progress)
        failures |= failed
        first += count
    return failures


def _run_build(
    jobs: list[Job], cache: Path, progress: Progress | None
) -> tuple[int, dict[str, SceneError]]:
    """Build bundles in a process of its own.

    Returns:
        How many jobs are settled, and what failed, by target.
    """
    request: Request = {
        "jobs": jobs,
        "cache": str(cache),
        "asset_roots": [str(root) for root in installed_catalogue().asset_roots],
    }
    with tempfile.TemporaryDirectory(prefix="datagen-libero-") as name:
        scratch = Path(name)
        with (scratch / "log").open("w+", encoding="utf-8", errors="replace") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "scenes.sources.libero.build"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(scratch),
                encoding="utf-8",
            )
            try:
                answers = list(_answers(process, request, progress))
            finally:
                process.kill()
                process.wait()
            log.seek(0)
            printed = "".join(log.readlines()[-_SHOWN_LOG_LINES:]).rstrip()
    reasons = {each["job"]: each["error"] for each in answers if each["error"]}
    started, answered = bool(answers), len(answers) - 1
    settled = len(jobs)
    if answered < len(jobs):
        # A process that did not even start would fail for the others too.
        settled = answered + 1 if started else len(jobs)
        last = printed.rpartition("\n")[2].strip()
        reason = "the build process ended early" + (f": {last}" if last else ".")
        reasons |= dict.fromkeys(range(max(answered, 0), settled), reason)
    failures: dict[str, SceneError] = {}
    for number, reason in reasons.items():
        sentence = " ".join(reason.split())
        failure = SceneError(f"{jobs[number]['suite']}/{jobs[number]['task']}: {sentence}")
        if printed:
            failure.add_note(f"The build printed:\n{printed}")
        failures[jobs[number]["target"]] = failure
    return settled, failures


def _answers(
    process: subprocess.Popen[str], request: Request, progress: Progress | None
) -> Iterator[Answer]:
    """Send the request and give each answer as it comes; end a process that fell silent."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as stream:
        json.dump(request, stream)
    jobs = request["jobs"]
    while True:
        watchdog = threading.Timer(_SILENCE_SECONDS, process.kill)
        watchdog.daemon = True
        watchdog.start()
        line = process.stdout.readline()
        watchdog.cancel()
        if not line:
            return
        answer: Answer = json.loads(line)
        if progress is not None and answer["job"] != STARTED and not answer["error"]:
            progress(answer["job"] + 1, len(jobs), jobs[answer["job"]]["task"])
        yield answer


def _environment(scratch: Path) -> dict[str, str]:
    """Give the build process an environment in which its scene depends on nothing of the user's.

    ``MUJOCO_GL=glx`` is the one value with which robosuite loads no OpenGL library; numba's
    compiler changes no bit of a scene and costs seconds; the order of sets must be fixed.
    """
    root = installed_catalogue().root
    folders = {
        "benchmark_root": root,
        "bddl_files": root / "bddl_files",
        "init_states": root / "init_files",
        "datasets": scratch / "datasets",
        "assets": installed_catalogue().asset_root,
    }
    # JSON is YAML; with this file LIBERO reads no configuration of the user's.
    (scratch / "config.yaml").write_text(json.dumps({k: str(v) for k, v in folders.items()}))
    sources = str(Path(__file__).resolve().parents[3])
    paths = [sources, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "LIBERO_CONFIG_PATH": str(scratch),
        "MPLCONFIGDIR": str(scratch),
        "MUJOCO_GL": "glx",
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(paths),
    }
