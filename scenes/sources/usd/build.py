"""Steps from a USD stage to the MuJoCo model that a scene is converted from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np
from PIL import Image
from pxr import Tf, Usd

from scenes.convert.cameras import first_camera
from scenes.convert.compiled import CompiledModel
from scenes.convert.grouping import Grouping
from scenes.errors import AssetError, SceneError
from scenes.finite import refuse_non_finite_model
from scenes.mujoco_warnings import mujoco_warnings
from scenes.sources.additions import add_cameras, add_light
from scenes.sources.usd.bodies import Bodies, UsdBody, bounds, collision_shape
from scenes.sources.usd.cameras import UsdCamera, read_camera
from scenes.sources.usd.config import UsdConfig
from scenes.sources.usd.lights import read_lighting
from scenes.sources.usd.looks.looks import Looks
from scenes.sources.usd.looks.pictures import Picture
from scenes.sources.usd.looks.wraps import Wraps
from scenes.sources.usd.model import VISUAL, Names, build_model
from scenes.sources.usd.objects import Owners, short_names
from scenes.sources.usd.parts import read_parts
from scenes.sources.usd.reading.files import UsdFiles, undecodable, usd_reason
from scenes.sources.usd.reading.prims import read_prims
from scenes.sources.usd.reading.stage import UsdStage, open_usd
from scenes.sources.usd.reading.unread import note_unread
from scenes.stage.attributes import CUBE
from scenes.stage.matrices import rigid_inverse
from scenes.stage.skybox import SIDES


@dataclass(frozen=True)
class UsdModel:
    """A stage as a compiled model, and what the model does not hold."""

    compiled: CompiledModel
    grouping: Grouping
    origins: Mapping[tuple[str, str], str]
    """Path of the prim that an element came from, by kind and name of the element."""
    main_camera: str | None


def compile_usd(settings: UsdConfig, files: UsdFiles | None = None) -> UsdModel:
    """Read a stage and build its model; nothing is written.

    Args:
        settings: The source.
        files: Its files, where they were looked up already.

    Raises:
        AssetError: Something of the stage is missing or wrong; names prim, attribute and value.
        SceneError: A rule for objects fits nothing, or nothing is drawn.
    """
    try:
        return _compile(settings, files)
    except Tf.ErrorException as error:
        raise AssetError(f"{settings.path}: USD refuses this: {usd_reason(error)}.") from error
    except UnicodeDecodeError as error:
        raise AssetError(
            f"{settings.path}: '{undecodable(error)}' holds bytes that are not UTF-8."
        ) from error


def _compile(settings: UsdConfig, files: UsdFiles | None) -> UsdModel:
    stage = open_usd(settings, files)
    prims = read_prims(stage)
    note_unread(stage)
    if not prims.drawn:
        raise SceneError(f"{settings.path}: nothing in this stage is drawn.")
    owners = Owners(stage, settings.objects)
    bodies = Bodies(stage, prims, owners)
    looks, wraps = Looks(stage), Wraps(stage)
    for prim in prims.drawn:
        body = bodies.of(prim)
        T_body_prim = rigid_inverse(body.pose) @ stage.transform(prim)
        collides = bodies.collides(prim)
        parts = read_parts(stage, looks, prim, T_body_prim, wraps)
        body.parts += [(part, collides) for part in parts]
    drawn = {prim.GetPath() for prim in prims.drawn}
    for prim in prims.colliders:
        if prim.GetPath() not in drawn:
            body = bodies.of(prim)
            body.shapes.append(collision_shape(stage, prim, rigid_inverse(body.pose)))
    owners.refuse_idle_rules(settings.path)
    cameras = [read_camera(stage, prim) for prim in prims.cameras]
    _note_clipping(stage, cameras)
    domes = [prim for prim in prims.lights if prim.HasAttribute(CUBE)]
    lights = [prim for prim in prims.lights if prim not in domes]
    middle, radius = bounds(bodies.made)
    lighting = read_lighting(stage, lights, middle, radius)
    names = _names(bodies.made, cameras, lights)
    poses = {str(camera.prim.GetPath()): bodies.mounted(camera.prim) for camera in cameras}

    def add(spec: mujoco.MjSpec) -> None:
        if added := add_cameras(spec, settings.cameras, middle, radius, settings.path):
            stage.notes.differs(added)
        if lighting.none:
            stage.notes.differs(add_light(spec, middle, radius))

    try:
        with mujoco_warnings() as warnings:
            model = build_model(
                settings.path.stem,
                bodies.made,
                cameras,
                poses,
                lighting,
                _sky(stage, domes[0]) if domes else None,
                names,
                add,
            )
    except (ValueError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split()).removeprefix("Error: ").rstrip(".")
        raise AssetError(f"{settings.path}: MuJoCo refuses what it holds: {reason}.") from error
    refuse_non_finite_model(model, str(settings.path))
    notes = stage.notes
    return UsdModel(
        CompiledModel(
            model, tuple(warnings), tuple(notes.approximated), left_out=tuple(notes.left_out)
        ),
        Grouping(bodies=bodies.owners, drawn_groups=frozenset({VISUAL})),
        _origins(names, bodies.made),
        _main_camera(settings, model),
    )


def _main_camera(settings: UsdConfig, model: mujoco.MjModel) -> str | None:
    known = [model.camera(number).name for number in range(model.ncam)]
    if settings.main_camera is None:
        return first_camera(model)
    if settings.main_camera not in known:
        raise SceneError(
            f"{settings.path}: main_camera: no camera {settings.main_camera!r}. "
            f"Known: {', '.join(known)}."
        )
    return settings.main_camera


def _names(bodies: list[UsdBody], cameras: list[UsdCamera], lights: list[Usd.Prim]) -> Names:
    parts = [part for body in bodies for part, _ in body.parts]
    named = short_names(part.path for part in parts)
    shapes = [shape.path for body in bodies for shape in body.shapes]
    shapes += [part.path for part in parts]
    return Names(
        named,
        {path: f"{name} shape" for path, name in short_names(shapes).items()},
        short_names(str(camera.prim.GetPath()) for camera in cameras),
        short_names(str(light.GetPath()) for light in lights),
        short_names(part.look.name for part in parts),
    )


def _origins(names: Names, bodies: list[UsdBody]) -> dict[tuple[str, str], str]:
    origins = {
        (kind, name): path
        for kind, table in (
            ("geom", names.parts), ("geom", names.shapes), ("camera", names.cameras),
            ("light", names.lights), ("material", names.looks),
        )
        for path, name in table.items()
    }  # fmt: skip
    return origins | {("body", body.name): str(body.prim.GetPath()) for body in bodies}


def _note_clipping(stage: UsdStage, cameras: list[UsdCamera]) -> None:
    ranges = {(camera.near, camera.far) for camera in cameras}
    if len(ranges) > 1:
        stage.notes.differs(
            "cameras: their clipping ranges differ; all see from the nearest distance to the "
            "farthest of them"
        )


def _sky(stage: UsdStage, dome: Usd.Prim) -> Picture:
    """Skybox of a converted scene."""
    file = dome.GetAttribute(CUBE).Get()
    if not file or not file.resolvedPath:
        raise stage.refusal(dome, f"{CUBE}: no such file: {file and file.path}.")
    if not stage.files.hold(file.resolvedPath):
        raise stage.refusal(dome, f"{CUBE}: not read: {file.resolvedPath}.")
    with Image.open(file.resolvedPath) as image:
        pixels = np.asarray(image.convert("RGB"))
    height, width = pixels.shape[:2]
    if height not in (width, SIDES * width):
        raise stage.refusal(dome, f"{CUBE}: {width} x {height} pixels are no cube.")
    return Picture("skybox", pixels)
