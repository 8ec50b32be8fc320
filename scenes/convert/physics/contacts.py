"""Gravity, friction, and which shapes may touch."""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from scenes.convert.conversion import Conversion
from scenes.convert.physics.proxies import collides

Bits = tuple[int, int]
"""A geom's contype and conaffinity."""


def convert_contacts(conversion: Conversion, scope: str) -> None:
    """Write the scene's gravity, and friction and collision groups of every collider.

    Args:
        conversion: The conversion under way, its colliders written.
        scope: Prim to make for what is not part of an object.
    """
    UsdGeom.Scope.Define(conversion.stage, scope)
    _gravity(conversion, f"{scope}/scene")
    frictions: dict[tuple[float, ...], UsdShade.Material] = {}
    classes: dict[Bits, list[Sdf.Path]] = {}
    mixed = 0
    for prim, geoms in _colliders(conversion):
        friction = np.asarray(conversion.model.geom_friction[geoms])
        # Of two shapes that touch, MuJoCo takes the greater friction.
        key = tuple(map(float, friction.max(axis=0)))
        mixed += bool(np.any(friction != friction[0]))
        if key not in frictions:
            frictions[key] = _friction(conversion, f"{scope}/friction_{len(frictions)}", key)
        binding = UsdShade.MaterialBindingAPI.Apply(prim)
        binding.Bind(frictions[key], UsdShade.Tokens.fallbackStrength, "physics")
        classes.setdefault(_bits(conversion.model, geoms), []).append(prim.GetPath())
    if mixed:
        conversion.report.approximated.append(
            f"{mixed} colliders stand for geoms of different friction and have the greatest"
        )
    _collision_groups(conversion, scope, classes)
    _excluded_pairs(conversion)


def _gravity(conversion: Conversion, path: str) -> None:
    gravity = np.array(conversion.model.opt.gravity)
    if conversion.model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY:
        gravity[:] = 0.0
    size = float(np.linalg.norm(gravity))
    scene = UsdPhysics.Scene.Define(conversion.stage, path)
    direction = gravity / size if size else np.array([0.0, 0.0, -1.0])
    scene.CreateGravityDirectionAttr(Gf.Vec3f(*map(float, direction)))
    scene.CreateGravityMagnitudeAttr(size)


def _colliders(conversion: Conversion) -> Iterator[tuple[Usd.Prim, list[int]]]:
    """Colliders of the stage, each with the geoms it stands for."""
    model = conversion.model
    colliding = np.array([collides(model, geom) for geom in range(model.ngeom)], dtype=np.bool_)
    bodies_of: dict[int, list[int]] = {}
    for info in conversion.bodies:
        bodies_of.setdefault(info.instance, []).append(info.body_id)
    for owner in conversion.objects:
        carried = bodies_of.get(owner.instance, [])
        for prim in Usd.PrimRange(conversion.stage.GetPrimAtPath(owner.path)):
            if not prim.HasAPI(UsdPhysics.CollisionAPI):
                continue
            source = prim.GetCustomDataByKey("datagen") or {}
            if source.get("kind") == "geom":
                yield prim, [int(source["id"])]
                continue
            bodies = [int(source["id"])] if source.get("kind") == "body" else carried
            geoms = np.flatnonzero(colliding & np.isin(model.geom_bodyid, bodies))
            if len(geoms):
                yield prim, geoms.tolist()


def _friction(conversion: Conversion, path: str, friction: tuple[float, ...]) -> UsdShade.Material:
    sliding, torsional, rolling = friction
    material = UsdShade.Material.Define(conversion.stage, path)
    prim = material.GetPrim()
    api = UsdPhysics.MaterialAPI.Apply(prim)
    api.CreateStaticFrictionAttr(sliding)
    api.CreateDynamicFrictionAttr(sliding)
    api.CreateRestitutionAttr(0.0)
    prim.AddAppliedSchema("NewtonMaterialAPI")
    for name, value in (("torsionalFriction", torsional), ("rollingFriction", rolling)):
        prim.CreateAttribute(f"newton:{name}", Sdf.ValueTypeNames.Float, custom=False).Set(value)
    prim.AddAppliedSchema("PhysxMaterialAPI")
    mode = "physxMaterial:frictionCombineMode"
    prim.CreateAttribute(mode, Sdf.ValueTypeNames.Token, custom=False).Set("max")
    return material


def _bits(model: mujoco.MjModel, geoms: list[int]) -> Bits:
    contype = np.bitwise_or.reduce(model.geom_contype[geoms])
    conaffinity = np.bitwise_or.reduce(model.geom_conaffinity[geoms])
    return int(contype), int(conaffinity)


def _meet(first: Bits, second: Bits) -> bool:
    """Tell whether geoms of two kinds collide."""
    return bool(first[0] & second[1] or second[0] & first[1])


def _collision_groups(
    conversion: Conversion, scope: str, classes: dict[Bits, list[Sdf.Path]]
) -> None:
    """Keep shapes apart whose contype and conaffinity do not match."""
    kinds = sorted(classes)
    if all(_meet(first, second) for first in kinds for second in kinds):
        return
    paths = {
        bits: Sdf.Path(f"{scope}/contype_{bits[0]}_conaffinity_{bits[1]}".replace("-", "m"))
        for bits in kinds
    }
    for bits, path in paths.items():
        group = UsdPhysics.CollisionGroup.Define(conversion.stage, path)
        group.GetCollidersCollectionAPI().CreateIncludesRel().SetTargets(classes[bits])
        apart = [paths[other] for other in kinds if not _meet(bits, other)]
        group.CreateFilteredGroupsRel().SetTargets(apart)


def _excluded_pairs(conversion: Conversion) -> None:
    """Keep the pairs of bodies apart that the model excludes from contact."""
    model = conversion.model
    pairs: dict[int, list[int]] = {}
    for signature in map(int, model.exclude_signature):
        pairs.setdefault(signature >> 16, []).append(signature & 0xFFFF)
    paths: dict[int, list[Sdf.Path]] = {}
    for info in conversion.bodies:
        paths.setdefault(info.body_id, []).append(Sdf.Path(info.path))
    for first, others in pairs.items():
        named = set(others)
        targets = [path for body in paths if body in named for path in paths[body]]
        for path in paths.get(first, ()):
            prim = conversion.stage.GetPrimAtPath(path)
            UsdPhysics.FilteredPairsAPI.Apply(prim).CreateFilteredPairsRel().SetTargets(targets)
