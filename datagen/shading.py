"""MuJoCo's shading formula, evaluated on anybody's geometry.

MuJoCo's classic renderer lights a surface as OpenGL's fixed pipeline does, in display values and
without gamma: ambient, diffuse and Blinn-Phong terms of the headlight and of every light are added,
clipped to 1 and multiplied by the texture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pxr import UsdGeom, UsdLux, UsdShade

from datagen.backends import Buffers
from scenes import Pinhole, Scene, srgb_encode

Array = NDArray[np.float64]
LUMA = np.array([0.2126, 0.7152, 0.0722])


@dataclass(frozen=True)
class _Term:
    """One light at every pixel."""

    direction: Array
    """Unit vectors to the light, broadcastable to [h, w, 3]."""
    strength: Array
    """Spot and distance factor, broadcastable to [h, w]."""
    ambient: Array
    diffuse: Array
    specular: Array


def mujoco_shading(scene: Scene, buffers: Buffers, view: Pinhole) -> NDArray[np.float32]:
    """Display picture in [0, 1], [h, w, 3], of the sample shown.

    Args:
        scene: The scene, with the sample over it.
        buffers: Passes part, position, normal and albedo of the view.
        view: The camera.
    """
    part, normal, position = buffers.part, buffers.normal, buffers.position
    if part is None or normal is None or position is None or buffers.albedo is None:
        raise ValueError("mujoco_shading needs the passes part, position, normal and albedo")
    seen = part > 0
    points = np.where(seen[..., None], position, 0.0).astype(np.float64)
    normals = normal.astype(np.float64)
    albedo = srgb_encode(buffers.albedo)
    base, specular, shininess = _surfaces(scene)
    color, exponent = base[part], shininess[part]
    texture = np.divide(albedo, color, out=np.zeros_like(albedo), where=color > 0)
    to_viewer = view.T_world_camera[:3, 3] - points
    to_viewer /= np.linalg.norm(to_viewer, axis=2, keepdims=True)
    lit = np.zeros_like(points)
    for term in _terms(scene, points, view):
        cosine = np.einsum("hwc,hwc->hw", normals, np.broadcast_to(term.direction, points.shape))
        facing = (cosine > 0) & (term.strength > 0)
        half = term.direction + to_viewer
        half = half / np.linalg.norm(half, axis=2, keepdims=True)
        shine = np.maximum(np.einsum("hwc,hwc->hw", normals, half), 0.0) ** (128.0 * exponent)
        shine *= facing * specular[part]
        body = term.ambient + np.maximum(cosine, 0.0)[..., None] * term.diffuse
        body = color * body + shine[..., None] * term.specular
        lit += body * np.broadcast_to(term.strength, part.shape)[..., None]
    return np.where(seen[..., None], np.clip(lit, 0.0, 1.0) * texture, 0.0).astype(np.float32)


def luminance(display: NDArray[np.floating] | NDArray[np.uint8]) -> float:
    """Mean luma (Rec. 709 weights) of a display picture in [0, 1] or uint8, as 0 to 1."""
    scale = 255.0 if display.dtype == np.uint8 else 1.0
    return float((display.reshape(-1, 3).astype(np.float64) @ LUMA).mean() / scale)


def _terms(scene: Scene, points: Array, view: Pinhole) -> list[_Term]:
    terms = []
    world = scene.stage.GetPrimAtPath("/World")

    def head(name: str) -> Array:
        return np.array(world.GetAttribute(f"datagen:headlight:{name}").Get(), dtype=np.float64)

    if world.GetAttribute("datagen:headlight:active").Get():
        terms.append(
            _Term(
                -view.T_world_camera[:3, 2],
                np.array(1.0),
                head("ambient"),
                head("diffuse"),
                head("specular"),
            )
        )
    paths = [light.path for light in scene.info.lights]
    for path, pose in zip(paths, scene.world_transforms(paths), strict=True):
        prim = scene.stage.GetPrimAtPath(path)
        if UsdGeom.Imageable(prim).ComputeVisibility() == UsdGeom.Tokens.invisible:
            continue
        light = UsdLux.LightAPI(prim)
        scale = light.GetIntensityAttr().Get() / prim.GetAttribute("datagen:unitIntensity").Get()
        diffuse = srgb_encode(np.array(light.GetColorAttr().Get()) * scale)
        ambient, specular = (
            np.array(prim.GetAttribute(f"datagen:{name}").Get(), dtype=np.float64)
            for name in ("ambient", "specular")
        )
        axis = -pose[:3, 2]
        if prim.IsA(UsdLux.DistantLight):
            terms.append(_Term(-axis, np.array(1.0), ambient, diffuse, specular))
            continue
        offset = pose[:3, 3] - points
        distance = np.linalg.norm(offset, axis=2)
        direction = offset / distance[..., None]
        along = np.clip(-(direction @ axis), 0.0, 1.0)
        cutoff = np.cos(np.radians(prim.GetAttribute("datagen:cutoff").Get()))
        factor = np.where(
            along >= cutoff, along ** float(prim.GetAttribute("datagen:exponent").Get()), 0.0
        )
        a0, a1, a2 = prim.GetAttribute("datagen:attenuation").Get()
        terms.append(
            _Term(
                direction,
                factor / (a0 + a1 * distance + a2 * distance**2),
                ambient,
                diffuse,
                specular,
            )
        )
    return terms


def _surfaces(scene: Scene) -> tuple[Array, Array, Array]:
    """Display base colour [n, 3], specular [n] and shininess [n] by part number; row 0 is empty."""
    count = len(scene.info.parts) + 1
    base, specular, shininess = np.zeros((count, 3)), np.zeros(count), np.full(count, 0.5)
    for part in scene.info.parts:
        prim = scene.stage.GetPrimAtPath(part.path)
        material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
        surface, _, _ = material.ComputeSurfaceSource()
        diffuse = surface.GetInput("diffuseColor")
        color = diffuse.Get()
        if diffuse.HasConnectedSource():
            texture = UsdShade.Shader(diffuse.GetConnectedSource()[0].GetPrim())
            color = texture.GetInput("scale").Get()
        base[part.part] = srgb_encode(np.array(color, dtype=np.float64)[:3])
        attributes = surface.GetPrim()
        specular[part.part] = attributes.GetAttribute("datagen:specular").Get()
        shininess[part.part] = attributes.GetAttribute("datagen:shininess").Get()
    return base, specular, shininess
