"""Steps from a USD stage to the MuJoCo model that a scene is converted from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np
from PIL import Image
from pxr import Usd

from scenes.additions import add_cameras, add_light
from scenes.compilation import CompiledModel
from scenes.config import UsdSource
from scenes.converted import first_camera
from scenes.errors import AssetError, SceneError
from scenes.finite import refuse_non_finite_model
from scenes.grouping import Grouping, ObjectName
from scenes.mujoco_warnings import mujoco_warnings
from scenes.scene import Matrix
from scenes.skybox import SIDES
from scenes.transforms import rigid_inverse
from scenes.usd_cameras import UsdCamera, read_camera
from scenes.usd_files import UsdFiles
from scenes.usd_gprims import size_of
from scenes.usd_lights import read_lighting
from scenes.usd_looks import Looks
from scenes.usd_model import VISUAL, Names, UsdBody, UsdShape, bounds, build_model
from scenes.usd_objects import Owners, moves_freely, rigid_prim, short_names
from scenes.usd_parts import placed, prim_triangles, read_parts
from scenes.usd_pictures import Picture
from scenes.usd_prims import UsdPrims, read_prims
from scenes.usd_stage import UsdStage, open_usd

_GEOM = mujoco.mjtGeom
_CUBE = "datagen:cube"
_UNIFORM = 1e-6


@dataclass(frozen=True)
class UsdModel:
    """A stage as a compiled model, and what the model does not hold."""

    compiled: CompiledModel
    grouping: Grouping
    origins: Mapping[tuple[str, str], str]
    """Path of the prim that an element came from, by kind and name of the element."""
    main_camera: str | None


def compile_usd(settings: UsdSource, files: UsdFiles | None = None) -> UsdModel:
    """Read a stage and build its model; nothing is written.

    Args:
        settings: The source.
        files: Its files, where they were looked up already.

    Raises:
        AssetError: Something of the stage is missing or wrong; names prim, attribute and value.
        SceneError: A rule for objects fits nothing, or nothing is drawn.
    """
    stage = open_usd(settings, files)
    prims = read_prims(stage)
    if not prims.drawn:
        raise SceneError(f"{settings.path}: nothing in this stage is drawn.")
    owners = Owners(stage, settings.objects)
    bodies = _Bodies(stage, prims, owners)
    looks = Looks(stage)
    for prim in prims.drawn:
        body = bodies.of(prim)
        T_body_prim = rigid_inverse(body.pose) @ stage.transform(prim)
        collides = bodies.collides(prim)
        body.parts += [(part, collides) for part in read_parts(stage, looks, prim, T_body_prim)]
    drawn = {prim.GetPath() for prim in prims.drawn}
    for prim in prims.colliders:
        if prim.GetPath() not in drawn:
            body = bodies.of(prim)
            body.shapes.append(_shape(stage, prim, rigid_inverse(body.pose)))
    owners.refuse_idle_rules(settings.path)
    cameras = [read_camera(stage, prim) for prim in prims.cameras]
    _note_clipping(stage, cameras)
    domes = [prim for prim in prims.lights if prim.HasAttribute(_CUBE)]
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
        first_camera(model),
    )


class _Bodies:
    """Bodies of the model, made as prims ask for them."""

    def __init__(self, stage: UsdStage, prims: UsdPrims, owners: Owners) -> None:
        self._stage = stage
        self._owners = owners
        self._joined = frozenset(prims.joined)
        self._made: dict[tuple[str, str], UsdBody] = {}
        self._colliders = {prim.GetPath() for prim in prims.colliders}
        self._stated = {owners.of(prim).name.name for prim in prims.colliders}
        self.owners: dict[str, ObjectName] = {}
        """Object of each body, by the body's name."""

    @property
    def made(self) -> list[UsdBody]:
        return list(self._made.values())

    def of(self, prim: Usd.Prim) -> UsdBody:
        """Body that carries a prim."""
        owner, rigid = self._owners.of(prim), rigid_prim(prim)
        anchor = owner.prim if rigid is None else rigid
        key = (owner.name.name, "" if rigid is None else str(rigid.GetPath()))
        if key not in self._made:
            name = anchor.GetName()
            while name in self.owners:
                name = f"{name}_{len(self.owners)}"
            self.owners[name] = owner.name
            free = owner.free if rigid is None else moves_freely(rigid, self._joined)
            if self._stage.sheared(anchor):
                self._stage.notes.differs(
                    f"{anchor.GetPath()}: its transform is sheared: the shear went into the points"
                )
            self._made[key] = UsdBody(name, anchor, self._stage.pose(anchor), free)
        return self._made[key]

    def collides(self, prim: Usd.Prim) -> bool:
        """Tell whether a drawn prim collides: where its object states no colliders, all do."""
        owner = self._owners.of(prim).name.name
        if owner in self._stated:
            return prim.GetPath() in self._colliders
        self._stage.notes.differs(
            f"object {owner}: no prim of it has CollisionAPI, so all that is drawn of it collides"
        )
        return True

    def mounted(self, prim: Usd.Prim) -> tuple[str | None, Matrix]:
        """Body that carries a camera, if any, and its pose there [m], [4, 4]."""
        pose, rigid = self._stage.pose(prim), rigid_prim(prim)
        for body in self._made.values():
            if rigid is not None and body.prim == rigid:
                return body.name, rigid_inverse(body.pose) @ pose
        return None, pose


def _shape(stage: UsdStage, prim: Usd.Prim, T_body_scene: Matrix) -> UsdShape:
    """Shape of a prim that collides and is not drawn."""
    path, kind = str(prim.GetPath()), str(prim.GetTypeName())
    T = stage.transform(prim)
    scale = np.linalg.norm(T[:3, :3], axis=0)
    pose = T_body_scene @ stage.pose(prim)
    straight = not stage.sheared(prim)
    if kind == "Cube" and straight:
        size = size_of(stage, prim, "size") / 2 * scale
        return UsdShape(path, _GEOM.mjGEOM_BOX, tuple(map(float, size)), pose)
    if kind == "Sphere" and straight and np.ptp(scale) < _UNIFORM * scale.max():
        return UsdShape(
            path, _GEOM.mjGEOM_SPHERE, (size_of(stage, prim, "radius") * scale[0],), pose
        )
    if kind == "Plane" and straight and prim.GetAttribute("axis").Get() == "Z":
        width, length = (size_of(stage, prim, name) / 2 for name in ("width", "length"))
        size = (width * scale[0], length * scale[1], 1.0)
        return UsdShape(path, _GEOM.mjGEOM_PLANE, size, pose)
    points, faces, _ = placed(prim_triangles(stage, prim), T_body_scene @ T)
    return UsdShape(path, _GEOM.mjGEOM_MESH, points=points, faces=faces)


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
    file = dome.GetAttribute(_CUBE).Get()
    if not file or not file.resolvedPath:
        raise stage.refusal(dome, f"{_CUBE}: no such file: {file and file.path}.")
    with Image.open(file.resolvedPath) as image:
        pixels = np.asarray(image.convert("RGB"))
    height, width = pixels.shape[:2]
    if height not in (width, SIDES * width):
        raise stage.refusal(dome, f"{_CUBE}: {width} x {height} pixels are no cube.")
    return Picture("skybox", pixels)
