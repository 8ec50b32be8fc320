"""Textures of further roles than colour, on a `UsdPreviewSurface`.

Roles, channels and the factors by which a material's numbers multiply them are those that
MuJoCo's XML reference states for `material/layer`; its own renderer shows none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
import numpy as np
from pxr import Gf, Sdf, UsdShade

_ROLE = mujoco.mjtTextureRole
_COLOR = (int(_ROLE.mjTEXROLE_RGB), int(_ROLE.mjTEXROLE_RGBA))
_VALUES = Sdf.ValueTypeNames

_INPUTS: dict[str, tuple[tuple[str, str], ...]] = {
    "occlusion": (("occlusion", "r"),),
    "roughness": (("roughness", "r"),),
    "metallic": (("metallic", "r"),),
    "normal": (("normal", "rgb"),),
    "opacity": (("opacity", "r"),),
    "emissive": (("emissiveColor", "rgb"),),
    "orm": (("occlusion", "r"), ("roughness", "g"), ("metallic", "b")),
}
"""Inputs of the surface that each role gives, with the outputs of the texture they take."""

_KINDS = {"normal": _VALUES.Normal3f, "emissiveColor": _VALUES.Color3f}
_CHANNELS = {"normal": 3, "emissive": 3, "orm": 3}

_NOTES = {
    "occlusion": "is in the stage only; path tracing finds what is dark by itself",
    "roughness": "is shown by the path tracer, not by MuJoCo",
    "metallic": "is shown by the path tracer, not by MuJoCo",
    "normal": "is shown by the path tracer except under the headlight, not by MuJoCo",
    "opacity": "is shown by the path tracer, not by MuJoCo; labels and shadows see the whole "
    "surface",
    "emissive": "is in the stage only, without an exposure in its fourth channel",
    "orm": "is shown by the path tracer except its occlusion, not by MuJoCo",
}


@dataclass(frozen=True)
class RoleTexture:
    """A texture that tells something else than colour."""

    role: str
    """MuJoCo's word for it."""
    texture: int
    """Index in the model."""
    inputs: tuple[tuple[str, str], ...]
    """Inputs of the surface, each with the output of the texture that it takes."""


def role_textures(model: mujoco.MjModel, material: int) -> tuple[RoleTexture, ...]:
    """Textures of a material that are written for something else than colour, by role."""
    found = {role: texture for role, texture in _given(model, material) if role in _INPUTS}
    base = layout_texture(model, material)
    kept = {
        role: texture
        for role, texture in found.items()
        if _unfit(model, role, texture, base) is None
    }
    # A role of its own says more than one channel of three.
    own = {_INPUTS[role][0][0] for role in kept if role != "orm"}
    written = []
    for role, texture in kept.items():
        inputs = tuple(pair for pair in _INPUTS[role] if role != "orm" or pair[0] not in own)
        if inputs:
            written.append(RoleTexture(role, texture, inputs))
    return tuple(written)


def layout_texture(model: mujoco.MjModel, material: int) -> int:
    """Texture by which a material's texture coordinates are laid out, -1 for none.

    That of the colour, else the first of another role: all share one set of coordinates.
    """
    textures = model.mat_texid[material]
    for role in (*_COLOR, *range(len(textures))):
        if textures[role] >= 0 and (role in _COLOR or _word(role) in _INPUTS):
            return int(textures[role])
    return -1


def role_notes(model: mujoco.MjModel, material: int) -> list[str]:
    """What a conversion must say of each texture of a further role, without the material."""
    base = layout_texture(model, material)
    shown = {item.role: item for item in role_textures(model, material)}
    notes = []
    for role, texture in _given(model, material):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_TEXTURE, texture) or texture
        what = f"texture {name} of the role {role}"
        if role not in shown:
            reason = _unfit(model, role, texture, base) or "each channel has a texture of its own"
            notes.append(f"{what} is not shown: {reason}")
            continue
        notes.append(f"{what} {_NOTES[role]}")
        taken = [pair[0] for pair in _INPUTS[role] if pair not in shown[role].inputs]
        if taken:
            notes.append(f"{what} gives way to the textures of {' and '.join(taken)}")
    return notes


def role_scale(item: RoleTexture, metallic: float, roughness: float, opacity: float) -> Gf.Vec4f:
    """Factors of a texture's channels; a metallic or roughness below 0 is not stated."""
    factors = {"metallic": metallic, "roughness": roughness, "opacity": opacity}
    given = [factors.get(name, 1.0) for name, _ in _INPUTS[item.role]]
    stated = [1.0 if factor < 0 else factor for factor in given]
    if item.role == "normal":
        return Gf.Vec4f(2.0, 2.0, 2.0, 1.0)
    if item.role == "orm":
        return Gf.Vec4f(*stated, 1.0)
    return Gf.Vec4f(stated[0], stated[0], stated[0], 1.0)


def connect_roles(
    surface: UsdShade.Shader, textures: Iterable[tuple[RoleTexture, UsdShade.Shader]]
) -> None:
    """Let a surface take its inputs from the textures that stand beside it."""
    for item, texture in textures:
        if item.role == "normal":
            bias = texture.CreateInput("bias", _VALUES.Float4)
            bias.Set(Gf.Vec4f(-1.0, -1.0, -1.0, 0.0))
        for name, output in item.inputs:
            kind = _VALUES.Float3 if output == "rgb" else _VALUES.Float
            texture.CreateOutput(output, kind)
            target = surface.CreateInput(name, _KINDS.get(name, _VALUES.Float))
            target.ConnectToSource(texture.ConnectableAPI(), output)


def color_space(role: str) -> str:
    """How the numbers of a role's texture are coded, in the words of `UsdUVTexture`."""
    return "sRGB" if role == "emissive" else "raw"


def _given(model: mujoco.MjModel, material: int) -> list[tuple[str, int]]:
    textures = model.mat_texid[material]
    return [
        (_word(int(role)), int(textures[role]))
        for role in np.flatnonzero(textures >= 0)
        if role not in _COLOR
    ]


def _unfit(model: mujoco.MjModel, role: str, texture: int, base: int) -> str | None:
    """Why a texture cannot be written for a role, None where it can."""
    if role not in _INPUTS:
        return "nothing says what it means"
    channels, needed = int(model.tex_nchannel[texture]), _CHANNELS.get(role, 1)
    if channels < needed:
        return f"it has {channels} channel, the role needs {needed}"
    if _layout(model, texture) != _layout(model, base):
        return "it is laid out otherwise than the material's first texture (2d, cube)"
    return None


def _layout(model: mujoco.MjModel, texture: int) -> tuple[bool, bool]:
    flat = model.tex_type[texture] == mujoco.mjtTexture.mjTEXTURE_2D
    stacked = model.tex_height[texture] == 6 * model.tex_width[texture]
    return bool(flat), bool(stacked and not flat)


def _word(role: int) -> str:
    return _ROLE(role).name.removeprefix("mjTEXROLE_").lower()
