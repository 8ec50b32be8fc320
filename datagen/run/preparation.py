"""What a run needs before any rendering: scenes built or found, names checked, jobs laid out."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datagen.backends.registry import backend_entry
from datagen.configuration.config import RunConfig
from datagen.progress import RunProgress
from datagen.run.cluster import threads_per_worker
from datagen.run.plan import (
    RunPlan,
    ScenePlan,
    build_plan,
    choose_cameras,
    deciding_config,
    fingerprint,
    know_cameras,
)
from datagen.run.scene_session import Prepared, SceneSetup, prepare_backends
from datagen.run.shard_job import ShardJob
from datagen.run.sources import check_cameras, plan_scenes, wanted_scene
from datagen.run.versions import library_versions
from randomizers import bind, plugin_versions
from scenes import Converter, MissingExtraError, Scene, SceneError, SceneInfo, StorageError
from scenes.sources.registry import source_versions
from scenes.sources.source import Source, Wanted, Workplace
from writers import WriteError, label_bits
from writers.codecs import LabelBits


@dataclass(frozen=True)
class PreparedScene:
    """A converted scene of the run."""

    folder: Path
    info: SceneInfo


@dataclass(frozen=True)
class PreparedScenes:
    """What became of the scenes of a plan; at least one is there."""

    scenes: Mapping[str, PreparedScene]
    """Scenes by the plan's scene id."""
    refused: Mapping[str, str]
    """Why the others were refused, one sentence by scene id."""


@dataclass(frozen=True)
class PreparedRun:
    """A run that can start."""

    config: RunConfig
    plan: RunPlan
    scenes: Mapping[str, PreparedScene]
    """Scenes by the plan's scene id; one that is refused is in the plan alone."""
    refused: Mapping[str, str]
    """Why scenes were refused, one sentence by scene id."""
    classes: Mapping[str, int]
    """Class numbers."""
    label_bits: LabelBits
    versions: Mapping[str, str]
    """Versions of libraries, and what else of the machine decides bytes."""
    backends: Prepared
    """What was found once for the run by backend."""

    @property
    def deciding_config(self) -> dict[str, Any]:
        """The config's settings that decide what rows hold, as JSON values."""
        return deciding_config(self.config)

    def jobs(self) -> list[ShardJob]:
        """All shards of the plan as jobs, but for those of refused scenes."""
        config = json.loads(self.config.model_dump_json())
        setups = {scene_id: self.setup(scene_id) for scene_id in self.scenes}
        return [
            ShardJob(
                config=config,
                setup=setups[shard.scene_id],
                shard=shard,
                source=self.plan.scene(shard.scene_id).source,
                cameras=self.plan.scene(shard.scene_id).cameras,
                label_bits=self.label_bits,
                path=self.config.output / "data" / shard.name,
                journal=self.config.output,
                basis=self._basis(shard.scene_id),
            )
            for shard in self.plan.shards
            if shard.scene_id in self.scenes
        ]

    def setup(self, scene_id: str) -> SceneSetup:
        """What a process needs to open a scene of the run."""
        return SceneSetup(
            folder=self.scenes[scene_id].folder,
            classes=self.classes,
            exposure_state=self.plan.scene(scene_id).states[0].name,
            prepared=self.backends,
            threads=threads_per_worker(self.config.workers),
        )

    def _basis(self, scene_id: str) -> str:
        """BLAKE2b of all that decides the bytes of a scene's shards."""
        text = f"{self.plan.fingerprint} {self.scenes[scene_id].info.digest}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def prepare_run(config: RunConfig, progress: RunProgress) -> PreparedRun:
    """Plan a run, make its scenes ready and check all names against them.

    Raises:
        ConfigError: A suite, task, state, file or camera does not exist.
        RandomizerError: A randomizer's target is not there.
        scenes.SceneError: Every scene is refused.
        BackendError: No renderer runs here.
        WriteError: The cache cannot be written.
    """
    sources = choose_cameras(config, plan_scenes(config))
    if not _is_folder(config.cache):  # One that holds all scenes already may be read-only.
        refuse_unwritable(config.cache, "Set `cache` or DATAGEN_CACHE to another folder.")
    backends = prepare_backends(config, config.backends)
    prepared = prepare_scenes(config, build_plan(config, sources).scenes, config.backends, progress)
    sources = know_cameras(sources, scene_cameras(prepared.scenes))
    kept = {scene.scene_id for scene in build_plan(config, sources).scenes}
    scenes = {name: scene for name, scene in prepared.scenes.items() if name in kept}
    plugins = {
        **source_versions(source.source.kind for source in config.scenes),
        **plugin_versions(config.randomize),
    }
    versions = {**backend_versions(backends), **plugins, **library_versions()}
    classes = class_table(scenes)
    largest = [max(len(scene.info.parts), len(scene.info.objects)) for scene in scenes.values()]
    bits = label_bits(max([*largest, len(classes)]))
    return PreparedRun(
        config=config,
        plan=build_plan(config, sources, fingerprint(config, versions, classes, bits)),
        scenes=scenes,
        refused={name: why for name, why in prepared.refused.items() if name in kept},
        classes=classes,
        label_bits=bits,
        versions=versions,
        backends=backends,
    )


