"""Looks of geoms as `UsdPreviewSurface` materials."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdShade

from scenes.convert.looks.highlights import Highlight, LightLevels, highlight
from scenes.convert.looks.texture_roles import (
    RoleTexture,
    color_space,
    connect_roles,
    layout_texture,
    role_scale,
    role_textures,
)
from scenes.convert.looks.textures import TextureFiles, texture_pixels
from scenes.convert.settings import MaterialRule
from scenes.stage.attributes import (
    HEADLIGHT_REFLECTANCE,
    REFLECTANCE,
    SHININESS,
    SURFACE_SPECULAR,
    author,
)
from scenes.stage.colors import srgb_decode
from scenes.stage.names import UniqueNames, provenance

_DEFAULT_RGBA = np.array([0.5, 0.5, 0.5, 1.0], dtype=np.float32)
_DEFAULT_SPECULAR = 0.5
_DEFAULT_SHININESS = 0.5
_MEAN_SAMPLES = 128


@dataclass(frozen=True)
class Look:
    """What decides how a geom is drawn. Display values, as in MuJoCo."""

    material: int
    """Index in the model, -1 for none."""
    texture: int
    """Index in the model, -1 for none."""
    rgba: tuple[float, float, float, float]
    emission: float
    specular: float
    shininess: float
    metallic: float = -1.0
    """Negative where the model does not say."""
    roughness: float = -1.0
    """Negative where the model does not say; the shininess then decides."""
    reflectance: float = 0.0
    """Share of a mirror picture that MuJoCo adds on planes and boxes."""
    roles: tuple[RoleTexture, ...] = ()
    """Textures that tell something else than colour."""
    layout: int = -1
    """Texture by which the texture coordinates are laid out, -1 for none."""


def geom_look(model: mujoco.MjModel, geom: int) -> Look:
    """Look of a geom by MuJoCo's precedence.

    The geom's own rgba wins over its material's unless it is the default 0.5 0.5 0.5 1.
    """
    material = int(model.geom_matid[geom])
    rgba = model.geom_rgba[geom]
    if material < 0:
        return Look(-1, -1, _floats(rgba), 0.0, _DEFAULT_SPECULAR, _DEFAULT_SHININESS)
    if np.array_equal(rgba, _DEFAULT_RGBA):
        rgba = model.mat_rgba[material]
    return Look(
        material,
        geom_texture(model, material),
        _floats(rgba),
        float(model.mat_emission[material]),
        float(model.mat_specular[material]),
        float(model.mat_shininess[material]),
        float(model.mat_metallic[material]),
        float(model.mat_roughness[material]),
        float(model.mat_reflectance[material]),
        role_textures(model, material),
        layout_texture(model, material),
    )


def geom_texture(model: mujoco.MjModel, material: int) -> int:
    """Texture of a material that is drawn as colour, -1 for none."""
    textures = model.mat_texid[material]
    texture = int(textures[mujoco.mjtTextureRole.mjTEXROLE_RGB])
    return texture if texture >= 0 else int(textures[mujoco.mjtTextureRole.mjTEXROLE_RGBA])


def shown_rgba(look: Look) -> tuple[float, float, float, float]:
    """Colour and opacity of a look as far as a surface can have them: within 0 to 1."""
    return _floats(np.clip(look.rgba, 0.0, 1.0))


class Materials:
    """Writes each distinct look once, under `/World/materials`."""

    def __init__(
        self,
        stage: Usd.Stage,
        model: mujoco.MjModel,
        textures: TextureFiles,
        folder: str,
        source: str,
        ambiguous: Mapping[str, Collection[str]],
        rule: MaterialRule,
    ) -> None:
        self._stage = stage
        self._model = model
        self._textures = textures
        self._folder = folder
        self._names = UniqueNames(source, ambiguous)
        self._rule: MaterialRule = rule
        self._levels = LightLevels.of(model)
        self._headlight = LightLevels.of_headlight(model)
        self._means: dict[int, float] = {}
        self._made: dict[Look, UsdShade.Material] = {}

    @property
    def count(self) -> int:
        """Number of materials written."""
        return len(self._made)

    @property
    def texture_count(self) -> int:
        """Number of distinct textures written."""
        return self._textures.count

    def of(self, look: Look) -> UsdShade.Material:
        """Material of a look."""
        if look not in self._made:
            self._made[look] = self._write(look)
        return self._made[look]

    def picture(self, texture: int) -> str:
        """File of a texture, relative to the scene folder."""
        return f"{self._folder}/{self._textures.file(self._model, texture)}"

    def store(self, pixels: NDArray[np.uint8]) -> str:
        """Write a picture, [h, w, 3], and give its file, relative to the scene folder."""
        return f"{self._folder}/{self._textures.write(pixels)}"

    def _write(self, look: Look) -> UsdShade.Material:
        name = (
            mujoco.mj_id2name(self._model, mujoco.mjtObj.mjOBJ_MATERIAL, look.material)
            if look.material >= 0
            else "rgba"
        )
        path = f"/World/materials/{self._names.identifier(name, 'material', self.count)}"
        material = UsdShade.Material.Define(self._stage, path)
        provenance(material.GetPrim(), "material", name, look.material)
        surface = UsdShade.Shader.Define(self._stage, f"{path}/surface")
        surface.CreateIdAttr("UsdPreviewSurface")
        shown = shown_rgba(look)
        color = Gf.Vec3f(*(float(c) for c in srgb_decode(shown[:3])))
        diffuse = surface.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f)
        diffuse.Set(color)
        surface.CreateInput("opacity", Sdf.ValueTypeNames.Float).Set(shown[3])
        shine = self._highlight(look, self._levels)
        roughness = look.roughness if look.roughness >= 0 else shine.roughness
        surface.CreateInput("metallic", Sdf.ValueTypeNames.Float).Set(max(look.metallic, 0.0))
        surface.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(roughness)
        given = {name for item in look.roles for name, _ in item.inputs}
        metal = look.metallic != 0 if "metallic" in given else look.metallic > 0
        # A surface with a specular colour is never metallic.
        surface.CreateInput("useSpecularWorkflow", Sdf.ValueTypeNames.Int).Set(int(not metal))
        surface.CreateInput("specularColor", Sdf.ValueTypeNames.Color3f).Set(
            Gf.Vec3f(shine.reflectance)
        )
        emissive = surface.CreateInput("emissiveColor", Sdf.ValueTypeNames.Color3f)
        emissive.Set(color * look.emission)
        glint = self._highlight(look, self._headlight)
        for attribute, value in (
            (HEADLIGHT_REFLECTANCE, glint.reflectance),
            (SURFACE_SPECULAR, look.specular),
            (SHININESS, look.shininess),
            (REFLECTANCE, look.reflectance),
        ):
            author(surface.GetPrim(), attribute, Sdf.ValueTypeNames.Float, value)
        material.CreateSurfaceOutput().ConnectToSource(surface.ConnectableAPI(), "surface")
        if look.texture >= 0:
            texture = self._colored(path, "texture", look, color)
            diffuse.ConnectToSource(texture.ConnectableAPI(), "rgb")
            if look.emission > 0 and "emissiveColor" not in given:
                glow = self._colored(path, "emission", look, color * look.emission)
                emissive.ConnectToSource(glow.ConnectableAPI(), "rgb")
        connect_roles(surface, [(item, self._role(path, item, look)) for item in look.roles])
        return material

    def _highlight(self, look: Look, levels: LightLevels) -> Highlight:
        texture = 1.0 if look.texture < 0 else self._mean(look.texture)
        return highlight(self._rule, look.rgba, look.specular, look.shininess, levels, texture)

    def _mean(self, texture: int) -> float:
        """Mean display value of a texture, from 0 to 1."""
        if texture not in self._means:
            pixels = texture_pixels(self._model, texture)
            steps = (max(side // _MEAN_SAMPLES, 1) for side in pixels.shape[:2])
            rows, columns = (slice(None, None, step) for step in steps)
            self._means[texture] = float(pixels[rows, columns, :3].mean() / 255.0)
        return self._means[texture]

    def _colored(self, path: str, name: str, look: Look, color: Gf.Vec3f) -> UsdShade.Shader:
        scale = Gf.Vec4f(*color, 1.0)
        shader = self._texture(f"{path}/{name}", look.texture, "sRGB", scale)
        shader.CreateOutput("rgb", Sdf.ValueTypeNames.Float3)
        return shader

    def _role(self, path: str, item: RoleTexture, look: Look) -> UsdShade.Shader:
        scale = role_scale(item, look.metallic, look.roughness, shown_rgba(look)[3])
        return self._texture(f"{path}/{item.role}", item.texture, color_space(item.role), scale)

    def _texture(self, path: str, texture: int, space: str, scale: Gf.Vec4f) -> UsdShade.Shader:
        reader = UsdShade.Shader.Define(self._stage, f"{path.rpartition('/')[0]}/st")
        reader.CreateIdAttr("UsdPrimvarReader_float2")
        reader.CreateInput("varname", Sdf.ValueTypeNames.String).Set("st")
        reader.CreateOutput("result", Sdf.ValueTypeNames.Float2)
        shader = UsdShade.Shader.Define(self._stage, path)
        shader.CreateIdAttr("UsdUVTexture")
        shader.CreateInput("file", Sdf.ValueTypeNames.Asset).Set(f"./{self.picture(texture)}")
        shader.CreateInput("sourceColorSpace", Sdf.ValueTypeNames.Token).Set(space)
        flat = self._model.tex_type[texture] == mujoco.mjtTexture.mjTEXTURE_2D
        for axis in ("wrapS", "wrapT"):
            shader.CreateInput(axis, Sdf.ValueTypeNames.Token).Set("repeat" if flat else "clamp")
        shader.CreateInput("scale", Sdf.ValueTypeNames.Float4).Set(scale)
        shader.CreateInput("st", Sdf.ValueTypeNames.Float2).ConnectToSource(
            reader.ConnectableAPI(), "result"
        )
        return shader


def _floats(rgba: np.ndarray) -> tuple[float, float, float, float]:
    r, g, b, a = (float(c) for c in rgba)
    return r, g, b, a
