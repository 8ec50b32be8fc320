"""USD materials as what MuJoCo and the converter know of a look."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pxr import Sdf, Usd, UsdGeom, UsdShade

from scenes.sources.usd.looks.pictures import Picture, Pictures
from scenes.sources.usd.looks.shaders import ShaderInput, Shaders
from scenes.sources.usd.reading.stage import TIME, UsdStage
from scenes.stage.attributes import SHININESS, SURFACE_SPECULAR
from scenes.stage.colors import srgb_encode

Rgba = tuple[float, float, float, float]

_SURFACES = ("UsdPreviewSurface", "ND_UsdPreviewSurface_surfaceshader")
_GRAY = (0.18, 0.18, 0.18)
_BLACK = 1e-4
_UNREAD = (
    "normal", "displacement", "occlusion", "clearcoat", "opacityThreshold", "roughness",
    "metallic", "specularColor", "opacity", "emissiveColor",
)  # fmt: skip


@dataclass(frozen=True)
class UsdLook:
    """How a part is drawn."""

    name: str
    """Path of the material, or of the prim that has its colour alone."""
    rgba: Rgba
    """Display values; multiply the picture."""
    metallic: float = 0.0
    roughness: float = 0.5
    emission: float = 0.0
    """Share of the colour that shines by itself."""
    specular: float = 0.5
    shininess: float | None = None
    """MuJoCo's; None follows from the roughness."""
    picture: Picture | None = None
    primvar: str = "st"
    """Texture coordinates that the picture is laid out by."""
    st_matrix: tuple[tuple[float, float, float], tuple[float, float, float]] | None = None
    """What is done to them first, [2, 3]."""
    wrap: tuple[str, str] = ("repeat", "repeat")


