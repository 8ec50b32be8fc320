"""Constraints that close loops: joints outside the articulations, or reported."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np
from pxr import Sdf, UsdPhysics

from scenes.convert.conversion import Conversion
from scenes.convert.grouping import WORLD
from scenes.convert.physics.joints import fasten
from scenes.stage.matrices import rigid, rotation_from_quaternion

_EQ = mujoco.mjtEq
_BODY = mujoco.mjtObj.mjOBJ_BODY


def convert_equalities(conversion: Conversion, scope: str, joints: Mapping[int, str]) -> int:
    """Write what can be of the model's equality constraints and tendons, and report the rest.

    Args:
        conversion: The conversion under way.
        scope: Prim below which to write.
        joints: Prims of the joints, by index.

    Returns:
        How many constraints were written.
    """
    model, left_out = conversion.model, conversion.report.left_out
    written = 0
    for number in range(model.neq):
        kind = _EQ(int(model.eq_type[number]))
        name = conversion.name(mujoco.mjtObj.mjOBJ_EQUALITY, number) or f"#{number}"
        word = kind.name.removeprefix("mjEQ_").lower()
        between_bodies = model.eq_objtype[number] == _BODY
        if not model.eq_active0[number]:
            left_out.append(f"equality {name} ({word}): it is not active")
        elif kind == _EQ.mjEQ_JOINT and _mimic(conversion, number, joints):
            written += 1
        elif kind in (_EQ.mjEQ_CONNECT, _EQ.mjEQ_WELD) and between_bodies:
            _loop(conversion, scope, number, kind)
            written += 1
        else:
            left_out.append(f"equality {name} ({word}): UsdPhysics has no such constraint")
    for number in range(model.ntendon):
        name = conversion.name(mujoco.mjtObj.mjOBJ_TENDON, number) or f"#{number}"
        left_out.append(f"tendon {name}: UsdPhysics has no tendons")
    return written


def _loop(conversion: Conversion, scope: str, number: int, kind: mujoco.mjtEq) -> None:
    """Write a connect or weld constraint between two bodies."""
    model = conversion.model
    data = np.asarray(model.eq_data[number])
    name = conversion.name(mujoco.mjtObj.mjOBJ_EQUALITY, number)
    path = conversion.child_path(scope, name, "equality", number)
    if kind == _EQ.mjEQ_CONNECT:
        joint = UsdPhysics.SphericalJoint.Define(conversion.stage, path)
        joint.CreateAxisAttr(UsdPhysics.Tokens.x)
        frames = (rigid(data[:3], np.eye(3)), rigid(data[3:6], np.eye(3)))
    else:
        joint = UsdPhysics.FixedJoint.Define(conversion.stage, path)
        frames = (rigid(data[3:6], rotation_from_quaternion(data[6:10])), np.eye(4))
    bodies = (int(model.eq_obj1id[number]), int(model.eq_obj2id[number]))
    paths = [None if body == WORLD else conversion.body_path(body) for body in bodies]
    fasten(joint, (paths[0], frames[0]), (paths[1], frames[1]))
    joint.CreateExcludeFromArticulationAttr(True)


def _mimic(conversion: Conversion, number: int, joints: Mapping[int, str]) -> bool:
    """Write a linear coupling of two joints, as far as it is one."""
    model = conversion.model
    follower, leader = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
    constant, factor, *higher = map(float, model.eq_data[number, :5])
    kinds = model.jnt_type
    if leader < 0 or any(higher) or kinds[follower] != kinds[leader]:
        return False
    prim = conversion.stage.GetPrimAtPath(joints[follower])
    prim.AddAppliedSchema("NewtonMimicAPI")
    hinge = kinds[follower] == mujoco.mjtJoint.mjJNT_HINGE
    offset = np.rad2deg(constant) if hinge else constant
    for coefficient, value in (("mimicCoef0", offset), ("mimicCoef1", factor)):
        attribute = prim.CreateAttribute(
            f"newton:{coefficient}", Sdf.ValueTypeNames.Float, custom=False
        )
        attribute.Set(float(value))
    leading = prim.CreateRelationship("newton:mimicJoint", custom=False)
    leading.SetTargets([Sdf.Path(joints[leader])])
    return True