def scene_cameras(scenes: Mapping[str, PreparedScene]) -> dict[str, tuple[str, ...]]:
    """Cameras of converted scenes by scene id."""
    return {scene_id: _names(scene.info) for scene_id, scene in scenes.items()}


def _names(info: SceneInfo) -> tuple[str, ...]:
    return tuple(camera.name for camera in info.cameras)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def refuse_unwritable(folder: Path, remedy: str) -> None:
    """Refuse a folder that cannot be made or written, before any work.

    Raises:
        WriteError: Names what is in the way, and the remedy.
    """
    place = folder.absolute()
    try:
        while not place.exists():
            if place.is_symlink():
                raise WriteError(
                    f"{folder}: cannot be made: {place} is a link to nothing. {remedy}"
                )
            place = place.parent
    except OSError as error:
        raise WriteError(f"{folder}: cannot be made: {error.strerror}. {remedy}") from error
    if not place.is_dir():
        raise WriteError(f"{folder}: cannot be made: {place} is not a folder. {remedy}")
    if not os.access(place, os.W_OK | os.X_OK):
        raise WriteError(f"{folder}: cannot be written: no permission in {place}. {remedy}")


def backend_versions(backends: Prepared) -> dict[str, str]:
    """What was found once for a run, as a part of what decides bytes: by backend and name."""
    return {
        f"{backend} {name}": value
        for backend, found in backends.items()
        for name, value in found.items()
    }


def prepare_scenes(
    config: RunConfig,
    plans: Sequence[ScenePlan],
    backends: Iterable[str],
    progress: RunProgress,
    *,
    pictured: bool = True,
) -> PreparedScenes:
    """Build or find every scene of a plan, with its states, and check names against it.

    A scene that is refused does not keep the others from being made.

    Args:
        config: The config.
        plans: The scenes.
        backends: Renderers that will show them.
        progress: Told of every scene.
        pictured: Whether the cameras of the config must be there.

    Raises:
        ConfigError: A camera is not there, or a renderer cannot show so many lights.
        RandomizerError: A randomizer's target is not there.
        scenes.SceneError: Every scene is refused.
        scenes.StorageError: The cache cannot be written.
    """
    with Converter(config.conversion) as converter:
        place = Workplace(config.cache, converter, progress.stage)
        openers = _openers(config, plans, place)
        return _prepared(config, plans, backends, progress, openers, pictured)


def _openers(
    config: RunConfig, plans: Sequence[ScenePlan], place: Workplace
) -> dict[str, Callable[[], Scene]]:
    """Give a function for each scene that opens it; kinds do first what their scenes share."""
    kinds: dict[type[Source], dict[str, Wanted]] = {}
    for plan in plans:
        wanted = wanted_scene(config, plan)
        kinds.setdefault(type(wanted.source), {})[plan.scene_id] = wanted
    return {
        scene_id: opener
        for kind, wanted in kinds.items()
        for scene_id, opener in zip(wanted, kind.openers([*wanted.values()], place), strict=True)
    }


def _prepared(
    config: RunConfig,
    plans: Sequence[ScenePlan],
    backends: Iterable[str],
    progress: RunProgress,
    openers: Mapping[str, Callable[[], Scene]],
    pictured: bool,
) -> PreparedScenes:
    prepared: dict[str, PreparedScene] = {}
    refusals: dict[str, SceneError] = {}
    for number, plan in enumerate(plans, 1):
        progress.stage(f"scene {number}/{len(plans)}: {plan.scene_id}")
        try:
            scene = openers[plan.scene_id]()
        except (StorageError, MissingExtraError):
            raise
        except SceneError as error:
            refusals[plan.scene_id] = error
            progress.stage(f"refused: {_sentence(error)}")
            continue
        if pictured:
            check_cameras(config, plan.scene_id, _names(scene.info), plan.config_index)
        for name in backends:
            if refusal := backend_entry(name).refusal(scene, plan.scene_id):
                raise config.problem(f"backends: {refusal}")
        bind(config.randomize, scene.info)
        prepared[plan.scene_id] = PreparedScene(scene.folder, scene.info)
    if not prepared:
        raise _all_refused(refusals)
    refused = {scene_id: _sentence(error) for scene_id, error in refusals.items()}
    return PreparedScenes(prepared, refused)


def _sentence(error: SceneError) -> str:
    """Give a message in one line; those of libraries may have several."""
    return " ".join(str(error).split())


def _all_refused(refusals: Mapping[str, SceneError]) -> SceneError:
    if len(refusals) == 1:
        (error,) = refusals.values()
        return error
    lines = [f"{scene_id}: {_sentence(error)}" for scene_id, error in refusals.items()]
    return SceneError("Every scene was refused:", *lines)


def class_table(prepared: Mapping[str, PreparedScene]) -> dict[str, int]:
    """Number the classes of a run from 1, in alphabetical order."""
    labels = {each.label for scene in prepared.values() for each in scene.info.objects}
    return {label: number for number, label in enumerate(sorted(labels), 1)}
