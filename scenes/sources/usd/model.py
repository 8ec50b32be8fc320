"""A MuJoCo model built from what a USD stage holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from scenes.sources.usd.bodies import UsdBody, UsdShape, bounds, flat_box
from scenes.sources.usd.cameras import UsdCamera
from scenes.sources.usd.lights import Lighting
from scenes.sources.usd.looks.looks import UsdLook
from scenes.sources.usd.looks.pictures import Picture
from scenes.sources.usd.parts import UsdPart
from scenes.stage.matrices import Matrix, quaternion_from_rotation

VISUAL, SHAPE = 1, 3
"""Geom groups: what is drawn, and what collides only."""

_NEAR = 0.01
_FAR_EXTENTS = 50.0
_GEOM = mujoco.mjtGeom
_MILLI = 1e-3


@dataclass(frozen=True)
class Names:
    """Names in the model by the paths of prims."""

    parts: Mapping[str, str]
    shapes: Mapping[str, str]
    cameras: Mapping[str, str]
    lights: Mapping[str, str]
    looks: Mapping[str, str]


def build_model(
    name: str,
    bodies: list[UsdBody],
    cameras: list[UsdCamera],
    poses: Mapping[str, tuple[str | None, Matrix]],
    lighting: Lighting,
    sky: Picture | None,
    names: Names,
    add: Callable[[mujoco.MjSpec], None],
) -> mujoco.MjModel:
    """Compile a model.

    Args:
        name: Name of the model.
        bodies: Bodies with what they carry.
        cameras: Cameras.
        poses: Body that carries a camera, by the path of its prim, and its pose there [m]; None
            for the world.
        lighting: All light.
        sky: Six sides of a cube below each other, shown behind everything.
        names: Names by path.
        add: Called with the model before it is compiled.
    """
    spec = mujoco.MjSpec()
    spec.modelname = name
    spec.compiler.boundmass = spec.compiler.boundinertia = 1e-9
    _set_extent(spec, bodies, cameras)
    carriers = {body.name: _add_body(spec, body) for body in bodies}
    looks = _Looks(spec, names.looks)
    for body in bodies:
        for part, collides in body.parts:
            _add_part(spec, carriers[body.name], body, part, collides, looks, names)
        for shape in body.shapes:
            _add_shape(spec, carriers[body.name], shape, names)
    for camera in cameras:
        path = str(camera.prim.GetPath())
        carrier, pose = poses[path]
        parent = spec.worldbody if carrier is None else carriers[carrier]
        _add_camera(parent, camera, names.cameras[path], pose)
    _add_lights(spec, lighting, names.lights)
    if sky is not None:
        looks.add_texture(sky, mujoco.mjtTexture.mjTEXTURE_SKYBOX)
    add(spec)
    model = spec.compile()
    _weigh(model, bodies)
    return model


class _Looks:
    """Materials and textures of the model, made on first use."""

    def __init__(self, spec: mujoco.MjSpec, names: Mapping[str, str]) -> None:
        self._spec = spec
        self._names = names
        self._made: dict[UsdLook, str] = {}
        self._textures: dict[Picture, str] = {}

    def material(self, look: UsdLook) -> str:
        if look in self._made:
            return self._made[look]
        name = stem = self._names[look.name]
        number = 1
        while name in self._made.values():
            number += 1
            name = f"{stem}_untextured" if look.picture is None else f"{stem}_{number}"
            stem += "_" if look.picture is None else ""
        self._made[look] = name
        material = self._spec.add_material(name=name)
        material.rgba = look.rgba
        material.metallic, material.roughness = look.metallic, look.roughness
        material.emission, material.specular = look.emission, look.specular
        material.shininess = (
            _shininess(look.roughness) if look.shininess is None else look.shininess
        )
        if look.picture is not None:
            if look.picture not in self._textures:
                texture = self.add_texture(look.picture, mujoco.mjtTexture.mjTEXTURE_2D)
                self._textures[look.picture] = texture
            material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = self._textures[look.picture]
        return name

    def add_texture(self, picture: Picture, kind: mujoco.mjtTexture) -> str:
        texture = self._spec.add_texture(name=picture.name, type=kind)
        texture.height, texture.width = picture.pixels.shape[:2]
        texture.nchannel = 3
        texture.data = np.ascontiguousarray(picture.pixels).tobytes()
        return picture.name


def _shininess(roughness: float) -> float:
    """MuJoCo's shininess whose lobe is as wide; the inverse of `roughness_from_shininess`."""
    exponent = 2.0 / max(roughness, 0.1) ** 4 - 2.0
    return float(np.clip(exponent / 128.0, 0.0, 1.0))


def _set_extent(spec: mujoco.MjSpec, bodies: list[UsdBody], cameras: list[UsdCamera]) -> None:
    middle, radius = bounds(bodies)
    spec.stat.center, spec.stat.extent = middle, radius
    near = min((c.near for c in cameras if c.near is not None), default=_NEAR)
    far = max((c.far for c in cameras if c.far is not None), default=_FAR_EXTENTS * radius)
    spec.visual.map.znear, spec.visual.map.zfar = near / radius, max(far, 2 * near) / radius


def _add_body(spec: mujoco.MjSpec, body: UsdBody) -> mujoco.MjsBody:
    quaternion = quaternion_from_rotation(body.pose[:3, :3])
    made = spec.worldbody.add_body(name=body.name, pos=body.pose[:3, 3], quat=quaternion)
    if body.free:
        made.add_freejoint()
    return made


