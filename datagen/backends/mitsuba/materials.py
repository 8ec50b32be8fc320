"""Looks of parts as Mitsuba BSDFs."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from datagen.backends.errors import BackendError
from scenes import srgb_decode
from scenes.stage.looks import Look, Role, Texture

ROUGHNESS_FLOOR = 0.2
"""Least roughness shown: the points that stand for a light's extent would be seen one by one."""
_REFLECTANCE_MAX = 0.9


class MaterialFactory:
    """Makes each material of a scene once."""

    def __init__(self, mitsuba: ModuleType) -> None:
        self._mi = mitsuba
        self._made: dict[tuple[str, bool], Any] = {}
        self._files: dict[Path, NDArray[np.uint8]] = {}
        self._linear = srgb_decode(np.arange(256) / 255.0)

    def of(self, look: Look, *, closed: bool) -> Any:
        """BSDF of a look.

        Args:
            look: How a part looks.
            closed: Whether its surface encloses a volume, so that a ray that enters it must leave
                it again: each of the two faces then lets the square root through, and both
                together what the material says.
        """
        key = look.material, closed
        if key not in self._made:
            self._made[key] = self._mi.load_dict(self._description(look, closed))
        return self._made[key]

    def _description(self, look: Look, closed: bool) -> dict[str, Any]:
        bsdf: dict[str, Any] = {
            "type": "principled",
            "base_color": self._base_color(look),
            "roughness": self._number(look, "roughness", look.roughness, ROUGHNESS_FLOOR),
            "metallic": self._number(look, "metallic", look.metallic),
            **_reflectance(look),
        }
        bumps = look.textures.get("normal")
        if bumps is not None:
            bsdf = {"type": "normalmap", "normalmap": self._normals(bumps), "bsdf": bsdf}
        bsdf = {"type": "twosided", "bsdf": bsdf}
        covers = self._opacity(look, closed)
        if isinstance(covers, dict) or covers < 1.0:
            return {"type": "mask", "opacity": covers, "bsdf": bsdf}
        return bsdf

    def _base_color(self, look: Look) -> dict[str, Any]:
        texture = look.textures.get("base_color")
        if texture is not None:
            return self._color(texture)
        return {"type": "rgb", "value": look.base_color.tolist()}

    def _opacity(self, look: Look, closed: bool) -> float | dict[str, Any]:
        """Opacity of each face that a ray crosses."""
        texture = look.textures.get("opacity")
        if texture is None:
            return 1.0 - math.sqrt(1.0 - look.opacity) if closed else look.opacity
        values = np.clip(self._channel(texture), 0.0, 1.0)
        return self._bitmap(texture, 1.0 - np.sqrt(1.0 - values) if closed else values)

    def _number(
        self, look: Look, role: Role, value: float, least: float = 0.0
    ) -> float | dict[str, Any]:
        """Number of a surface from `least` up, or the texture that gives it, from there to 1."""
        texture = look.textures.get(role)
        if texture is None:
            return max(value, least)
        return self._bitmap(texture, np.clip(self._channel(texture), least, 1.0))

    def _normals(self, texture: Texture) -> dict[str, Any]:
        # Mitsuba itself maps 0 to 1 onto -1 to 1.
        return self._bitmap(texture, (self._data(texture) + 1.0) / 2.0)

    def _channel(self, texture: Texture) -> NDArray[np.float32]:
        """Numbers of the channel that is taken, [h, w, 1]."""
        return self._data(texture)[..., texture.channel : texture.channel + 1]

    def _data(self, texture: Texture) -> NDArray[np.float32]:
        """Numbers of a texture that holds no colours, [h, w, 3]."""
        scale, bias = (np.array(each[:3], np.float32) for each in (texture.scale, texture.bias))
        return self._pixels(texture).astype(np.float32) / np.float32(255.0) * scale + bias

    def _pixels(self, texture: Texture) -> NDArray[np.uint8]:
        if texture.file is None:
            raise BackendError(f"{texture.path}: the texture is missing.")
        if texture.file not in self._files:
            self._files[texture.file] = _read_rgb(texture.file)
        return self._files[texture.file]

    def _color(self, texture: Texture) -> dict[str, Any]:
        stored = self._pixels(texture)
        pixels = np.empty(stored.shape, dtype=np.float16)
        for channel in range(3):
            table = (self._linear * texture.scale[channel]).astype(np.float16)
            pixels[..., channel] = table[stored[..., channel]]
        return self._bitmap(texture, pixels) | {"format": "fp16"}

    def _bitmap(self, texture: Texture, pixels: NDArray[Any]) -> dict[str, Any]:
        return {
            "type": "bitmap",
            "bitmap": self._mi.Bitmap(np.ascontiguousarray(pixels)),
            "raw": True,
            "filter_type": "bilinear",
            "wrap_mode": "repeat" if texture.wrap[0] == "repeat" else "clamp",
        }


def _read_rgb(path: Path) -> NDArray[np.uint8]:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def _reflectance(look: Look) -> dict[str, float]:
    """Reflectance at normal incidence as Mitsuba's principled model takes it."""
    if look.reflectance <= 0.0:
        return {"specular": 0.0}
    root = np.sqrt(min(look.reflectance, _REFLECTANCE_MAX))
    return {"eta": float((1.0 + root) / (1.0 - root))}
