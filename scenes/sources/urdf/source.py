"""URDF models as scenes, compiled by MuJoCo."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np

from scenes.convert.compiled import CompiledModel
from scenes.convert.conversion import Description
from scenes.convert.grouping import Grouping, ObjectName, named_grouping
from scenes.convert.model import convert_model
from scenes.convert.shapes.tessellation import refine
from scenes.convert.states import Placement
from scenes.errors import AssetError, SceneError
from scenes.finite import refuse_non_finite_model
from scenes.mujoco_warnings import mujoco_warnings
from scenes.sources.additions import add_cameras, add_light
from scenes.sources.cache import scene_of_cache
from scenes.sources.config import UrdfSource
from scenes.sources.converted import cache_folder, converter_versions, first_camera, model_digest
from scenes.sources.urdf.files import read_urdf
from scenes.sources.usd.source import REST
from scenes.stage.names import label_of
from scenes.stage.scene import Scene
from scenes.storage.locks import Waiting, patiently

_VISUAL, _COLLISION = 1, 0
_LEAST_MASS = 1e-9


def convert_urdf(out: Path, source: UrdfSource) -> Scene:
    """Convert a URDF file into a scene folder.

    Args:
        out: Folder to make.
        source: The file and how it is read.

    Raises:
        SceneError: `out` exists, or something cannot be converted; nothing is left behind.
        AssetError: The file or one of its meshes is refused.
    """
    if out.exists():
        raise SceneError(f"{out}: already exists; name a folder that does not.")
    return _convert(*compile_urdf(source), out, source)


def urdf_scene(source: UrdfSource, cache: Path, waiting: Waiting = patiently) -> Scene:
    """Open the scene of a URDF file, converted on first use.

    The cache key is the compiled model, so an edited file or mesh makes a new scene.

    Args:
        source: The file and how it is read.
        cache: Folder of the cache.
        waiting: Told while another process converts it.

    Raises:
        SceneError: The source is refused.
    """
    compiled, robot = compile_urdf(source)
    settings = source.model_dump_json(exclude={"path", "packages", "roots"})
    digest = model_digest(compiled.model)
    folder = cache_folder(cache, source.path.stem, digest, f"urdf {settings}")
    return scene_of_cache(folder, lambda: _convert(compiled, robot, folder, source), waiting)


def compile_urdf(source: UrdfSource) -> tuple[CompiledModel, str]:
    """Compile a URDF file; gives the model and the robot's name.

    Raises:
        AssetError: The file or a mesh is refused, by us or by MuJoCo (with its reason).
        SceneError: A camera to add has the name of another, or the tessellation is too fine.
    """
    urdf = read_urdf(source)
    # MuJoCo would take a mesh of the same name for one that it compiled before.
    mujoco.mj_clearCache(mujoco.mj_getCache())
    try:
        with mujoco_warnings() as warnings:
            spec = mujoco.MjSpec.from_string(urdf.xml, assets=urdf.assets)
            _name_geoms(spec)
            # Frames without mass are usual in URDF; MuJoCo refuses those that move.
            spec.compiler.boundmass = spec.compiler.boundinertia = _LEAST_MASS
            statistic = spec.compile().stat
            center, radius = np.array(statistic.center), float(statistic.extent)
            added = [
                add_cameras(spec, source.cameras, center, radius, source.path),
                add_light(spec, center, radius),
            ]
            model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split()).removeprefix("Error: ").rstrip(".")
        raise AssetError(f"{source.path}: MuJoCo refuses this model: {reason}.") from error
    refuse_non_finite_model(model, str(source.path))
    refine(model, source.tessellation, source.path)
    changes = (*urdf.approximated, *filter(None, added), *_light_links(model))
    left_out = tuple(urdf.left_out)
    return CompiledModel(model, tuple(warnings), changes, left_out=left_out), urdf.name


def _name_geoms(spec: mujoco.MjSpec) -> None:
    """Call the shapes, which URDF leaves without names, after their links."""
    counts: dict[str, int] = {}
    for geom in spec.geoms:
        kind = "visual" if geom.group == _VISUAL else "collision"
        stem = f"{geom.parent.name}_{kind}"
        counts[stem] = counts.get(stem, 0) + 1
        if not geom.name:
            geom.name = stem if counts[stem] == 1 else f"{stem}_{counts[stem]}"


def _light_links(model: mujoco.MjModel) -> list[str]:
    light = np.flatnonzero((model.body_mass[1:] <= _LEAST_MASS) & (model.body_weldid[1:] > 0)) + 1
    names = ", ".join(model.body(int(number)).name for number in light)
    return [f"links without mass: they have {_LEAST_MASS:g} kg: {names}"] if len(light) else []


def _convert(compiled: CompiledModel, robot: str, out: Path, source: UrdfSource) -> Scene:
    model = compiled.model
    description = Description(
        scene_id=source.path.stem,
        source=f"urdf/{source.path.name}",
        path=source.path,
        digest=model_digest(model),
        versions=converter_versions(),
        main_camera=first_camera(model),
        grouping=_grouping(model, robot, source),
        collision=source.collision,
        materials=source.materials,
    )
    return convert_model(compiled, out, description, {REST: Placement(model.qpos0)})


def _grouping(model: mujoco.MjModel, robot: str, source: UrdfSource) -> Grouping:
    """Objects as the config says; all other links are one, called as the robot."""
    visual = bool(np.any(model.geom_group == _VISUAL))
    shown = source.drawn_groups or ((_VISUAL,) if visual else (_COLLISION,))
    named = named_grouping(model, source.objects, shown, source.path)
    if not any(map(str.isalnum, robot)):
        return named
    rest = ObjectName(robot, label_of(robot))
    links = {model.body(number).name: rest for number in range(1, model.nbody)}
    return Grouping({**links, **named.bodies}, named.world_geoms, named.drawn_groups)
