"""Lights of a USD stage as MuJoCo's.

MuJoCo's lights have no physical unit: a display value says how bright a white surface facing one
becomes. The irradiance of each USD light at the middle of the scene is computed, and all of them
are scaled together until their display values, ambient included, add up to one: what they are to
each other stays, nothing is overexposed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Usd, UsdGeom, UsdLux

from scenes.sources.usd.reading.stage import TIME, UsdStage
from scenes.stage import attributes
from scenes.stage.colors import srgb_encode
from scenes.stage.matrices import Matrix, looking_along, rigid

Color = tuple[float, float, float]

_WIDEST = 85.0
"""Half angle that stands for a half-space [deg]: renderers of spots stop short of 90."""
_NO_FALLOFF = 2.0
"""Exponent of a spot that shines equally in all directions: MuJoCo leaves out that a plane is
farther away off the axis, which is two powers of the cosine."""
_STEPS = 60
_PREFIX = "inputs:"
_SHAPING = ("shaping:ies:file", "shaping:cone:softness", "shaping:focus", "shaping:cone:angle")
_INPUTS = (
    "intensity", "color", "exposure", "enableColorTemperature", "colorTemperature", "normalize",
    "angle", "radius", "width", "height", "length", "texture:file", *_SHAPING,
)  # fmt: skip


@dataclass(frozen=True)
class MujocoLight:
    """A light as MuJoCo has it."""

    prim: Usd.Prim
    pose: Matrix
    """Pose [m], [4, 4], shining along -z."""
    directional: bool
    diffuse: Color
    """Display values."""
    cutoff: float = _WIDEST
    """Half angle of the cone [deg]."""
    exponent: float = _NO_FALLOFF
    ambient: Color = (0.0, 0.0, 0.0)
    specular: Color = (0.3, 0.3, 0.3)
    attenuation: Color = (1.0, 0.0, 0.0)
    cast_shadow: bool = True
    active: bool = True


@dataclass(frozen=True)
class Lighting:
    """All light of a scene."""

    lights: tuple[MujocoLight, ...]
    ambient: Color = (0.0, 0.0, 0.0)
    """Display value of the light from everywhere."""
    headlight: dict[str, Any] | None = None
    """What a converted scene says of its headlight, else None."""
    none: bool = False
    """Whether the stage has no light at all."""


@dataclass
class _Physical:
    """Light by light, before all are scaled."""

    lights: list[tuple[MujocoLight, NDArray[np.float64]]] = field(default_factory=list)
    """With linear irradiance over pi at the middle of the scene, [3]."""
    own: list[MujocoLight] = field(default_factory=list)
    dome: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))


def read_lighting(
    stage: UsdStage, prims: list[Usd.Prim], middle: NDArray[np.float64], radius: float
) -> Lighting:
    """Read all lights of a stage.

    Args:
        stage: The stage.
        prims: Its lights.
        middle: Middle of what is drawn [m], [3].
        radius: Distance from there to its farthest corner [m].

    Raises:
        AssetError: A value is not finite.
    """
    found = _Physical()
    for prim in prims:
        if prim.HasAttribute(attributes.UNIT_INTENSITY):
            found.own.append(_own_light(stage, prim))
        elif UsdGeom.Imageable(prim).ComputeVisibility(TIME) == UsdGeom.Tokens.invisible:
            stage.notes.lacks(f"light {prim.GetPath()}: invisible")
        else:
            _add(stage, prim, middle, radius, found)
    scale = _scale([*(e for _, e in found.lights), found.dome])
    lights = [
        *found.own,
        *(replace(light, diffuse=_color(srgb_encode(e * scale))) for light, e in found.lights),
    ]
    world = stage.stage.GetDefaultPrim()
    headlight = _own_headlight(stage, world) if world else None
    dark = not lights and not found.dome.any() and headlight is None
    if found.lights or found.dome.any():
        stage.notes.differs(
            f"lights: their brightness was scaled together, by {scale:g} in linear values, so that "
            "their display values add up to 1 at the middle of the scene"
        )
    return Lighting(tuple(lights), _color(srgb_encode(found.dome * scale)), headlight, none=dark)


def _add(
    stage: UsdStage,
    prim: Usd.Prim,
    middle: NDArray[np.float64],
    radius: float,
    found: _Physical,
) -> None:
    kind, notes = str(prim.GetTypeName()), stage.notes
    old = [name for name in _INPUTS if _input(prim, name).GetName() == name]
    if old:
        notes.differs(
            f"light {prim.GetPath()}: {', '.join(old)}, without the {_PREFIX!r} that UsdLux "
            "has now, read as if they had it"
        )
    strength = _strength(stage, prim)
    if strength.min() < 0:
        notes.lacks(f"light {prim.GetPath()}: below zero; it would take light away")
        return
    pose = stage.pose(prim) if kind != "DomeLight" else np.eye(4)
    scale = stage.meters_per_unit
    if kind in ("DomeLight", "DomeLight_1"):
        if stage.value(_input(prim, "texture:file")):
            notes.differs(f"light {prim.GetPath()}: the picture of a dome is not shown; its plain "
                          "colour lights the scene from everywhere")  # fmt: skip
        found.dome = found.dome + strength
        return
    if kind == "DistantLight":
        half = math.radians(stage.number(_input(prim, "angle")) / 2)
        disk = math.pi * math.sin(half) ** 2
        normalized = bool(stage.value(_input(prim, "normalize"))) or disk == 0.0
        irradiance = strength * (1.0 if normalized else disk)
        pose = rigid(middle - pose[:3, :3] @ [0.0, 0.0, -1.0] * 2 * radius, pose[:3, :3])
        found.lights.append((MujocoLight(prim, pose, True, (1, 1, 1)), irradiance / math.pi))
        return
    sizes = {
        name: stage.number(_input(prim, name), 0.0) * scale
        for name in ("radius", "width", "height", "length")
    }
    face = {
        "SphereLight": math.pi * sizes["radius"] ** 2,
        "DiskLight": math.pi * sizes["radius"] ** 2,
        "RectLight": sizes["width"] * sizes["height"],
        "CylinderLight": 2 * sizes["radius"] * sizes["length"],
    }.get(kind)
    if face is None:
        notes.lacks(f"light {prim.GetPath()}: a {kind} is not read")
        return
    surface = {"SphereLight": 4.0, "CylinderLight": math.pi}.get(kind, 1.0) * face
    if bool(stage.value(_input(prim, "normalize"))) or face == 0.0:
        strength = strength * (face / surface if surface > 0 else 0.25)
    else:
        strength = strength * face
    cutoff, exponent = _cone(stage, prim)
    everywhere = kind in ("SphereLight", "CylinderLight") and cutoff >= _WIDEST
    away = middle - pose[:3, 3]
    distance = float(np.linalg.norm(away))
    if everywhere:
        if distance > 0:
            pose = rigid(pose[:3, 3], looking_along(away))
        notes.differs(
            f"light {prim.GetPath()}: a {kind} that shines everywhere became a wide spot towards "
            "the middle of the scene"
        )
    elif kind in ("RectLight", "DiskLight"):
        exponent += 1.0
        notes.differs(f"light {prim.GetPath()}: a {kind} became a wide spot from its middle")
    shape = MujocoLight(prim, pose, False, (1, 1, 1), min(cutoff, _WIDEST), exponent)
    found.lights.append((shape, strength / max(distance, 0.05 * radius) ** 2 / math.pi))


def _strength(stage: UsdStage, prim: Usd.Prim) -> NDArray[np.float64]:
    """Colour times intensity times exposure, [3]."""
    attribute = _input(prim, "color")
    stated = stage.value(attribute, Gf.Vec3f(1))
    color = np.array(stage.refuse_other(attribute, stated, 3), dtype=np.float64)
    if stage.value(_input(prim, "enableColorTemperature")):
        kelvin = stage.number(_input(prim, "colorTemperature"))
        color *= np.array(UsdLux.BlackbodyTemperatureAsRgb(kelvin))
    exposure = stage.number(_input(prim, "exposure"), 0.0)
    with np.errstate(over="ignore"):
        strength = color * stage.number(_input(prim, "intensity"), 1.0) * np.exp2(exposure)
    if not np.isfinite(strength).all():
        raise stage.refusal(
            prim,
            f"with inputs:exposure = {exposure:g} its brightness is beyond all numbers.",
        )
    return strength


def _input(prim: Usd.Prim, name: str) -> Usd.Attribute:
    """Attribute of a light: with `inputs:`, or as of old without, where that alone has a value."""
    attribute, old = prim.GetAttribute(_PREFIX + name), prim.GetAttribute(name)
    authored = bool(attribute) and attribute.HasAuthoredValue()
    return old if old and old.HasAuthoredValue() and not authored else attribute


def _cone(stage: UsdStage, prim: Usd.Prim) -> tuple[float, float]:
    """Half angle [deg] and exponent of a light's shaping."""
    old = any(_input(prim, name).GetName() == name for name in _SHAPING)
    if not prim.HasAPI(UsdLux.ShapingAPI) and not old:
        return 180.0, _NO_FALLOFF
    if stage.value(_input(prim, "shaping:ies:file")):
        stage.notes.differs(f"light {prim.GetPath()}: its IES profile is not used")
    if stage.number(_input(prim, "shaping:cone:softness"), 0.0) > 0:
        stage.notes.differs(f"light {prim.GetPath()}: the soft rim of its cone is sharp")
    focus = stage.number(_input(prim, "shaping:focus"), 0.0)
    return stage.number(_input(prim, "shaping:cone:angle"), 90.0), _NO_FALLOFF + focus


