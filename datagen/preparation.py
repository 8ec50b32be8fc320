"""The scenes of a plan, built or found in the cache before any rendering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from datagen.config import RunConfig
from datagen.plan import ScenePlan
from datagen.progress import RunProgress
from datagen.sources import check_cameras
from randomizers import bind
from scenes import BundleRequest, Scene, SceneInfo, libero_bundles, libero_scene, mjcf_scene
from scenes.config import LiberoSource


@dataclass(frozen=True)
class PreparedScene:
    """A converted scene of the run."""

    folder: Path
    info: SceneInfo


def prepare_scenes(
    config: RunConfig, plans: Sequence[ScenePlan], progress: RunProgress
) -> dict[str, PreparedScene]:
    """Build or find every scene of a plan, with its states, and check names against it.

    Returns:
        Scenes by the plan's scene id.

    Raises:
        ConfigError: A camera is not there.
        RandomizerError: A randomizer's target is not there.
        scenes.SceneError: A scene is refused.
    """
    bundles = _bundles(config, plans, progress)
    prepared: dict[str, PreparedScene] = {}
    for number, plan in enumerate(plans, 1):
        progress.stage(f"scene {number}/{len(plans)}: {plan.scene_id}")
        source = config.scenes[plan.config_index]
        if source.libero is not None:
            states = [state.initial_state or 0 for state in plan.states]
            scene, _ = libero_scene(
                bundles[plan.scene_id], states, source.libero.state, config.cache
            )
        else:
            assert source.mjcf is not None
            scene = mjcf_scene(source.mjcf, config.cache)
        check_cameras(config, plan.scene_id, [camera.name for camera in scene.info.cameras])
        bind(config.randomize, scene.info)
        prepared[plan.scene_id] = PreparedScene(scene.folder, scene.info)
    return prepared


def class_table(prepared: Mapping[str, PreparedScene]) -> dict[str, int]:
    """Number the classes of a run from 1, in alphabetical order."""
    labels = {each.label for scene in prepared.values() for each in scene.info.objects}
    return {label: number for number, label in enumerate(sorted(labels), 1)}


def _bundles(
    config: RunConfig, plans: Sequence[ScenePlan], progress: RunProgress
) -> dict[str, object]:
    requests: dict[str, BundleRequest] = {}
    for plan in plans:
        source = config.scenes[plan.config_index].libero
        if isinstance(source, LiberoSource):
            task = plan.source.rpartition("/")[2]
            requests[plan.scene_id] = BundleRequest(source.suite, task, source.seed)
    if not requests:
        return {}
    progress.stage(f"LIBERO: {len(requests)} task{'s' if len(requests) > 1 else ''}")
    bundles = libero_bundles(list(requests.values()), config.cache)
    return dict(zip(requests, bundles, strict=True))
