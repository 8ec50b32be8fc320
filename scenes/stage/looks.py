"""Looks of parts as records, in the sample shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from pxr import Sdf, UsdShade

from scenes.errors import SceneError
from scenes.stage import attributes
from scenes.stage.scene import Scene

Color = NDArray[np.float64]
Role = Literal["base_color", "opacity", "roughness", "metallic", "normal", "emission", "occlusion"]
"""What of a look a texture tells."""
Channels = tuple[float, float, float, float]

_INPUTS: dict[Role, str] = {
    "base_color": "diffuseColor",
    "opacity": "opacity",
    "roughness": "roughness",
    "metallic": "metallic",
    "normal": "normal",
    "emission": "emissiveColor",
    "occlusion": "occlusion",
}
"""Inputs of `UsdPreviewSurface`."""


@dataclass(frozen=True)
class Texture:
    """A picture that tells something of a look: `scale` times what it holds, plus `bias`.

    It lies where the mesh's coordinates `st` say: stages have no further transform.
    """

    path: str
    """Prim path."""
    file: Path | None
    """The picture; None where there is no such file."""
    output: str
    """What is taken of it: `rgb`, or one channel."""
    scale: Channels
    """Factors of the channels, linear."""
    bias: Channels
    """What is added to the channels."""
    wrap: tuple[str, str]
    """What is beyond its edges along s and t, in the words of `UsdUVTexture`."""
    color_space: str
    """How the picture is coded: `sRGB`, `raw` or `auto`."""

    @property
    def channel(self) -> int:
        """Index of the one channel that is taken."""
        return "rgb".index(self.output)


@dataclass(frozen=True)
class Look:
    """How a part looks; where a texture tells something, the number beside it says nothing."""

    material: str
    """Prim path of the material: parts of the same one share their look."""
    base_color: Color
    """Linear diffuse reflectance, [3]."""
    opacity: float
    """Share of what is behind that it hides, 0 to 1."""
    roughness: float
    """Square root of the microfacets' width, 0 to 1."""
    metallic: float
    """Share of metal, 0 to 1."""
    emission: Color
    """MuJoCo's emission times the linear colour, [3]."""
    reflectance: float
    """Reflectance at normal incidence."""
    headlight_reflectance: float
    """Reflectance at normal incidence under the headlight."""
    specular: float
    """Share of specular light in MuJoCo's formula."""
    shininess: float
    """Exponent of MuJoCo's highlights over 128."""
    mirror: float
    """Share of a mirror picture that MuJoCo adds on planes and boxes."""
    textures: Mapping[Role, Texture]
    """What textures tell, by what it is."""

    @property
    def tint(self) -> Color:
        """Linear colour, of a texture the factor of its colours, [3]."""
        texture = self.textures.get("base_color")
        return self.base_color if texture is None else np.array(texture.scale[:3])

    @property
    def picture(self) -> Path | None:
        """File of the base colour's texture; None without one."""
        texture = self.textures.get("base_color")
        return None if texture is None else texture.file

    @property
    def least_opacity(self) -> float:
        """Opacity where most is seen through: 0 where a texture tells it."""
        return 0.0 if "opacity" in self.textures else self.opacity

    @property
    def glow(self) -> float:
        """Emission as MuJoCo has it, which adds so much of the display colour."""
        # The stage holds emission times linear colour.
        return float((self.emission / np.maximum(self.tint, 1e-9)).max())


def read_looks(scene: Scene, parts: Iterable[str]) -> list[Look]:
    """Looks of parts, by their paths.

    Raises:
        SceneError: A part has no material.
    """
    surfaces = _surfaces(scene, list(parts))
    looks = {each.material: each.look() for each in dict.fromkeys(surfaces)}
    return [looks[each.material] for each in surfaces]


def read_look(scene: Scene, part: str) -> Look:
    """Look of one part, by its path.

    Raises:
        SceneError: It has no material.
    """
    (look,) = read_looks(scene, [part])
    return look


def read_tints(scene: Scene, parts: Iterable[str]) -> Color:
    """`Look.tint` alone of parts, by their paths, [n, 3].

    Raises:
        SceneError: A part has no material.
    """
    return np.array([each.tint() for each in _surfaces(scene, list(parts))]).reshape(-1, 3)


def material_paths(scene: Scene, parts: Iterable[str]) -> list[str]:
    """`Look.material` alone of parts, by their paths.

    Raises:
        SceneError: A part has no material.
    """
    return [each.material for each in _surfaces(scene, list(parts))]


def shader_kind(scene: Scene, prim: Sdf.Path) -> str:
    """Identifier of a shader, of `UsdUVTexture` only of those that give a base colour; else empty.

    Args:
        scene: The scene.
        prim: Path of any prim.
    """
    shader = UsdShade.Shader(scene.stage.GetPrimAtPath(prim))
    if not shader:
        return ""
    identifier = str(shader.GetIdAttr().Get())
    return "" if identifier == "UsdUVTexture" and not _gives_color(shader) else identifier


def takes_texture(scene: Scene, path: Sdf.Path) -> bool:
    """Tell whether an attribute is an input that takes its value from a texture."""
    shader = UsdShade.Shader(scene.stage.GetPrimAtPath(path.GetPrimPath()))
    channel = shader.GetInput(path.name.removeprefix("inputs:")) if shader else None
    return bool(channel and channel.HasConnectedSource())


