"""Build scene bundles of LIBERO tasks; `tasks` runs it with ``python -m``.

LIBERO and robosuite are imported here and nowhere else: they want their own environment variables,
change MuJoCo's bindings and print to stdout. The request is one JSON object on stdin, the answers
are JSON lines on stdout; whatever the packages print goes to stderr.

No OpenGL library is needed: `tasks` keeps robosuite from choosing EGL, and an empty ``cv2`` stands
in where OpenCV cannot be loaded (robosuite uses it for windows on a screen only).
"""

from __future__ import annotations

import contextlib
import copy
import importlib.metadata
import json
import os
import platform
import shutil
import sys
import time
import traceback
import types
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from scenes.errors import SceneError
from scenes.sources.libero.bundle_files import (
    differing_fields,
    file_table,
    patch_model,
    relocate_files,
)
from scenes.sources.libero.objects import describe_scene
from scenes.storage.bundle import FORMAT_VERSION, PACKAGES, sealed
from scenes.storage.digests import content_digest
from scenes.storage.temporary import remove_leftovers, temporary_folder

_ATTEMPTS = 100
# What MuJoCo derives from fixture poses while compiling; LIBERO sets these poses after that.
_FROM_FIXTURE_POSE = frozenset(
    [
        "body_ipos",
        "body_iquat",
        "body_sameframe",
        "body_invweight0",
        "dof_invweight0",
        "dof_M0",
        "cam_poscom0",
        "light_poscom0",
        "stat.meaninertia",
    ]
)


class Job(TypedDict):
    """One bundle to build; `bddl`, `states` (.npz) and `target` (folder) are absolute paths."""

    suite: str
    task: str
    task_index: int
    language: str
    seed: int
    bddl: str
    states: str
    target: str


class Request(TypedDict):
    """What to build, where, and the folders a model may read from."""

    jobs: list[Job]
    cache: str
    asset_roots: list[str]


class Answer(TypedDict):
    """What became of a job; an empty `error` means that it was built."""

    job: int
    """Index in the request; -1 in the first answer: LIBERO is imported, the jobs begin."""
    error: str
    seconds: float


def build_bundle(job: Job, store: Path, roots: list[Path], control_env: Callable[..., Any]) -> None:
    """Make one bundle folder; it appears whole or not at all.

    Args:
        job: What to build.
        store: Folder of the files that bundles share.
        roots: Folders that a model may read from.
        control_env: LIBERO's `ControlEnv`.

    Raises:
        SceneError: When the task's scene or states cannot be kept faithfully.
    """
    env = _reset_environment(job, control_env)
    try:
        domain, model = env.env, env.sim.model._model
        root = ET.fromstring(domain.model.get_xml())
        patch_model(root, model)
        target = Path(job["target"])
        remove_leftovers(target.parent)
        staging = temporary_folder(target.parent)
        try:
            relocate_files(root, staging, store, roots)
            ET.ElementTree(root).write(staging / "model.xml", encoding="utf-8")
            kept = _compile_from_store(root, store)
            changed = [n for n in differing_fields(model, kept) if n not in _FROM_FIXTURE_POSE]
            if changed:
                raise SceneError(f"the bundle's model differs from LIBERO's in {changed}.")
            states = _load_states(Path(job["states"]), 1 + model.nq + model.nv)
            np.save(staging / "states.npy", states, allow_pickle=False)
            info: dict[str, Any] = {
                "format": FORMAT_VERSION,
                **{key: job[key] for key in ("suite", "task", "task_index", "language", "seed")},
                "language_bddl": " ".join(domain.parsed_problem["language_instruction"]),
                **describe_scene(domain, model),
                "files": file_table(staging),
            }
            info["digest"] = content_digest(json.dumps(info, sort_keys=True).encode())
            versions = {name: importlib.metadata.version(name) for name in PACKAGES}
            info["versions"] = versions | {"python": platform.python_version()}
            (staging / "bundle.json").write_bytes(sealed(info))
            staging.chmod(0o755)
            try:
                staging.replace(target)
            except OSError:
                if not target.is_dir():  # Else another process was faster with the same bundle.
                    raise
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    finally:
        env.close()


def _reset_environment(job: Job, control_env: Callable[..., Any]) -> Any:
    """Construct the task without rendering and reset it once under its seed.

    `ControlEnv.reset` swallows every error and tries again for ever, hence the own loop.
    """
    from robosuite.utils.errors import RandomizationError

    np.random.seed(job["seed"])
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(RandomizationError):
            env = control_env(
                bddl_file_name=job["bddl"], has_offscreen_renderer=False, use_camera_obs=False
            )
            break
    else:
        raise SceneError(f"LIBERO placed no objects in {_ATTEMPTS} attempts.")
    env.seed(job["seed"])
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(RandomizationError):
            env.env.reset()
            return env
    raise SceneError(f"LIBERO placed no objects in {_ATTEMPTS} attempts.")


def _compile_from_store(root: ET.Element, store: Path) -> Any:
    """Compile a written model with its files taken from the store.

    They are the bundle's own files under another name, which MuJoCo keeps for the next task.
    """
    import mujoco

    root = copy.deepcopy(root)
    for compiler in root.iter("compiler"):
        compiler.set("assetdir", str(store.parent))
    return mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))


def _load_states(path: Path, width: int) -> np.ndarray:
    with np.load(path, allow_pickle=False) as archive:
        states = np.ascontiguousarray(archive["states"], dtype=np.float64)
    if states.ndim != 2 or states.shape[1] != width or not len(states):
        raise SceneError(f"{path}: states have shape {states.shape}, the model needs (n, {width}).")
    if not np.isfinite(states).all():
        row, column = np.argwhere(~np.isfinite(states))[0]
        raise SceneError(f"{path}: state {row} has a non-finite value at index {column}.")
    return states


def _import_control_env() -> Callable[..., Any]:
    # A user's private macros (and robosuite's log file in the shared /tmp) must not reach a scene.
    macros = types.ModuleType("robosuite.macros_private")
    vars(macros).update(FILE_LOGGING_LEVEL=None, MUJOCO_GPU_RENDERING=False)
    sys.modules[macros.__name__] = macros
    try:
        import cv2  # noqa: F401  # pyright: ignore
    except ImportError:
        sys.modules["cv2"] = types.ModuleType("cv2")
    from libero.libero.envs.env_wrapper import ControlEnv  # pyright: ignore

    return ControlEnv


def main() -> None:
    """Answer the request on stdin: a JSON line at the start, then one per job with its error."""
    request: Request = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    start = time.perf_counter()
    control_env = _import_control_env()
    seconds = time.perf_counter() - start
    print(json.dumps(Answer(job=-1, error="", seconds=seconds)), file=answers, flush=True)
    store, roots = (
        Path(request["cache"]) / "assets",
        [Path(r).resolve() for r in request["asset_roots"]],
    )
    store.mkdir(parents=True, exist_ok=True)
    for number, job in enumerate(request["jobs"]):
        start = time.perf_counter()
        failure = ""
        try:
            build_bundle(job, store, roots, control_env)
        except SceneError as error:
            failure = str(error)
        except Exception as error:
            traceback.print_exc()
            failure = f"{type(error).__name__}: {error}"
        answer = Answer(job=number, error=failure, seconds=time.perf_counter() - start)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
