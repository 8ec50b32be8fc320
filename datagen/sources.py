"""The scenes that a config names, looked up before anything is made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from datagen.config import RunConfig
from datagen.config_errors import unknown_name
from datagen.plan import ScenePlan, StatePlan
from scenes.config import LiberoSource, SourceConfig, StateCount

if TYPE_CHECKING:
    from scenes.libero_catalogue import TaskInfo


def plan_scenes(config: RunConfig) -> tuple[ScenePlan, ...]:
    """Look up every source: its tasks and states, or its file. Nothing is built.

    Raises:
        ConfigError: A suite, task, initial state or file does not exist, or a scene stands twice.
        scenes.MissingExtraError: LIBERO is not installed.
    """
    plans: list[ScenePlan] = []
    for index, source in enumerate(config.scenes):
        if source.libero is not None:
            found = _libero_scenes(config, index, source.libero)
        else:
            found = [_file_scene(config, index, source)]
        for plan in found:
            if any(plan.scene_id == other.scene_id for other in plans):
                raise config.problem(
                    f"scenes.{index}: the scene {plan.scene_id} ({plan.source}) is in the list "
                    "already; every scene of a run needs a name of its own."
                )
            plans.append(plan)
    return tuple(plans)


def check_cameras(config: RunConfig, scene_id: str, cameras: Iterable[str]) -> None:
    """Refuse a camera that a scene does not have.

    Raises:
        ConfigError: It names the camera, the scene and the cameras that there are.
    """
    known = tuple(cameras)
    for index, camera in enumerate(config.cameras):
        if camera not in known:
            sentence = unknown_name(f"cameras.{index}", camera, known)
            raise config.problem(f"{sentence} (scene {scene_id})")


def _libero_scenes(config: RunConfig, index: int, source: LiberoSource) -> list[ScenePlan]:
    from scenes import libero_suites, libero_tasks

    key = f"scenes.{index}.libero"
    suites = [suite.name for suite in libero_suites()]
    if source.suite not in suites:
        raise config.problem(unknown_name(f"{key}.suite", source.suite, suites))
    tasks = libero_tasks(source.suite)
    seed = f"_seed{source.seed}" if source.seed else ""
    return [
        ScenePlan(
            scene_id=f"{source.suite}_{task.index:02d}{seed}",
            source=f"libero/{source.suite}/{task.name}",
            config_index=index,
            states=tuple(
                StatePlan(f"{source.state}_{state:03d}", state)
                for state in _initial_states(config, key, source, task)
            ),
        )
        for task in _chosen(config, key, source, tasks)
    ]


def _chosen(
    config: RunConfig, key: str, source: LiberoSource, tasks: Sequence[TaskInfo]
) -> list[TaskInfo]:
    if source.tasks == "all":
        return list(tasks)
    by_name: Mapping[int | str, TaskInfo] = {task.name: task for task in tasks}
    by_index: Mapping[int | str, TaskInfo] = {task.index: task for task in tasks}
    chosen: list[TaskInfo] = []
    for place, wanted in enumerate(source.tasks):
        known = by_index if isinstance(wanted, int) else by_name
        if wanted not in known:
            raise config.problem(unknown_name(f"{key}.tasks.{place}", wanted, known))
        chosen.append(known[wanted])
    return chosen


def _initial_states(
    config: RunConfig, key: str, source: LiberoSource, task: TaskInfo
) -> Sequence[int]:
    available = task.initial_state_count
    chosen = source.initial_states
    if chosen == "all":
        return range(available)
    if isinstance(chosen, StateCount):
        if chosen.count > available:
            raise config.problem(
                f"{key}.initial_states.count: {chosen.count} is too many: "
                f"{task.name} has {available}."
            )
        return range(chosen.count)
    for place, state in enumerate(chosen):
        if state >= available:
            raise config.problem(
                f"{key}.initial_states.{place}: {state} is out of range: "
                f"{task.name} has 0 to {available - 1}."
            )
    return chosen


def _file_scene(config: RunConfig, index: int, source: SourceConfig) -> ScenePlan:
    kind, file = next(
        (kind, file)
        for kind in ("mjcf", "urdf", "usd")
        if (file := getattr(source, kind)) is not None
    )
    path: Path = file.path
    try:
        there = path.is_file()
    except OSError as error:
        raise config.problem(
            f"scenes.{index}.{kind}.path: {str(path)!r}: {error.strerror}."
        ) from error
    if not there:
        what = "is a folder" if path.is_dir() else "does not exist"
        raise config.problem(
            f"scenes.{index}.{kind}.path: {str(path)!r} {what} (looked for {path.absolute()})."
        )
    keyframe = source.mjcf.keyframe if source.mjcf is not None else None
    return ScenePlan(
        scene_id=_word(path.stem),
        source=f"{kind}/{path.as_posix()}",
        config_index=index,
        states=(StatePlan(keyframe or "rest"),),
    )


def _word(text: str) -> str:
    """Keep what may stand in a file name and in a row's key."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_") or "scene"