_found: WeakKeyDictionary[Scene, dict[str, _Surface]] = WeakKeyDictionary()
"""Materials of the parts of each scene: no sample changes which they are and what feeds them."""


def _surfaces(scene: Scene, parts: Sequence[str]) -> list[_Surface]:
    found = _found.setdefault(scene, {})
    new = [part for part in parts if part not in found]
    if new:
        known = {surface.material: surface for surface in found.values()}
        prims = [scene.stage.GetPrimAtPath(part) for part in new]
        materials, _ = UsdShade.MaterialBindingAPI.ComputeBoundMaterials(prims)
        for part, material in zip(new, materials, strict=True):
            if not material:
                raise SceneError(f"{scene.info.scene_id}: {part}: no material is bound.")
            path = str(material.GetPath())
            if path not in known:
                known[path] = _Surface(material)
            found[part] = known[path]
    return [found[part] for part in parts]


class _Surface:
    """Where the values of a material stand."""

    def __init__(self, material: UsdShade.Material) -> None:
        self.material = str(material.GetPath())
        surface = material.ComputeSurfaceSource()[0]
        self._shader = _Values(surface)
        self._sources: dict[Role, _Source] = {
            role: source
            for role, name in _INPUTS.items()
            if (source := _Source.of(surface, name)) is not None
        }

    def look(self) -> Look:
        """Look in the sample shown."""
        own, get = self._shader.attribute, self._shader.input
        return Look(
            material=self.material,
            base_color=self._base_color(),
            opacity=float(get("opacity", 1.0)),
            roughness=float(get("roughness", 0.5)),
            metallic=float(get("metallic", 0.0)),
            emission=np.array(get("emissiveColor", (0.0,) * 3), dtype=np.float64),
            reflectance=float(np.mean(get("specularColor", (0.04,) * 3))),
            headlight_reflectance=float(own(attributes.HEADLIGHT_REFLECTANCE, 0.0)),
            specular=float(own(attributes.SURFACE_SPECULAR, 0.0)),
            shininess=float(own(attributes.SHININESS, 0.0)),
            mirror=float(own(attributes.REFLECTANCE, 0.0)),
            textures={role: source.texture() for role, source in self._sources.items()},
        )

    def tint(self) -> Color:
        """`Look.tint` in the sample shown."""
        source = self._sources.get("base_color")
        return self._base_color() if source is None else source.tint()

    def _base_color(self) -> Color:
        return np.array(self._shader.input("diffuseColor", (0.18,) * 3), dtype=np.float64)


class _Source:
    """A texture and what is taken of it."""

    def __init__(self, shader: UsdShade.Shader, output: str) -> None:
        self._values = _Values(shader)
        self._path, self._output = str(shader.GetPath()), output

    @classmethod
    def of(cls, surface: UsdShade.Shader, name: str) -> _Source | None:
        """Texture that an input takes its value from; None for a value of its own."""
        found = surface.GetInput(name)
        if not found or not found.HasConnectedSource():
            return None
        source, output, _ = found.GetConnectedSource()
        return cls(UsdShade.Shader(source.GetPrim()), str(output))

    def texture(self) -> Texture:
        """The texture in the sample shown."""
        get = self._values.input
        file = get("file", None)
        resolved = file.resolvedPath if file else ""
        return Texture(
            path=self._path,
            file=Path(resolved) if resolved else None,
            output=self._output,
            scale=self._scale(),
            bias=_channels(get("bias", (0.0,) * 4)),
            wrap=(str(get("wrapS", "repeat")), str(get("wrapT", "repeat"))),
            color_space=str(get("sourceColorSpace", "auto")),
        )

    def tint(self) -> Color:
        """Linear factor of the picture's colours, [3]."""
        return np.array(self._scale()[:3])

    def _scale(self) -> Channels:
        return _channels(self._values.input("scale", (1.0,) * 4))


class _Values:
    """Values of a shader, whose attributes are found once."""

    def __init__(self, shader: UsdShade.Shader) -> None:
        self._attributes = {each.GetName(): each for each in shader.GetPrim().GetAttributes()}

    def input(self, name: str, default: Any) -> Any:
        """Own value of an input, whatever it is connected to."""
        return self.attribute(f"inputs:{name}", default)

    def attribute(self, name: str, default: Any) -> Any:
        """Value of an attribute."""
        attribute = self._attributes.get(name)
        value = None if attribute is None else attribute.Get()
        return default if value is None else value


def _gives_color(shader: UsdShade.Shader) -> bool:
    """Tell whether a texture is the one that its material's diffuse colour comes from."""
    material = UsdShade.Material(shader.GetPrim().GetParent())
    surface = material.ComputeSurfaceSource()[0] if material else None
    diffuse = surface.GetInput("diffuseColor") if surface else None
    if not diffuse or not diffuse.HasConnectedSource():
        return False
    return diffuse.GetConnectedSource()[0].GetPrim() == shader.GetPrim()


def _channels(value: Iterable[float]) -> Channels:
    # To iterate over a vector of USD takes long.
    r, g, b, a = np.array(value, dtype=np.float64).tolist()
    return r, g, b, a
