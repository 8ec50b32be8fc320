"""Joints as prims: frames, axes, limits and positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray
from pxr import Gf, Sdf, Usd, UsdPhysics

from scenes.convert.conversion import Conversion
from scenes.convert.physics.drives import Drive, author_drive, author_passive
from scenes.stage.info import JointInfo
from scenes.stage.matrices import Matrix, quaternion_from_rotation, rigid, rigid_inverse
from scenes.stage.names import provenance

_JOINT = mujoco.mjtJoint
_KINDS = {_JOINT.mjJNT_HINGE: "angular", _JOINT.mjJNT_SLIDE: "linear"}
_WORDS: dict[mujoco.mjtJoint, Literal["hinge", "slide", "ball"]] = {
    _JOINT.mjJNT_HINGE: "hinge",
    _JOINT.mjJNT_SLIDE: "slide",
    _JOINT.mjJNT_BALL: "ball",
}


@dataclass(frozen=True)
class JointEnd:
    """A body as an end of a joint."""

    path: str | None
    """Prim of the body; None for the world."""
    pose: Matrix
    """World pose of the body at qpos0 [m], [4, 4]."""


WORLD_END = JointEnd(None, np.eye(4))


def axis_rotation(axis: ArrayLike) -> NDArray[np.float64]:
    """Rotation, [3, 3], whose x axis is the given direction."""
    x = np.asarray(axis, dtype=np.float64)
    x = x / np.linalg.norm(x)
    if x[0] == 1.0:
        return np.eye(3)
    other = np.zeros(3)
    other[int(np.argmin(np.abs(x)))] = 1.0
    z = np.cross(x, other)
    z /= np.linalg.norm(z)
    return np.stack([x, np.cross(z, x), z], axis=1)


def fasten(
    joint: UsdPhysics.Joint, first: tuple[str | None, Matrix], second: tuple[str | None, Matrix]
) -> None:
    """Fasten a joint to its two bodies.

    Args:
        joint: The joint.
        first: Prim of the body that carries, None for the world, and the joint's frame in it [m].
        second: The same of the body that is carried.
    """
    ends = (
        (first, joint.CreateBody0Rel, joint.CreateLocalPos0Attr, joint.CreateLocalRot0Attr),
        (second, joint.CreateBody1Rel, joint.CreateLocalPos1Attr, joint.CreateLocalRot1Attr),
    )
    for (path, frame), body, position, rotation in ends:
        if path is not None:
            body().SetTargets([Sdf.Path(path)])
        position(Gf.Vec3f(*map(float, frame[:3, 3])))
        rotation(Gf.Quatf(*map(float, quaternion_from_rotation(frame[:3, :3]))))


def connect(joint: UsdPhysics.Joint, first: JointEnd, second: JointEnd, local: Matrix) -> None:
    """Fasten a joint between two bodies as they stand at qpos0.

    Args:
        joint: The joint.
        first: The body that carries.
        second: The body that is carried.
        local: The joint's frame in the second body [m], [4, 4].
    """
    frame = rigid_inverse(first.pose) @ second.pose @ local
    fasten(joint, (first.path, frame), (second.path, local))


def convert_joint(
    conversion: Conversion,
    path: str,
    number: int,
    first: JointEnd,
    second: JointEnd,
    drive: Drive | None,
) -> None:
    """Write a hinge, slide or ball of the model, its axis along x of its frame.

    Args:
        conversion: The conversion under way.
        path: Prim to make.
        number: Index of the joint in the model.
        first: The body that carries, at qpos0.
        second: The body that is carried, at qpos0.
        drive: What moves the joint.
    """
    model = conversion.model
    kind = _KINDS.get(_JOINT(int(model.jnt_type[number])))
    local = rigid(
        model.jnt_pos[number],
        np.eye(3) if kind is None else axis_rotation(model.jnt_axis[number]),
    )
    schema = {
        "angular": UsdPhysics.RevoluteJoint,
        "linear": UsdPhysics.PrismaticJoint,
        None: UsdPhysics.SphericalJoint,
    }[kind]
    joint = schema.Define(conversion.stage, path)
    connect(joint, first, second, local)
    prim = joint.GetPrim()
    joint.CreateAxisAttr(UsdPhysics.Tokens.x)
    name = conversion.name(mujoco.mjtObj.mjOBJ_JOINT, number)
    provenance(prim, "joint", name, number)
    info = _info(model, number, name, path)
    conversion.joints.append(info)
    author_passive(prim, model, number, kind)
    if kind is None:
        _limit_cone(conversion, joint, number)
        return
    if model.jnt_limited[number]:
        low, high = map(info.in_stage, model.jnt_range[number].tolist())
        joint.CreateLowerLimitAttr(low)
        joint.CreateUpperLimitAttr(high)
    _author_state(prim, kind)
    if drive is not None:
        author_drive(prim, kind, drive)


def _info(model: mujoco.MjModel, number: int, name: str | None, path: str) -> JointInfo:
    address = int(model.jnt_qposadr[number])
    kind = _WORDS[_JOINT(int(model.jnt_type[number]))]
    return JointInfo(
        name=name or f"joint_{number}",
        path=path,
        kind=kind,
        joint_id=number,
        qpos=address,
        qpos0=None if kind == "ball" else float(model.qpos0[address]),
    )


def _author_state(prim: Usd.Prim, kind: str) -> None:
    prim.AddAppliedSchema(f"PhysicsJointStateAPI:{kind}")
    for value in ("position", "velocity"):
        attribute = f"state:{kind}:physics:{value}"
        prim.CreateAttribute(attribute, Sdf.ValueTypeNames.Float, custom=False).Set(0.0)


def _limit_cone(conversion: Conversion, joint: UsdPhysics.SphericalJoint, number: int) -> None:
    model = conversion.model
    if not model.jnt_limited[number]:
        return
    angle = float(np.rad2deg(model.jnt_range[number, 1]))
    joint.CreateConeAngle0LimitAttr(angle)
    joint.CreateConeAngle1LimitAttr(angle)
    name = conversion.name(mujoco.mjtObj.mjOBJ_JOINT, number) or number
    conversion.report.approximated.append(
        f"joint {name}: its whole rotation is limited to {angle:g} degrees; the stage limits the "
        "swing of its x axis, not the twist about it"
    )
