"""LIBERO's tasks as a source of scenes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from scenes.convert.settings import Settings
from scenes.errors import SceneError, SettingError, UnknownNameError
from scenes.sources.libero.catalogue import TaskInfo
from scenes.sources.libero.config import LiberoConfig, StateCount
from scenes.sources.libero.conversion import libero_scene
from scenes.sources.libero.tasks import (
    BundleRequest,
    libero_suites,
    libero_tasks,
    try_libero_bundles,
)
from scenes.sources.source import Source, SourceScene, SourceState, Wanted, Workplace
from scenes.stage.scene import Scene
from scenes.storage.bundle import Bundle


@dataclass(frozen=True)
class LiberoSource(Source):
    """Tasks of a LIBERO suite."""

    kind: ClassVar[str] = "libero"
    title: ClassVar[str] = "LIBERO"
    settings_model: ClassVar[type[Settings]] = LiberoConfig

    settings: LiberoConfig

    @property
    def name(self) -> str:
        """Name of the suite."""
        return self.settings.suite

    def plan(self) -> Sequence[SourceScene]:
        """Look up the tasks and their initial states.

        Raises:
            SettingError: The suite, a task or an initial state does not exist.
            MissingExtraError: LIBERO is not installed.
        """
        settings = self.settings
        suites = [suite.name for suite in libero_suites()]
        if settings.suite not in suites:
            raise UnknownNameError("suite", settings.suite, suites)
        seed = f"_seed{settings.seed}" if settings.seed else ""
        return [
            SourceScene(
                origin=f"libero/{settings.suite}/{task.name}",
                states=tuple(
                    SourceState(f"{settings.state}_{state:03d}", state)
                    for state in _initial_states(settings, task)
                ),
                suffix=f"_{task.index:02d}{seed}",
            )
            for task in _chosen(settings, libero_tasks(settings.suite))
        ]

    def open(self, scene: SourceScene, place: Workplace) -> Scene:
        """Open the scene of a task, built on first use."""
        (opener,) = self.openers([Wanted(self, scene)], place)
        return opener()

    @classmethod
    def openers(cls, wanted: Sequence[Wanted], place: Workplace) -> list[Callable[[], Scene]]:
        """Build the bundles of all tasks that the cache does not hold, in one process."""
        place.say(f"LIBERO: {len(wanted)} task{'' if len(wanted) == 1 else 's'}")
        requests = [_request(each) for each in wanted]
        bundles = try_libero_bundles(requests, place.cache)
        return [
            partial(_opened, each, bundle, place)
            for each, bundle in zip(wanted, bundles, strict=True)
        ]


def _request(wanted: Wanted) -> BundleRequest:
    settings = _settings(wanted)
    task = wanted.scene.origin.rpartition("/")[2]
    return BundleRequest(settings.suite, task, settings.seed)


def _opened(wanted: Wanted, bundle: Bundle | SceneError, place: Workplace) -> Scene:
    if isinstance(bundle, SceneError):
        raise bundle
    settings = _settings(wanted)
    states = [state.initial_state or 0 for state in wanted.scene.states]
    return libero_scene(
        bundle, states, settings.state, place.cache, settings.collision, settings.materials
    )[0]


def _settings(wanted: Wanted) -> LiberoConfig:
    assert isinstance(wanted.source, LiberoSource)
    return wanted.source.settings


def _chosen(settings: LiberoConfig, tasks: Sequence[TaskInfo]) -> list[TaskInfo]:
    if settings.tasks == "all":
        return list(tasks)
    by_name: Mapping[int | str, TaskInfo] = {task.name: task for task in tasks}
    by_index: Mapping[int | str, TaskInfo] = {task.index: task for task in tasks}
    chosen: list[TaskInfo] = []
    for place, wanted in enumerate(settings.tasks):
        known = by_index if isinstance(wanted, int) else by_name
        if wanted not in known:
            raise UnknownNameError(f"tasks.{place}", wanted, known)
        chosen.append(known[wanted])
    return chosen


def _initial_states(settings: LiberoConfig, task: TaskInfo) -> Sequence[int]:
    available = task.initial_state_count
    chosen = settings.initial_states
    if chosen == "all":
        return range(available)
    if isinstance(chosen, StateCount):
        if chosen.count > available:
            raise SettingError(
                "initial_states.count",
                f"{chosen.count} is too many: {task.name} has {available}.",
            )
        return range(chosen.count)
    for place, state in enumerate(chosen):
        if state >= available:
            raise SettingError(
                f"initial_states.{place}",
                f"{state} is out of range: {task.name} has 0 to {available - 1}.",
            )
    return chosen
