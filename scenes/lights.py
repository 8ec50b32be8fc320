"""MuJoCo's lights, headlight and ambient as USD lights and attributes of `/World`."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux

from scenes.colors import srgb_decode
from scenes.scene import matrix_value
from scenes.transforms import looking_along, rigid

FILL = 0.06
"""Linear radiance added to the ambient: the bounce light of surfaces out of the picture."""
SOFT_RADIUS = 0.05
"""Radius of a positional light [m]."""
SOFT_ANGLE = 2.0
"""Angular diameter of a directional light [deg]."""


def is_directional(model: mujoco.MjModel, light: int) -> bool:
    """Tell whether a light has a direction only."""
    return int(model.light_type[light]) == mujoco.mjtLightType.mjLIGHT_DIRECTIONAL


def write_light(
    stage: Usd.Stage,
    path: str,
    model: mujoco.MjModel,
    light: int,
    pose: NDArray[np.float64],
    reference: float,
) -> Usd.Prim:
    """Write one light.

    A MuJoCo light has no falloff, a physical one does: its intensity is chosen so that both give
    the same irradiance, pi times the decoded diffuse colour, at the reference distance.

    Args:
        stage: Stage to write to.
        path: Prim path.
        model: The compiled model.
        light: Index of the light.
        pose: Pose of the light in its parent [m], [4, 4]; it shines along local -z.
        reference: Distance along the axis at which irradiances are equal [m].
    """
    if is_directional(model, light):
        distant = UsdLux.DistantLight.Define(stage, path)
        distant.CreateAngleAttr(SOFT_ANGLE)
        # Unnormalized, a distant light's intensity would depend on its angle.
        distant.CreateNormalizeAttr(True)
        usd, unit = distant, np.pi
    else:
        sphere = UsdLux.SphereLight.Define(stage, path)
        sphere.CreateRadiusAttr(SOFT_RADIUS)
        sphere.CreateNormalizeAttr(True)
        shaping = UsdLux.ShapingAPI.Apply(sphere.GetPrim())
        shaping.CreateShapingConeAngleAttr(float(model.light_cutoff[light]))
        shaping.CreateShapingFocusAttr(float(model.light_exponent[light]))
        # A normalized sphere of power P has the radiant intensity P / 4 in every direction.
        usd, unit = sphere, 4.0 * np.pi * reference**2
    prim = usd.GetPrim()
    usd.CreateColorAttr(_color(srgb_decode(model.light_diffuse[light])))
    usd.CreateIntensityAttr(float(unit))
    prim.CreateAttribute("datagen:unitIntensity", Sdf.ValueTypeNames.Float).Set(float(unit))
    for name, value in (
        ("ambient", model.light_ambient[light]),
        ("specular", model.light_specular[light]),
    ):
        prim.CreateAttribute(f"datagen:{name}", Sdf.ValueTypeNames.Color3f).Set(_color(value))
    prim.CreateAttribute("datagen:attenuation", Sdf.ValueTypeNames.Float3).Set(
        _color(model.light_attenuation[light])
    )
    for name, value in (
        ("cutoff", model.light_cutoff[light]),
        ("exponent", model.light_exponent[light]),
        ("referenceDistance", reference),
    ):
        prim.CreateAttribute(f"datagen:{name}", Sdf.ValueTypeNames.Float).Set(float(value))
    prim.CreateAttribute("datagen:castShadow", Sdf.ValueTypeNames.Bool).Set(
        bool(model.light_castshadow[light])
    )
    xform = UsdGeom.Xformable(prim)
    xform.AddTransformOp().Set(matrix_value(pose))
    shown = bool(model.light_active[light])
    usd.CreateVisibilityAttr(UsdGeom.Tokens.inherited if shown else UsdGeom.Tokens.invisible)
    return prim


def write_surroundings(world: Usd.Prim, model: mujoco.MjModel) -> None:
    """Write headlight, fill and exposure as attributes of `/World`."""
    head = model.vis.headlight
    world.CreateAttribute("datagen:headlight:active", Sdf.ValueTypeNames.Bool).Set(
        bool(head.active)
    )
    for name in ("ambient", "diffuse", "specular"):
        world.CreateAttribute(f"datagen:headlight:{name}", Sdf.ValueTypeNames.Color3f).Set(
            _color(getattr(head, name))
        )
    world.CreateAttribute("datagen:fill", Sdf.ValueTypeNames.Float).Set(FILL)
    world.CreateAttribute("datagen:exposure", Sdf.ValueTypeNames.Float).Set(1.0)


def light_pose(position: NDArray[np.float64], direction: NDArray[np.float64]) -> NDArray:
    """Pose of a light [m], [4, 4], at a position, shining along a direction."""
    return rigid(position, looking_along(direction))


def _color(value: NDArray[np.floating]) -> Gf.Vec3f:
    return Gf.Vec3f(*(float(v) for v in value))
