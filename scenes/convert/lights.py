"""MuJoCo's lights, headlight and ambient as USD lights and attributes of `/World`."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux

from scenes.convert.conversion import Conversion
from scenes.convert.grouping import WORLD
from scenes.convert.states import follows, light_pose
from scenes.stage import attributes
from scenes.stage.attributes import author
from scenes.stage.colors import srgb_decode
from scenes.stage.info import LightInfo
from scenes.stage.matrices import matrix_value, rigid_inverse
from scenes.stage.names import provenance

FILL = 0.06
"""Linear radiance added to the ambient: the bounce light of surfaces out of the picture."""
SOFT_RADIUS = 0.2
"""Radius of a positional light [m]."""
SOFT_ANGLE = 8.0
"""Angular diameter of a directional light [deg]."""

_NEAREST_REFERENCE = 0.05
_TYPE = mujoco.mjtLightType
_KINDS = frozenset({_TYPE.mjLIGHT_SPOT, _TYPE.mjLIGHT_DIRECTIONAL, _TYPE.mjLIGHT_POINT})


def convert_lights(conversion: Conversion) -> None:
    """Write every light, under the body that carries it or `/World/lights`."""
    model, rest, shown = conversion.model, conversion.rest, conversion.shown
    target = _reference_point(conversion)
    for light in range(model.nlight):
        name = conversion.name(mujoco.mjtObj.mjOBJ_LIGHT, light)
        kind = int(model.light_type[light])
        if kind not in _KINDS:
            conversion.report.left_out.append(
                f"light {name or light}: a light made of a picture has no counterpart"
            )
            continue
        pose = light_pose(rest.light_xpos[light], rest.light_xdir[light])
        body, parent = int(model.light_bodyid[light]), "/World/lights"
        if body != WORLD and not follows(model.light_mode[light]):
            parent = conversion.body_path(body)
            pose = rigid_inverse(conversion.body_pose(body)) @ pose
        axial = float((target - shown.light_xpos[light]) @ shown.light_xdir[light])
        reference = axial if axial > _NEAREST_REFERENCE else 1.0
        path = conversion.child_path(parent, name, "light", light)
        prim = _write_light(conversion.stage, path, model, light, reference)
        UsdGeom.Xformable(prim).AddTransformOp().Set(matrix_value(pose))
        provenance(prim, "light", name, light)
        conversion.lights.append(
            LightInfo(name=name or f"light_{light}", path=path, light_id=light)
        )
        if kind == _TYPE.mjLIGHT_POINT:
            conversion.report.approximated.append(
                f"light {name or light}: a point light; MuJoCo's own renderer does not draw it"
            )


def _reference_point(conversion: Conversion) -> NDArray[np.float64]:
    """Where the main camera's axis meets what is drawn; else the model's centre."""
    model, shown = conversion.model, conversion.shown
    name = conversion.description.main_camera
    camera = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, name) if name else -1
    if camera < 0:
        return np.array(model.stat.center)
    groups = np.zeros(mujoco.mjNGROUP, dtype=np.uint8)
    groups[[int(model.geom_group[geom]) for geom in conversion.drawn]] = 1
    origin = shown.cam_xpos[camera]
    direction = -shown.cam_xmat[camera].reshape(3, 3)[:, 2]
    hit = np.zeros(1, dtype=np.int32)
    distance = mujoco.mj_ray(model, shown, origin, direction, groups, 1, -1, hit, np.zeros(3))
    return np.array(model.stat.center) if distance < 0 else origin + distance * direction


def _write_light(
    stage: Usd.Stage, path: str, model: mujoco.MjModel, light: int, reference: float
) -> Usd.Prim:
    """Write one light.

    A MuJoCo light has no falloff, a physical one does: its intensity is chosen so that both give
    the same irradiance, pi times the decoded diffuse colour, at the reference distance [m] along
    the axis.
    """
    kind = int(model.light_type[light])
    # A point light shines everywhere, whatever cone the model states.
    cutoff, exponent = float(model.light_cutoff[light]), float(model.light_exponent[light])
    if kind == _TYPE.mjLIGHT_POINT:
        cutoff, exponent = 180.0, 0.0
    if kind == _TYPE.mjLIGHT_DIRECTIONAL:
        usd, unit = UsdLux.DistantLight.Define(stage, path), np.pi
        usd.CreateAngleAttr(SOFT_ANGLE)
        # Unnormalized, a distant light's intensity would depend on its angle.
        usd.CreateNormalizeAttr(True)
    else:
        # A normalized sphere of power P has the radiant intensity P / 4 in every direction.
        usd, unit = UsdLux.SphereLight.Define(stage, path), 4.0 * np.pi * reference**2
        usd.CreateRadiusAttr(SOFT_RADIUS)
        usd.CreateNormalizeAttr(True)
        if kind == _TYPE.mjLIGHT_SPOT:
            shaping = UsdLux.ShapingAPI.Apply(usd.GetPrim())
            shaping.CreateShapingConeAngleAttr(cutoff)
            shaping.CreateShapingFocusAttr(exponent)
    usd.CreateColorAttr(_color(srgb_decode(model.light_diffuse[light])))
    usd.CreateIntensityAttr(float(unit))
    shown = bool(model.light_active[light])
    usd.CreateVisibilityAttr(UsdGeom.Tokens.inherited if shown else UsdGeom.Tokens.invisible)
    prim, types = usd.GetPrim(), Sdf.ValueTypeNames
    author(prim, attributes.UNIT_INTENSITY, types.Float, float(unit))
    author(prim, attributes.LIGHT_AMBIENT, types.Color3f, _color(model.light_ambient[light]))
    author(prim, attributes.LIGHT_SPECULAR, types.Color3f, _color(model.light_specular[light]))
    author(prim, attributes.ATTENUATION, types.Float3, _color(model.light_attenuation[light]))
    author(prim, attributes.CUTOFF, types.Float, cutoff)
    author(prim, attributes.EXPONENT, types.Float, exponent)
    author(prim, attributes.REFERENCE_DISTANCE, types.Float, reference)
    author(prim, attributes.CAST_SHADOW, types.Bool, bool(model.light_castshadow[light]))
    return prim


def convert_surroundings(conversion: Conversion) -> None:
    """Write headlight, fill and exposure as attributes of `/World`."""
    world = conversion.stage.GetPrimAtPath("/World")
    head, types = conversion.model.vis.headlight, Sdf.ValueTypeNames
    author(world, attributes.HEADLIGHT_ACTIVE, types.Bool, bool(head.active))
    author(world, attributes.HEADLIGHT_AMBIENT, types.Color3f, _color(head.ambient))
    author(world, attributes.HEADLIGHT_DIFFUSE, types.Color3f, _color(head.diffuse))
    author(world, attributes.HEADLIGHT_SPECULAR, types.Color3f, _color(head.specular))
    author(world, attributes.FILL, types.Float, FILL)
    author(world, attributes.EXPOSURE, types.Float, 1.0)


def _color(value: NDArray[np.floating]) -> Gf.Vec3f:
    return Gf.Vec3f(*(float(v) for v in value))
