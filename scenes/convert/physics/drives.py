"""Actuators and passive forces of joints, as drives and joint attributes."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from pxr import Sdf, Usd, UsdPhysics

from scenes.convert.report import SceneReport

_DEGREE = np.pi / 180.0
_ON_JOINT = {int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)}
_SINGLE = {int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)}
_LINEAR = {int(mujoco.mjtBias.mjBIAS_NONE), int(mujoco.mjtBias.mjBIAS_AFFINE)}


@dataclass(frozen=True)
class Drive:
    """A linear force along a joint: `stiffness (target - q) - damping q'`, q from qpos0.

    Units are N and m, or N m and rad.
    """

    stiffness: float
    damping: float
    target: float
    limit: float
    """Largest force; infinite when there is none."""


def joint_drives(model: mujoco.MjModel, report: SceneReport) -> dict[int, Drive]:
    """Drives by joint: of the actuators, or of a spring where there is none.

    What no drive can express is left out and reported.
    """
    drives: dict[int, Drive] = {}
    actuators: dict[int, list[int]] = {}
    for actuator in range(model.nu):
        reason = _inexpressible(model, actuator)
        if reason:
            name = _name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, actuator)
            report.left_out.append(f"actuator {name}: no drive; {reason}")
            continue
        actuators.setdefault(int(model.actuator_trnid[actuator, 0]), []).append(actuator)
    for joint, group in actuators.items():
        drives[joint] = _drive(model, joint, group, report)
    for joint in np.flatnonzero(np.asarray(model.jnt_stiffness) != 0).tolist():
        if int(model.jnt_type[joint]) not in _SINGLE or joint in drives:
            name = _name(model, mujoco.mjtObj.mjOBJ_JOINT, joint)
            why = "it is actuated too" if joint in drives else "only hinges and slides have drives"
            report.left_out.append(f"spring of joint {name}: no drive; {why}")
            continue
        address = model.jnt_qposadr[joint]
        rest = float(model.qpos_spring[address] - model.qpos0[address])
        drives[joint] = Drive(float(model.jnt_stiffness[joint]), 0.0, rest, np.inf)
    return drives


def driving_actuators(model: mujoco.MjModel) -> int:
    """Count the actuators that drives express."""
    return sum(_inexpressible(model, actuator) is None for actuator in range(model.nu))


def author_drive(prim: Usd.Prim, kind: str, drive: Drive) -> None:
    """Author a drive on a joint.

    Args:
        prim: The joint.
        kind: `angular` or `linear`; gains and target of an angular drive are per degree.
        drive: The drive.
    """
    unit = _DEGREE if kind == "angular" else 1.0
    api = UsdPhysics.DriveAPI.Apply(prim, kind)
    api.CreateTypeAttr(UsdPhysics.Tokens.force)
    api.CreateStiffnessAttr(drive.stiffness * unit)
    api.CreateDampingAttr(drive.damping * unit)
    api.CreateTargetPositionAttr(drive.target / unit)
    if np.isfinite(drive.limit):
        api.CreateMaxForceAttr(drive.limit)


def author_passive(prim: Usd.Prim, model: mujoco.MjModel, joint: int, kind: str | None) -> None:
    """Author armature, damping and dry friction of a joint for Newton and PhysX.

    Args:
        prim: The joint.
        model: The compiled model.
        joint: Its index.
        kind: `angular` or `linear`; None for a ball.
    """
    dof = int(model.jnt_dofadr[joint])
    unit = 1.0 if kind == "linear" else _DEGREE
    armature = float(model.dof_armature[dof])
    damping = float(model.dof_damping[dof]) * unit
    friction = float(model.dof_frictionloss[dof])
    if not (armature or damping or friction):
        return
    prim.AddAppliedSchema("NewtonJointAPI")
    for name, value in (("armature", armature), ("damping", damping), ("friction", friction)):
        prim.CreateAttribute(f"newton:{name}", Sdf.ValueTypeNames.Float, custom=False).Set(value)
    if kind is None:
        return
    prim.AddAppliedSchema(f"PhysxJointAxisAPI:{kind}")
    for name, value in (
        ("armature", armature),
        ("viscousFrictionCoefficient", damping),
        ("staticFrictionEffort", friction),
        ("dynamicFrictionEffort", friction),
    ):
        attribute = f"physxJointAxis:{kind}:{name}"
        prim.CreateAttribute(attribute, Sdf.ValueTypeNames.Float, custom=False).Set(value)


def _inexpressible(model: mujoco.MjModel, actuator: int) -> str | None:
    """Why an actuator is no drive."""
    if int(model.actuator_trntype[actuator]) not in _ON_JOINT:
        return "it does not act on a joint"
    if int(model.jnt_type[model.actuator_trnid[actuator, 0]]) not in _SINGLE:
        return "only hinges and slides have drives"
    if model.actuator_dyntype[actuator] != mujoco.mjtDyn.mjDYN_NONE:
        return "it has dynamics of its own"
    bias = int(model.actuator_biastype[actuator])
    if model.actuator_gaintype[actuator] != mujoco.mjtGain.mjGAIN_FIXED or bias not in _LINEAR:
        return "its force is not linear"
    return None


def _bias(model: mujoco.MjModel, actuator: int) -> tuple[float, float, float]:
    if model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_NONE:
        return 0.0, 0.0, 0.0
    constant, position, velocity = map(float, model.actuator_biasprm[actuator, :3])
    return constant, position, velocity


def _drive(model: mujoco.MjModel, joint: int, actuators: list[int], report: SceneReport) -> Drive:
    """Sum the actuators of a joint at their resting controls."""
    stiffness = damping = push = limit = 0.0
    name = _name(model, mujoco.mjtObj.mjOBJ_JOINT, joint)
    for actuator in actuators:
        gear = float(model.actuator_gear[actuator, 0])
        gain = float(model.actuator_gainprm[actuator, 0])
        constant, position, velocity = _bias(model, actuator)
        stiffness -= position * gear**2
        damping -= velocity * gear**2
        push += gear * (gain * _resting_control(model, actuator) + constant)
        limit += _largest_force(model, actuator, report)
    if model.jnt_actfrclimited[joint]:
        limit = min(limit, float(np.abs(model.jnt_actfrcrange[joint]).max()))
    if stiffness < 0 or damping < 0:
        report.left_out.append(
            f"drive of joint {name}: gains {stiffness:g} and {damping:g} below 0 are taken as 0"
        )
        stiffness, damping = max(stiffness, 0.0), max(damping, 0.0)
    if stiffness == 0:
        if push:
            report.left_out.append(f"drive of joint {name}: a constant force of {push:g}")
        return Drive(0.0, damping, 0.0, limit)
    target = push / stiffness - float(model.qpos0[model.jnt_qposadr[joint]])
    return Drive(stiffness, damping, target, limit)


def _resting_control(model: mujoco.MjModel, actuator: int) -> float:
    if not model.actuator_ctrllimited[actuator]:
        return 0.0
    return float(np.clip(0.0, *model.actuator_ctrlrange[actuator]))


def _largest_force(model: mujoco.MjModel, actuator: int, report: SceneReport) -> float:
    gear = abs(float(model.actuator_gear[actuator, 0]))
    low, high = -np.inf, np.inf
    if model.actuator_forcelimited[actuator]:
        low, high = map(float, model.actuator_forcerange[actuator])
    elif model.actuator_ctrllimited[actuator] and not any(_bias(model, actuator)):
        gain = float(model.actuator_gainprm[actuator, 0])
        low, high = sorted(gain * model.actuator_ctrlrange[actuator])
    if -low != high:
        name = _name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, actuator)
        report.approximated.append(
            f"actuator {name}: forces from {low:g} to {high:g}; a drive knows the larger bound only"
        )
    return gear * max(abs(low), abs(high))


def _name(model: mujoco.MjModel, kind: mujoco.mjtObj, number: int) -> str:
    return mujoco.mj_id2name(model, kind, number) or f"#{number}"
