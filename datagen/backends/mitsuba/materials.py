"""`UsdPreviewSurface` materials as Mitsuba BSDFs."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pxr import UsdShade

from datagen.backends.errors import BackendError
from scenes import Scene, srgb_decode

ROUGHNESS_FLOOR = 0.2
"""Least roughness shown: the points that stand for a light's extent would be seen one by one."""
_REFLECTANCE_MAX = 0.9


class MaterialFactory:
    """Makes each material of a scene once."""

    def __init__(self, mitsuba: ModuleType, scene: Scene) -> None:
        self._mi = mitsuba
        self._scene = scene
        self._made: dict[tuple[str, bool], Any] = {}
        self._files: dict[Path, NDArray[np.uint8]] = {}
        self._linear = srgb_decode(np.arange(256) / 255.0)

    def of(self, part: str, *, closed: bool) -> Any:
        """BSDF of the material bound to a part.

        Args:
            part: Path of the part.
            closed: Whether its surface encloses a volume, so that a ray that enters it must leave
                it again: each of the two faces then lets the square root through, and both
                together what the material says.
        """
        prim = self._scene.stage.GetPrimAtPath(part)
        material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
        if not material:
            raise BackendError(f"{part}: no material is bound.")
        key = str(material.GetPath()), closed
        if key not in self._made:
            self._made[key] = self._mi.load_dict(self._description(material, closed))
        return self._made[key]

    def _description(self, material: UsdShade.Material, closed: bool) -> dict[str, Any]:
        surface, _, _ = material.ComputeSurfaceSource()
        bsdf: dict[str, Any] = {
            "type": "principled",
            "base_color": self._base_color(surface),
            "roughness": self._number(surface, "roughness", 0.5, ROUGHNESS_FLOOR),
            "metallic": self._number(surface, "metallic", 0.0),
            **_reflectance(surface),
        }
        bumps = _source(surface, "normal")
        if bumps is not None:
            texture, _ = bumps
            bsdf = {"type": "normalmap", "normalmap": self._normals(texture), "bsdf": bsdf}
        bsdf = {"type": "twosided", "bsdf": bsdf}
        covers = self._opacity(surface, closed)
        if isinstance(covers, dict) or covers < 1.0:
            return {"type": "mask", "opacity": covers, "bsdf": bsdf}
        return bsdf

    def _base_color(self, surface: UsdShade.Shader) -> dict[str, Any]:
        source = _source(surface, "diffuseColor")
        if source is not None:
            return self._color(source[0])
        return {"type": "rgb", "value": [float(c) for c in surface.GetInput("diffuseColor").Get()]}

    def _opacity(self, surface: UsdShade.Shader, closed: bool) -> float | dict[str, Any]:
        """Opacity of each face that a ray crosses."""
        source = _source(surface, "opacity")
        if source is None:
            value = float(_input(surface, "opacity", 1.0))
            return 1.0 - math.sqrt(1.0 - value) if closed else value
        texture, output = source
        channel = "rgb".index(output)
        values = np.clip(self._data(texture)[..., channel : channel + 1], 0.0, 1.0)
        return self._bitmap(texture, 1.0 - np.sqrt(1.0 - values) if closed else values)

    def _number(
        self, surface: UsdShade.Shader, name: str, default: float, least: float = 0.0
    ) -> float | dict[str, Any]:
        """Number of a surface from `least` up, or the texture that gives it, from there to 1."""
        source = _source(surface, name)
        if source is None:
            return max(float(_input(surface, name, default)), least)
        texture, output = source
        channel = "rgb".index(output)
        values = self._data(texture)[..., channel : channel + 1]
        return self._bitmap(texture, np.clip(values, least, 1.0))

    def _normals(self, texture: UsdShade.Shader) -> dict[str, Any]:
        # Mitsuba itself maps 0 to 1 onto -1 to 1.
        return self._bitmap(texture, (self._data(texture) + 1.0) / 2.0)

    def _data(self, texture: UsdShade.Shader) -> NDArray[np.float32]:
        """Numbers of a texture that holds no colours, [h, w, 3]."""
        scale = np.array(_input(texture, "scale", (1.0,) * 4), dtype=np.float32)[:3]
        bias = np.array(_input(texture, "bias", (0.0,) * 4), dtype=np.float32)[:3]
        return self._pixels(texture).astype(np.float32) / np.float32(255.0) * scale + bias

    def _pixels(self, texture: UsdShade.Shader) -> NDArray[np.uint8]:
        path = Path(texture.GetInput("file").Get().resolvedPath)
        if path not in self._files:
            self._files[path] = _read_rgb(path)
        return self._files[path]

    def _color(self, texture: UsdShade.Shader) -> dict[str, Any]:
        scale = np.array(_input(texture, "scale", (1.0,) * 4), dtype=np.float64)[:3]
        stored = self._pixels(texture)
        pixels = np.empty(stored.shape, dtype=np.float16)
        for channel in range(3):
            table = (self._linear * scale[channel]).astype(np.float16)
            pixels[..., channel] = table[stored[..., channel]]
        return self._bitmap(texture, pixels) | {"format": "fp16"}

    def _bitmap(self, texture: UsdShade.Shader, pixels: NDArray[Any]) -> dict[str, Any]:
        wrap = str(_input(texture, "wrapS", "repeat"))
        return {
            "type": "bitmap",
            "bitmap": self._mi.Bitmap(np.ascontiguousarray(pixels)),
            "raw": True,
            "filter_type": "bilinear",
            "wrap_mode": "repeat" if wrap == "repeat" else "clamp",
        }