def _scale(shares: list[NDArray[np.float64]]) -> float:
    """Factor by which linear values add up to a display value of one."""
    if not any(share.any() for share in shares):
        return 1.0
    low, high = 0.0, 1.0 / max(float(share.max()) for share in shares)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        total = sum(float(srgb_encode(share.max() * middle)) for share in shares)
        low, high = (middle, high) if total <= 1.0 else (low, middle)
    return low


def _own_light(stage: UsdStage, prim: Usd.Prim) -> MujocoLight:
    """Read a light of a converted scene, which states MuJoCo's values."""

    def number(name: str) -> float:
        return stage.number(prim.GetAttribute(name))

    def color(name: str) -> Color:
        return _color(np.array(stage.value(prim.GetAttribute(name)), dtype=np.float64))

    strength = number("inputs:intensity") / number(attributes.UNIT_INTENSITY)
    linear = np.array(color("inputs:color")) * strength
    shown = UsdGeom.Imageable(prim).ComputeVisibility(TIME) != UsdGeom.Tokens.invisible
    return MujocoLight(
        prim,
        stage.pose(prim),
        prim.IsA(UsdLux.DistantLight),
        _color(srgb_encode(linear)),
        number(attributes.CUTOFF),
        number(attributes.EXPONENT),
        color(attributes.LIGHT_AMBIENT),
        color(attributes.LIGHT_SPECULAR),
        color(attributes.ATTENUATION),
        bool(stage.value(prim.GetAttribute(attributes.CAST_SHADOW))),
        shown,
    )


def _own_headlight(stage: UsdStage, world: Usd.Prim) -> dict[str, Any] | None:
    found = {name.rpartition(":")[2]: world.GetAttribute(name) for name in attributes.HEADLIGHT}
    if not all(found.values()):
        return None
    return {name: stage.value(attribute) for name, attribute in found.items()}


def _color(values: NDArray[np.float64]) -> Color:
    r, g, b = (float(v) for v in values)
    return r, g, b
