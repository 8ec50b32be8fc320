"""URDF models as scenes, compiled by MuJoCo."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import mujoco
import numpy as np

from scenes.convert.compiled import CompiledModel
from scenes.convert.grouping import Grouping, ObjectName, named_grouping
from scenes.convert.settings import Settings
from scenes.convert.shapes.tessellation import refine
from scenes.errors import AssetError
from scenes.finite import refuse_non_finite_model
from scenes.mujoco_warnings import mujoco_warnings
from scenes.sources.additions import add_cameras, add_light
from scenes.sources.model_source import ModelSource, ReadModel
from scenes.sources.urdf.config import UrdfConfig
from scenes.sources.urdf.files import read_urdf
from scenes.stage.names import label_of
from scenes.stage.scene import Scene
from scenes.storage.locks import Waiting, patiently

_VISUAL, _COLLISION = 1, 0
_LEAST_MASS = 1e-9


@dataclass(frozen=True)
class UrdfSource(ModelSource):
    """A URDF model."""

    kind: ClassVar[str] = "urdf"
    title: ClassVar[str] = "URDF"
    settings_model: ClassVar[type[Settings]] = UrdfConfig
    suffixes: ClassVar[tuple[str, ...]] = (".urdf",)
    root_elements: ClassVar[tuple[str, ...]] = ("robot",)

    settings: UrdfConfig

    def read(self) -> ReadModel:
        """Compile the model."""
        compiled, robot = compile_urdf(self.settings)
        return ReadModel(
            compiled,
            partial(_grouping, robot=robot, source=self.settings),
            collision=self.settings.collision,
            materials=self.settings.materials,
        )


def convert_urdf(out: Path, source: UrdfConfig) -> Scene:
    """Convert a URDF file into a scene folder.

    Args:
        out: Folder to make.
        source: The file and how it is read.

    Raises:
        SceneError: `out` exists, or something cannot be converted; nothing is left behind.
        AssetError: The file or one of its meshes is refused.
    """
    return UrdfSource(source).convert(out)


def urdf_scene(source: UrdfConfig, cache: Path, waiting: Waiting = patiently) -> Scene:
    """Open the scene of a URDF file, converted on first use.

    Args:
        source: The file and how it is read.
        cache: Folder of the cache.
        waiting: Told while another process converts it.

    Raises:
        SceneError: The source is refused.
    """
    return UrdfSource(source).scene(cache, waiting)


def compile_urdf(source: UrdfConfig) -> tuple[CompiledModel, str]:
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


def _grouping(model: mujoco.MjModel, robot: str, source: UrdfConfig) -> Grouping:
    """Objects as the config says; all other links are one, called as the robot."""
    visual = bool(np.any(model.geom_group == _VISUAL))
    shown = source.drawn_groups or ((_VISUAL,) if visual else (_COLLISION,))
    named = named_grouping(model, source.objects, shown, source.path)
    if not any(map(str.isalnum, robot)):
        return named
    rest = ObjectName(robot, label_of(robot))
    links = {model.body(number).name: rest for number in range(1, model.nbody)}
    return Grouping({**links, **named.bodies}, named.world_geoms, named.drawn_groups)