def opacity(scene: Scene, part: str) -> float:
    """Opacity of a part, 1 = nothing is seen through it; 0 where a texture tells it."""
    surface = _surface(scene, part)
    return 0.0 if _source(surface, "opacity") else float(_input(surface, "opacity", 1.0))


def opacity_is_textured(scene: Scene, part: str) -> bool:
    """Tell whether the opacity of a part comes from a texture."""
    return _source(_surface(scene, part), "opacity") is not None


def part_glow(scene: Scene) -> NDArray[np.float32]:
    """Emission of each part by its number, as a linear factor of its diffuse colour, [n + 1]."""
    glow = np.zeros(len(scene.info.parts) + 1, dtype=np.float32)
    for part in scene.info.parts:
        surface = _surface(scene, part.path)
        color = np.array(_input(surface, "diffuseColor", (0.0,) * 3), dtype=np.float64)
        emissive = np.array(_input(surface, "emissiveColor", (0.0,) * 3), dtype=np.float64)
        # The stage holds emission times linear colour; MuJoCo adds it to the display colour.
        share = float((emissive / np.maximum(color, 1e-9)).max())
        glow[part.part] = srgb_decode(share)
    return glow


def _surface(scene: Scene, part: str) -> UsdShade.Shader:
    prim = scene.stage.GetPrimAtPath(part)
    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    return material.ComputeSurfaceSource()[0]


def _read_rgb(path: Path) -> NDArray[np.uint8]:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def _reflectance(surface: UsdShade.Shader) -> dict[str, float]:
    """Reflectance at normal incidence as Mitsuba's principled model takes it."""
    value = float(np.mean(_input(surface, "specularColor", (0.04,) * 3)))
    if value <= 0.0:
        return {"specular": 0.0}
    root = np.sqrt(min(value, _REFLECTANCE_MAX))
    return {"eta": float((1.0 + root) / (1.0 - root))}


def _source(surface: UsdShade.Shader, name: str) -> tuple[UsdShade.Shader, str] | None:
    """Texture and its output that an input takes its value from, None for a value of its own."""
    found = surface.GetInput(name)
    if not found or not found.HasConnectedSource():
        return None
    source, output, _ = found.GetConnectedSource()
    return UsdShade.Shader(source.GetPrim()), str(output)


def _input(shader: UsdShade.Shader, name: str, default: Any) -> Any:
    value = shader.GetInput(name)
    found = value.Get() if value else None
    return default if found is None else found