def _add_part(
    spec: mujoco.MjSpec,
    carrier: mujoco.MjsBody,
    body: UsdBody,
    part: UsdPart,
    collides: bool,
    looks: _Looks,
    names: Names,
) -> None:
    name = names.parts[part.path]
    mesh = spec.add_mesh(name=name)
    # MuJoCo takes one normal per vertex only.
    corners = np.concatenate([part.points[part.faces], part.normals], axis=2)
    vertices, index = _distinct(corners.reshape(-1, 6))
    _set_mesh(mesh, vertices[:, :3], index, vertices[:, 3:])
    # Coordinates on every part: without them MuJoCo bends the normals of some.
    texcoord, st_index = _distinct(part.st.reshape(-1, 2) * [1.0, -1.0] + [0.0, 1.0])
    mesh.usertexcoord, mesh.userfacetexcoord = texcoord.ravel(), st_index
    box = flat_box(part.points) if collides else None
    solid = int(collides and box is None)
    geom = carrier.add_geom(
        name=name,
        type=_GEOM.mjGEOM_MESH,
        meshname=name,
        material=looks.material(part.look),
        group=VISUAL,
        contype=solid,
        conaffinity=solid,
    )
    if body.collides and not solid:
        geom.mass = 0.0
    if box is not None:
        pose, half = box
        shape = UsdShape(part.path, _GEOM.mjGEOM_BOX, tuple(half), pose)
        _add_shape(spec, carrier, shape, names)


def _add_shape(spec: mujoco.MjSpec, carrier: mujoco.MjsBody, shape: UsdShape, names: Names) -> None:
    name = names.shapes[shape.path]
    if shape.points is not None and (box := flat_box(shape.points)) is not None:
        shape = UsdShape(shape.path, _GEOM.mjGEOM_BOX, tuple(box[1]), box[0])
    geom = carrier.add_geom(name=name, type=shape.kind, group=SHAPE)
    geom.pos = shape.pose[:3, 3]
    geom.quat = quaternion_from_rotation(shape.pose[:3, :3])
    if shape.points is not None and shape.faces is not None:
        _set_mesh(spec.add_mesh(name=name), shape.points, shape.faces)
        geom.meshname = name
    else:
        geom.size[: len(shape.size)] = shape.size


def _set_mesh(
    mesh: mujoco.MjsMesh,
    points: NDArray[np.floating],
    faces: NDArray[np.int64],
    normals: NDArray[np.floating] | None = None,
) -> None:
    # MuJoCo wants four vertices, also for a single triangle.
    spare = np.zeros(max(4 - len(points), 0), dtype=np.int64)
    rows = np.concatenate([np.arange(len(points)), spare])
    mesh.uservert = points[rows].ravel()
    mesh.userface = faces.ravel()
    if normals is not None:
        mesh.usernormal = normals[rows].ravel()
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL


def _distinct(rows: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Distinct rows as 32-bit numbers, and which of them each row is."""
    values = np.ascontiguousarray(rows.astype(np.float32) + np.float32(0))
    bits = values.view(np.dtype((np.void, values.dtype.itemsize * values.shape[1]))).ravel()
    _, first, index = np.unique(bits, return_index=True, return_inverse=True)
    return values[first], index


def _add_camera(parent: mujoco.MjsBody, camera: UsdCamera, name: str, pose: Matrix) -> None:
    made = parent.add_camera(name=name, pos=pose[:3, 3])
    made.quat = quaternion_from_rotation(pose[:3, :3])
    if camera.orthographic:
        made.proj = mujoco.mjtProjection.mjPROJ_ORTHOGRAPHIC
    made.fovy = camera.fovy
    if camera.sensor is None:
        return
    focal, across, down, right, up = (size * _MILLI for size in camera.sensor)
    made.sensor_size = [across, down]
    made.focal_length = [focal, focal]
    # MuJoCo's frustum moves right and down with it, USD's right and up.
    made.principal_length = [right, -up]
    made.resolution = [1000, max(round(1000 * down / across), 1)]


def _add_lights(spec: mujoco.MjSpec, lighting: Lighting, names: Mapping[str, str]) -> None:
    for light in lighting.lights:
        made = spec.worldbody.add_light(name=names[str(light.prim.GetPath())])
        kind = mujoco.mjtLightType
        made.type = kind.mjLIGHT_DIRECTIONAL if light.directional else kind.mjLIGHT_SPOT
        made.pos, made.dir = light.pose[:3, 3], -light.pose[:3, 2]
        made.diffuse, made.ambient, made.specular = light.diffuse, light.ambient, light.specular
        made.attenuation = light.attenuation
        made.cutoff, made.exponent = light.cutoff, light.exponent
        made.castshadow, made.active = light.cast_shadow, light.active
    head = spec.visual.headlight
    if lighting.headlight is not None:
        for name, value in lighting.headlight.items():
            setattr(head, name, int(value) if name == "active" else list(value))
    elif not lighting.none:
        head.active = int(any(lighting.ambient))
        head.ambient, head.diffuse, head.specular = lighting.ambient, [0.0] * 3, [0.0] * 3


def _weigh(model: mujoco.MjModel, bodies: list[UsdBody]) -> None:
    """Give free bodies the masses that the stage states."""
    for body in bodies:
        if body.free and body.mass is not None:
            number = model.body(body.name).id
            share = body.mass / model.body_mass[number]
            model.body_mass[number] *= share
            model.body_inertia[number] *= share
    mujoco.mj_setConst(model, mujoco.MjData(model))