class Looks:
    """Reads each material of a stage once."""

    def __init__(self, stage: UsdStage) -> None:
        self._stage = stage
        self._shaders = Shaders(stage)
        self._pictures = Pictures(stage)
        self._read: dict[Sdf.Path, UsdLook | None] = {}

    def of(self, prim: Usd.Prim, bound: UsdShade.Material | None) -> UsdLook:
        """Look of a prim, or of a subset of it, with the material bound to it, if any."""
        look = None
        if bound:
            path = bound.GetPath()
            if path not in self._read:
                self._read[path] = self._material(bound)
            look = self._read[path]
        return look or self._display_color(prim)

    def untextured(self, look: UsdLook, prim: Usd.Prim) -> UsdLook:
        """The same look in its picture's mean colour, for a prim without coordinates."""
        assert look.picture is not None
        self._stage.notes.differs(
            f"{prim.GetPath()}: no texture coordinates {look.primvar!r}: shown in the mean colour "
            "of its picture"
        )
        r, g, b = (m * c for m, c in zip(look.picture.mean, look.rgba, strict=False))
        return replace(look, picture=None, rgba=(r, g, b, look.rgba[3]))

    def _display_color(self, prim: Usd.Prim) -> UsdLook:
        gprim = UsdGeom.Gprim(prim)
        color = self._stage.array(gprim.GetDisplayColorAttr(), 3)
        opacity = self._stage.array(gprim.GetDisplayOpacityAttr())
        if color is None or not len(color):
            color = np.array([_GRAY])
        if len(np.unique(color, axis=0)) > 1:
            self._stage.notes.differs(
                f"{prim.GetPath()}: displayColor varies over the prim: shown in its mean colour"
            )
        alpha = 1.0 if opacity is None or not len(opacity) else float(opacity.mean())
        return UsdLook(str(prim.GetPath()), _display(color.mean(axis=0), alpha))

    def _material(self, material: UsdShade.Material) -> UsdLook | None:
        path, notes = material.GetPath(), self._stage.notes
        for context in ("", "mtlx"):
            surface, _, _ = material.ComputeSurfaceSource(context)
            if surface and str(surface.GetIdAttr().Get(TIME)) in _SURFACES:
                return self._preview_surface(material, surface)
        sources = (material.ComputeSurfaceSource(context)[0] for context in ("mdl", "mtlx", ""))
        surface = next((source for source in sources if source), None)
        if surface is None:
            notes.differs(f"material {path}: it has no surface: displayColor is shown")
            return None
        kind = surface.GetPrim().GetAttribute("info:mdl:sourceAsset:subIdentifier").Get(TIME)
        kind = str(kind or surface.GetIdAttr().Get(TIME) or "unnamed")
        notes.differs(
            f"material {path}: shader {kind} is not known here; its plain colour, picture, "
            "roughness and metallic are shown, where inputs of the usual names state them, else "
            "displayColor"
        )
        return self._foreign_surface(material, surface)

    def _preview_surface(self, material: UsdShade.Material, surface: UsdShade.Shader) -> UsdLook:
        own = surface.GetPrim()
        look = self._colored(
            material, self._shaders.input(surface, "diffuseColor", 3), np.array(_GRAY), float(
                self._shaders.number(surface, "opacity", 1.0)
            )
        )  # fmt: skip
        specular = self._stage.value(own.GetAttribute(SURFACE_SPECULAR), look.specular)
        shininess = self._stage.value(own.GetAttribute(SHININESS))
        for name in _UNREAD:
            if surface.GetInput(name) and self._shaders.input(surface, name).texture:
                if name == "emissiveColor" and look.picture is not None:
                    continue
                self._stage.notes.differs(
                    f"material {material.GetPath()}: the picture of {name} is not used"
                )
        look = replace(
            look,
            metallic=self._shaders.number(surface, "metallic", 0.0),
            roughness=self._shaders.number(surface, "roughness", 0.5),
            specular=float(specular),
            shininess=None if shininess is None else float(shininess),
        )
        return self._glowing(material, surface, look)

    def _glowing(
        self, material: UsdShade.Material, surface: UsdShade.Shader, look: UsdLook
    ) -> UsdLook:
        emissive = self._shaders.input(surface, "emissiveColor", 3)
        scale = emissive.scale if emissive.texture else emissive.value
        glow = np.zeros(3) if scale is None else np.asarray(scale, dtype=np.float64)[:3]
        if glow.max(initial=0.0) <= 0.0:
            return look
        color = self._shaders.input(surface, "diffuseColor", 3)
        base = color.scale if color.texture else color.value
        base = np.array(_GRAY) if base is None else np.asarray(base, dtype=np.float64)[:3]
        note = f"material {material.GetPath()}: emissiveColor is shown"
        if base.max() <= _BLACK:
            self._stage.notes.differs(f"{note} as a surface of that colour that shines by itself")
            return replace(look, rgba=_display(np.clip(glow, 0, 1), look.rgba[3]), emission=1.0)
        share = glow / np.maximum(base, _BLACK)
        if np.ptp(share) > 0.01 * share.max():
            self._stage.notes.differs(f"{note} in the hue of the diffuse colour")
        return replace(look, emission=float(share.max()))

    def _foreign_surface(
        self, material: UsdShade.Material, surface: UsdShade.Shader
    ) -> UsdLook | None:
        color = self._first(
            surface, "diffuse_color_constant", "base_color", "diffuseColor", width=3
        )
        file = self._first(surface, "diffuse_texture", "base_color_texture", "diffuseTexture")
        if color is None and file is None:
            return None
        value = None if color is None else np.asarray(color.value, dtype=np.float64)
        found = ShaderInput(value=value)
        if color is not None and color.texture:
            found = color
        elif file is not None and isinstance(file.value, Sdf.AssetPath) and file.value.path:
            found = ShaderInput(texture=file.texture or surface, file=file.value)
        look = self._colored(material, found, np.array([0.2] * 3), 1.0)
        rough = self._first(surface, "reflection_roughness_constant", "specular_roughness", width=1)
        metal = self._first(surface, "metallic_constant", "metalness", width=1)
        return replace(
            look,
            roughness=0.5 if rough is None or rough.value is None else float(rough.value),
            metallic=0.0 if metal is None or metal.value is None else float(metal.value),
        )

    def _colored(
        self,
        material: UsdShade.Material,
        color: ShaderInput,
        default: NDArray[np.float64],
        opacity: float,
    ) -> UsdLook:
        name = str(material.GetPath())
        if color.texture is None:
            value = default if color.value is None else np.asarray(color.value, dtype=np.float64)
            return UsdLook(name, _display(value[:3], opacity))
        scale = np.ones(4) if color.scale is None else np.asarray(color.scale, dtype=np.float64)
        bias = np.zeros(4) if color.bias is None else np.asarray(color.bias, dtype=np.float64)
        baked = bool(np.any(bias[:3] != 0) or np.any(scale[:3] > 1) or np.any(scale[:3] < 0))
        picture = self._pictures.read(
            material.GetPrim(),
            color.file,
            color.color_space,
            (scale[:3], bias[:3]) if baked else None,
        )
        return UsdLook(
            name,
            (1.0, 1.0, 1.0, opacity) if baked else _display(scale[:3], opacity),
            picture=picture,
            primvar=color.primvar,
            st_matrix=color.st_matrix,
            wrap=color.wrap,
        )

    def _first(self, surface: UsdShade.Shader, *names: str, width: int = 0) -> ShaderInput | None:
        """First of some inputs that has a value or a picture."""
        for name in names:
            if surface.GetInput(name):
                found = self._shaders.input(surface, name, width)
                if found.texture is not None or found.value is not None:
                    return found
        return None


def _display(linear: NDArray[np.float64], alpha: float) -> Rgba:
    r, g, b = (float(c) for c in srgb_encode(linear))
    return r, g, b, alpha
