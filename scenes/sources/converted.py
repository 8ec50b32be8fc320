"""Sources made into scenes, once, in a cache that many processes may share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from scenes.convert.compiled import CompiledModel, model_bytes
from scenes.convert.conversion import Description
from scenes.convert.grouping import Grouping, ObjectName, named_grouping
from scenes.convert.model import convert_model
from scenes.convert.shapes.tessellation import refine
from scenes.convert.states import Placement, write_state
from scenes.errors import SceneError
from scenes.mujoco_warnings import mujoco_warnings
from scenes.sources.cache import lock_file, scene_of_cache
from scenes.sources.config import Collision, MaterialRule, MjcfSource
from scenes.sources.libero.settle import settle
from scenes.sources.mjcf.compilation import compile_mjcf
from scenes.stage.info import SCENE_FORMAT
from scenes.stage.scene import Scene
from scenes.storage.bundle import Bundle
from scenes.storage.locks import Waiting, held_lock, patiently

CONVERTER = 19
"""Raised whenever the same source would give another stage; part of the cache key."""

_NAME_BYTES = 80

VISUAL_GROUP = 1
"""robosuite's group of visual geoms."""


def convert_mjcf(path: Path, out: Path, *, source: MjcfSource | None = None) -> Scene:
    """Convert a MuJoCo XML file into a scene folder.

    Args:
        path: The model.
        out: Folder to make.
        source: Grouping, drawn groups, keyframe and further folders to read from; None takes
            the defaults.

    Raises:
        SceneError: `out` exists, or something cannot be converted; nothing is left behind.
        AssetError: The model or one of its files is refused.
    """
    if out.exists():
        raise SceneError(f"{out}: already exists; name a folder that does not.")
    source = source or MjcfSource(path=path)
    return _convert_compiled(_compile_mjcf(path, source), out, source)


def mjcf_scene(source: MjcfSource, cache: Path, waiting: Waiting = patiently) -> Scene:
    """Open the scene of a MuJoCo XML file, converted on first use.

    The cache key is the compiled model, so an edited file or mesh makes a new scene.

    Args:
        source: The file and how it is read.
        cache: Folder of the cache.
        waiting: Told while another process converts it.

    Raises:
        SceneError: The source is refused.
    """
    compiled = _compile_mjcf(source.path, source)
    settings = source.model_dump_json(exclude={"path", "roots"})
    folder = cache_folder(cache, source.path.stem, model_digest(compiled.model), settings)
    return scene_of_cache(folder, lambda: _convert_compiled(compiled, folder, source), waiting)


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


def model_digest(model: mujoco.MjModel) -> str:
    """BLAKE2b of a compiled model."""
    return blake2b(model_bytes(model), digest_size=16).hexdigest()


def _compile_mjcf(path: Path, source: MjcfSource) -> CompiledModel:
    compiled = compile_mjcf(path, source.roots)
    refine(compiled.model, source.tessellation, path)
    return compiled


def _convert_compiled(compiled: CompiledModel, out: Path, source: MjcfSource) -> Scene:
    model = compiled.model
    description = Description(
        scene_id=source.path.stem,
        source=f"mjcf/{source.path.name}",
        path=source.path,
        digest=model_digest(model),
        versions=converter_versions(),
        main_camera=first_camera(model),
        grouping=named_grouping(model, source.objects, source.drawn_groups, source.path),
        collision=source.collision,
        materials=source.materials,
    )
    state = source.keyframe or "rest"
    return convert_model(compiled, out, description, {state: _placement(model, source)})


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


def _placement(model: mujoco.MjModel, source: MjcfSource) -> Placement:
    if source.keyframe is None:
        return Placement(model.qpos0)
    key = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, source.keyframe)
    if key < 0:
        known = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_KEY, k) for k in range(model.nkey)]
        raise SceneError(
            f"{source.path}: no keyframe {source.keyframe!r}. "
            f"Known: {', '.join(filter(None, known)) or 'none'}."
        )
    return Placement(
        model.key_qpos[key],
        model.key_mpos[key].reshape(-1, 3),
        model.key_mquat[key].reshape(-1, 4),
    )


def first_camera(model: mujoco.MjModel) -> str | None:
    """Name of a model's first camera, None for a model without."""
    return mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_CAMERA, 0) if model.ncam else None


def cache_folder(cache: Path, name: str, digest: str, settings: str) -> Path:
    """Folder of a scene in the cache.

    Args:
        cache: Folder of the cache.
        name: Start of the folder's name.
        digest: Hash of all that the scene is made from.
        settings: What else decides how it is made.
    """
    key: Mapping[str, str] = {**converter_versions(), "settings": settings, "digest": digest}
    text = f"{SCENE_FORMAT}/{CONVERTER}/{sorted(key.items())}"
    short = blake2b(text.encode(), digest_size=8).hexdigest()
    start = name.encode(errors="replace")[:_NAME_BYTES].decode(errors="ignore")
    return cache / "scenes" / f"{start}-{short}"


def converter_versions() -> dict[str, str]:
    """Versions of the libraries that decide what a stage holds."""
    return {"mujoco": mujoco.__version__, "usd-core": version("usd-core")}
