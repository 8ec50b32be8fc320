"""The scenes that a config names, looked up before anything is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from datagen.configuration.config import RunConfig
from datagen.configuration.errors import unknown_name
from datagen.run.plan import ScenePlan, StatePlan
from datagen.run.scene_names import Named, scene_names
from scenes.errors import SettingError, UnknownNameError
from scenes.sources.source import Source, SourceScene, SourceState, Wanted


def plan_scenes(config: RunConfig) -> tuple[ScenePlan, ...]:
    """Look up every source: its scenes and their states. Nothing is built.

    Raises:
        ConfigError: What a setting of a source names does not exist, or a scene stands twice.
        scenes.MissingExtraError: LIBERO is not installed.
    """
    sources = [each.source for each in config.scenes]
    found = [_looked_up(config, index, source) for index, source in enumerate(sources)]
    names = scene_names(
        [
            Named(each.name, source, scenes[0].states[0].name)
            for each, source, scenes in zip(config.scenes, sources, found, strict=True)
        ]
    )
    plans: dict[str, ScenePlan] = {}
    for index, scenes in enumerate(found):
        for scene in scenes:
            plan = _plan(config, index, scene, f"{names[index]}{scene.suffix}")
            if plan.scene_id in plans:
                raise config.problem(
                    f"scenes.{index}: the scene {plan.scene_id} ({plan.source}) is in the list "
                    f"already; every scene of a run needs a name of its own: set "
                    f"scenes.{index}.name."
                )
            plans[plan.scene_id] = plan
    return tuple(plans.values())


def wanted_scene(config: RunConfig, plan: ScenePlan) -> Wanted:
    """Give a planned scene back to its source."""
    states = tuple(SourceState(state.name, state.initial_state) for state in plan.states)
    return Wanted(config.scenes[plan.config_index].source, SourceScene(plan.source, states))


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


def _looked_up(config: RunConfig, index: int, source: Source) -> Sequence[SourceScene]:
    key = f"scenes.{index}.{source.kind}"
    try:
        scenes = source.plan()
    except UnknownNameError as error:
        raise config.problem(
            unknown_name(f"{key}.{error.key}", error.value, error.known)
        ) from error
    except SettingError as error:
        raise config.problem(f"{key}.{error.key}: {error.problem}") from error
    if not scenes or not all(scene.states for scene in scenes):
        raise config.problem(f"{key}: it has no scene, or none with a state.")
    return scenes


def _plan(config: RunConfig, index: int, scene: SourceScene, scene_id: str) -> ScenePlan:
    """Plan a scene, with the cameras that its source chooses."""
    cameras = config.scenes[index].cameras
    return ScenePlan(
        scene_id=scene_id,
        source=scene.origin,
        config_index=index,
        states=tuple(StatePlan(state.name, state.initial_state) for state in scene.states),
        cameras=cameras if isinstance(cameras, tuple) else (),
        all_cameras=cameras == "all",
    )
