"""The scenes that a config names, looked up before anything is made."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from datagen.configuration.config import RunConfig
from datagen.configuration.errors import unknown_name
from datagen.run.plan import ScenePlan, StatePlan
from datagen.run.source_paths import anchored
from scenes.sources.config import FileSource, LiberoSource, MjcfSource, SourceConfig, StateCount

if TYPE_CHECKING:
    from scenes.sources.libero.catalogue import TaskInfo

_LONGEST = 120
REST = "rest"
"""State of a file without a keyframe."""


def plan_scenes(config: RunConfig) -> tuple[ScenePlan, ...]:
    """Look up every source: its tasks and states, or its file. Nothing is built.

    Raises:
        ConfigError: A suite, task, initial state or file does not exist, or a scene stands twice.
        scenes.MissingExtraError: LIBERO is not installed.
    """
    plans: list[ScenePlan] = []
    names = _file_names(config)
    for index, source in enumerate(config.scenes):
        if source.libero is not None:
            found = _libero_scenes(config, index, source.libero)
        else:
            found = [_file_scene(config, index, source, names[index])]
        for plan in found:
            if any(plan.scene_id == other.scene_id for other in plans):
                raise config.problem(
                    f"scenes.{index}: the scene {plan.scene_id} ({plan.source}) is in the list "
                    f"already; every scene of a run needs a name of its own: set "
                    f"scenes.{index}.name."
                )
            plans.append(_with_cameras(source, plan))
    return tuple(plans)


def _with_cameras(source: SourceConfig, plan: ScenePlan) -> ScenePlan:
    if source.cameras is None:
        return plan
    if source.cameras == "all":
        return replace(plan, all_cameras=True)
    return replace(plan, cameras=source.cameras)


def check_cameras(
    config: RunConfig, scene_id: str, cameras: Iterable[str], source: int = 0
) -> None:
    """Refuse a camera that a scene does not have, and a scene of which no camera is to be seen.

    Args:
        config: The config.
        scene_id: The scene.
        cameras: Its cameras.
        source: Index of its source in the config.

    Raises:
        ConfigError: It names the camera, the scene and the cameras that there are.
    """
    known = tuple(cameras)
    own = config.scenes[source].cameras
    key = "cameras" if own is None else f"scenes.{source}.cameras"
    chosen = config.cameras if own is None else own
    if chosen == "all":
        if not known:
            raise config.problem(f"{key}: all, but the scene {scene_id} has none.")
        return
    for index, camera in enumerate(chosen):
        if camera not in known:
            sentence = unknown_name(f"{key}.{index}", camera, known)
            raise config.problem(f"{sentence} (scene {scene_id})")


def _libero_scenes(config: RunConfig, index: int, source: LiberoSource) -> list[ScenePlan]:
    from scenes import libero_suites, libero_tasks

    key = f"scenes.{index}.libero"
    suites = [suite.name for suite in libero_suites()]
    if source.suite not in suites:
        raise config.problem(unknown_name(f"{key}.suite", source.suite, suites))
    tasks = libero_tasks(source.suite)
    start = config.scenes[index].name or source.suite
    seed = f"_seed{source.seed}" if source.seed else ""
    return [
        ScenePlan(
            scene_id=f"{start}_{task.index:02d}{seed}",
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


def _file_scene(config: RunConfig, index: int, source: SourceConfig, name: str) -> ScenePlan:
    kind, file = _file(source)
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
        scene_id=name,
        source=f"{kind}/{anchored(path, config.output)}",
        config_index=index,
        states=(StatePlan(keyframe or REST),),
    )


def _file(source: SourceConfig) -> tuple[str, FileSource]:
    """Kind and settings of a source that is a file."""
    return next(
        (kind, file)
        for kind in ("mjcf", "urdf", "usd")
        if (file := getattr(source, kind)) is not None
    )


def _file_names(config: RunConfig) -> dict[int, str]:
    """Names of the scenes of files, by index of the source.

    A scene is called as its file. Where several would be called the same, each gets as many of
    its folders before its name as tell the files apart, and its keyframe behind where sources
    share a file. So a name depends on which sources there are, not on their order.
    """
    given = {index: source.name for index, source in enumerate(config.scenes) if source.name}
    files = {
        index: _file(source)[1]
        for index, source in enumerate(config.scenes)
        if source.libero is None and index not in given
    }
    places = {index: _place(file.path) for index, file in files.items()}
    names = {index: _word(file.path.stem) for index, file in files.items()}
    for name in sorted(set(names.values())):
        alike = [index for index in names if names[index] == name]
        if len(alike) < 2:
            continue
        folders = _folders_apart([places[index] for index in alike])
        for index in alike:
            parts = places[index][len(places[index]) - 1 - folders :]
            shared = sum(places[other] == places[index] for other in alike) > 1
            words = [_word(part) for part in parts if part.strip("/")]
            names[index] = "_".join([*words, _state(files[index])] if shared else words)
    return given | {index: _short(name) for index, name in names.items()}


def _short(name: str) -> str:
    """Cut a name that would be too long for a folder; a digest of the whole stands for the rest."""
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 9]}_{blake2b(name.encode(), digest_size=4).hexdigest()}"


def _place(path: Path) -> tuple[str, ...]:
    """Folders of a file, and its name without suffix."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100  # A link keeps the name it is given by.
    return (*whole.parent.parts, whole.stem)


def _folders_apart(places: Sequence[tuple[str, ...]]) -> int:
    """How many folders, counted from the files, tell different files apart."""
    different = set(places)
    longest = max(map(len, different))
    return next(
        count
        for count in range(longest)
        if len({place[-1 - count :] for place in different}) == len(different)
    )


def _state(file: FileSource) -> str:
    """Word for the state that a source shows."""
    keyframe = file.keyframe if isinstance(file, MjcfSource) else None
    return _word(keyframe or REST)


def _word(text: str) -> str:
    """Keep what may stand in a file name and in a row's key."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_") or "scene"
