"""Bundles of LIBERO's tasks made into scenes, state by state."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from scenes.convert.compiled import CompiledModel
from scenes.convert.conversion import Description
from scenes.convert.grouping import Grouping, ObjectName
from scenes.convert.model import convert_model
from scenes.convert.settings import Collision, MaterialRule
from scenes.convert.states import Placement, write_state
from scenes.errors import SceneError
from scenes.mujoco_warnings import mujoco_warnings
from scenes.sources.cache import cache_folder, converter_versions, lock_file, scene_of_cache
from scenes.sources.libero.settle import settle
from scenes.stage.scene import Scene
from scenes.storage.bundle import Bundle
from scenes.storage.locks import held_lock, patiently

VISUAL_GROUP = 1
"""robosuite's group of visual geoms."""


def libero_scene(
    bundle: Bundle,
    states: Iterable[int],
    mode: str,
    cache: Path,
    collision: Collision = "boxes",
    materials: MaterialRule = "physical",
) -> tuple[Scene, list[str]]:
    """Open the scene of a LIBERO bundle, converted on first use, with the states asked for.

    Args:
        bundle: The task's bundle.
        states: Indices of initial states.
        mode: `stored`: as in LIBERO's files; `settled`: after the objects came to rest.
        cache: Folder of the cache.
        collision: What stands for colliding geoms.
        materials: What MuJoCo's highlights become.

    Returns:
        The scene and the names of its states, in the order asked for.

    Raises:
        SceneError: The bundle has no such state, or something cannot be converted.
    """
    numbers = list(states)
    for number in numbers:
        if not 0 <= number < len(bundle.states):
            raise SceneError(
                f"{bundle.info.task}: no initial state {number}; there are 0 to "
                f"{len(bundle.states) - 1}."
            )
    names = [f"{mode}_{number:03d}" for number in numbers]
    settings = f"collision={collision} materials={materials}"
    folder = cache_folder(cache, bundle.info.task, bundle.digest, settings)
    models: list[CompiledModel] = []

    def compiled() -> CompiledModel:
        if not models:
            models.append(_compiled(bundle))
        return models[0]

    def make() -> None:
        _convert_bundle(bundle, compiled(), folder, cache, collision, materials)

    scene = scene_of_cache(folder, make, patiently)
    if set(names) <= set(scene.state_names):
        return scene, names
    with held_lock(lock_file(folder)):
        for number, name in zip(numbers, names, strict=True):
            if name not in Scene.open(folder).state_names:
                model = compiled().model
                placement = Placement(_qpos(bundle, model, number, mode))
                write_state(folder, scene.info, model, name, placement)
    return Scene.open(folder), names


def _compiled(bundle: Bundle) -> CompiledModel:
    with mujoco_warnings() as warnings:
        model = bundle.load_model()
    return CompiledModel(model, tuple(warnings))


def _convert_bundle(
    bundle: Bundle,
    compiled: CompiledModel,
    folder: Path,
    cache: Path,
    collision: Collision,
    materials: MaterialRule,
) -> None:
    info = bundle.info
    owners = {
        instance.name: ObjectName(instance.name, instance.label, instance.kind)
        for instance in info.instances
    }
    grouping = Grouping(
        bodies={body: owners[instance] for body, instance in info.bodies.items()},
        world_geoms={
            geom: ObjectName(owner.name, owner.label, "arena")
            for geom, owner in info.world_geoms.items()
        },
        drawn_groups=frozenset({VISUAL_GROUP}),
    )
    description = Description(
        scene_id=f"{info.suite}_{info.task_index:02d}" + (f"_seed{info.seed}" if info.seed else ""),
        source=f"libero/{info.suite}/{info.task}",
        digest=bundle.digest,
        versions={**info.versions, **converter_versions()},
        language=info.language,
        language_bddl=info.language_bddl,
        objects_of_interest=info.objects_of_interest,
        main_camera="agentview",
        grouping=grouping,
        robot_joints=info.robot.joints,
        gripper_joints=info.robot.gripper_joints,
        ee_site=info.robot.ee_site,
        ee_body=info.robot.ee_body,
        collision=collision,
        materials=materials,
    )
    convert_model(
        compiled,
        folder,
        description,
        {"stored_000": Placement(_qpos(bundle, compiled.model, 0, "stored"))},
        texture_store=cache / "textures",
        model_file=os.path.relpath(bundle.folder / "model.xml", folder),
    )


def _qpos(bundle: Bundle, model: mujoco.MjModel, number: int, mode: str) -> NDArray[np.float64]:
    state = bundle.states[number]
    if mode == "stored":
        return state[1 : 1 + model.nq]
    return settle(model, state, bundle.held_qpos(model)).qpos
