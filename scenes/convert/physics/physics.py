"""Physics in the stage: rigid bodies, articulations and what joins them, as UsdPhysics.

Joints stand under `/World/<object>/joints`, each on the object of the body it carries. A body with
joints is a rigid body whose mass is that of all that is welded to it; what is welded to it follows
by a fixed joint. Bodies fixed to the world are static colliders, but for those that joints hang
on: these are rigid bodies held by a fixed joint to the world, the root of the articulation. The
scene's gravity, the collision groups and the friction materials stand under `/World/physics`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import mujoco
import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from scenes.convert.conversion import Conversion
from scenes.convert.grouping import WORLD
from scenes.convert.physics.contacts import convert_contacts
from scenes.convert.physics.drives import Drive, driving_actuators, joint_drives
from scenes.convert.physics.equalities import convert_equalities
from scenes.convert.physics.joints import WORLD_END, JointEnd, connect, convert_joint
from scenes.convert.physics.links import Link, Tree, fixed_below, link_trees, mocap_bodies
from scenes.convert.physics.masses import (
    FOLLOWER_SHARE,
    NOMINAL,
    MassProperties,
    author_mass,
    merged_mass,
)
from scenes.stage.info import BodyInfo
from scenes.stage.matrices import matrix_value

_MAX_DEPENETRATION = 0.02
"""Speed [m/s] at which PhysX parts bodies that overlap, as those do that rest in MuJoCo: faster,
it would throw light ones."""


@dataclass
class _Physics:
    """The physics of a conversion under way."""

    conversion: Conversion
    drives: dict[int, Drive]
    bodies: dict[int, BodyInfo]
    mocap: frozenset[int]
    """Bodies that a user moves, and those welded to them."""
    scopes: dict[str, str] = field(default_factory=dict)
    """Scope of the joints, by object prim."""
    joints: dict[int, str] = field(default_factory=dict)
    """Prim of a joint, by its index."""
    free: int = 0
    """Free joints, which need no prim."""
    links: int = 0

    def end(self, body: int) -> JointEnd:
        return JointEnd(self.bodies[body].path, self.conversion.body_pose(body))

    def scope(self, body: int) -> str:
        """Scope of the joints of a body's object."""
        owner = self.conversion.objects[self.bodies[body].instance - 1].path
        if owner not in self.scopes:
            self.scopes[owner] = self.conversion.child_path(owner, "joints", "joints", 0)
            UsdGeom.Scope.Define(self.conversion.stage, self.scopes[owner])
        return self.scopes[owner]

    def new(self, body: int, name: str | None, kind: str, number: int) -> str:
        """Path of a new prim beside the joints of a body's object."""
        return self.conversion.child_path(self.scope(body), name, kind, number)

    def fix(self, name: str, first: JointEnd, second: JointEnd, owner: int) -> UsdPhysics.Joint:
        """Hold a body where it stands at qpos0."""
        path = self.new(owner, name, "fixed", owner)
        joint = UsdPhysics.FixedJoint.Define(self.conversion.stage, path)
        connect(joint, first, second, np.eye(4))
        return joint

    def rigid(self, path: str, mass: MassProperties) -> UsdPhysics.RigidBodyAPI:
        """Make a prim a rigid body."""
        prim = self.conversion.stage.GetPrimAtPath(path)
        author_mass(prim, mass)
        return UsdPhysics.RigidBodyAPI.Apply(prim)


def convert_physics(conversion: Conversion) -> None:
    """Write bodies, joints, drives and contacts of the model, after bodies and geoms."""
    model, report = conversion.model, conversion.report
    physics = _Physics(
        conversion,
        joint_drives(model, report),
        {info.body_id: info for info in conversion.bodies if info.body_id != WORLD},
        frozenset(mocap_bodies(model)),
    )
    trees = link_trees(model)
    held = {tree.base for tree in trees}
    for body in sorted(physics.mocap - held):
        api = physics.rigid(
            physics.bodies[body].path, merged_mass(model, conversion.rest, body, ()) or NOMINAL
        )
        api.CreateKinematicEnabledAttr(True)
    for tree in trees:
        _convert_tree(physics, tree)
    scope = conversion.child_path("/World", "physics", "physics", 0)
    convert_contacts(conversion, scope)
    closed = convert_equalities(conversion, scope, physics.joints)
    if any(len(tree.links) > 1 for tree in trees):
        report.approximated.append(
            "articulations: their own links do not collide with each other, as the boxes around "
            "them overlap"
        )
    for body in np.flatnonzero(np.asarray(model.body_gravcomp) != 0).tolist():
        report.left_out.append(
            f"gravity compensation of body {conversion.name(mujoco.mjtObj.mjOBJ_BODY, body)}"
        )
    report.counts_in |= {"joints": model.njnt, "equalities": model.neq, "actuators": model.nu}
    report.counts_out |= {
        "joints": len(physics.joints) + physics.free,
        "equalities": closed,
        "actuators": driving_actuators(model),
        "joint drives": sum(joint in physics.joints for joint in physics.drives),
        "rigid links": physics.links,
        "articulations": sum(tree.articulated for tree in trees),
    }


def _convert_tree(physics: _Physics, tree: Tree) -> None:
    base = None if tree.base is None else _base(physics, tree)
    for link in tree.links:
        if link.carrier is None:
            carrier = None
        elif link.carrier == tree.base:
            carrier = base
        else:
            carrier = physics.end(link.carrier)
        _convert_link(physics, link, carrier)
    if base is None and tree.articulated:
        floating = physics.conversion.stage.GetPrimAtPath(physics.end(tree.links[0].body).path)
        _articulate(floating)


def _base(physics: _Physics, tree: Tree) -> JointEnd:
    """Hold the body that a tree hangs on, the root of its articulation."""
    conversion, first = physics.conversion, tree.links[0].body
    if tree.base in physics.mocap:
        name = conversion.name(mujoco.mjtObj.mjOBJ_BODY, tree.base)
        conversion.report.approximated.append(
            f"body {name}: a user moves it; what hangs on it by joints follows in no engine"
        )
    if tree.base is None or tree.base == WORLD:
        path = physics.new(first, "base_link", "base_link", first)
        UsdGeom.Xform.Define(conversion.stage, path).AddTransformOp().Set(matrix_value(np.eye(4)))
        end, mass, owner = JointEnd(path, np.eye(4)), NOMINAL, first
    else:
        end, owner = physics.end(tree.base), tree.base
        below = fixed_below(conversion.model, tree.base)
        mass = merged_mass(conversion.model, conversion.rest, tree.base, below) or NOMINAL
    path = str(end.path)
    physics.rigid(path, mass)
    joint = physics.fix(f"{path.rsplit('/', 1)[1]}_to_world", WORLD_END, end, owner)
    _articulate(joint.GetPrim())
    return end


def _articulate(prim: Usd.Prim) -> None:
    """Make a prim the root of an articulation."""
    UsdPhysics.ArticulationRootAPI.Apply(prim)
    for schema, attribute in (
        ("NewtonArticulationRootAPI", "newton:selfCollisionEnabled"),
        ("PhysxArticulationAPI", "physxArticulation:enabledSelfCollisions"),
    ):
        prim.AddAppliedSchema(schema)
        prim.CreateAttribute(attribute, Sdf.ValueTypeNames.Bool, custom=False).Set(False)


def _convert_link(physics: _Physics, link: Link, carrier: JointEnd | None) -> None:
    """Write a link, the joints that carry it and the bodies welded to it."""
    conversion, model = physics.conversion, physics.conversion.model
    mass = merged_mass(model, conversion.rest, link.body, link.followers) or NOMINAL
    end = physics.end(link.body)
    physics.rigid(str(end.path), mass)
    physics.links += 1
    if carrier is None:
        physics.free += 1
        prim = conversion.stage.GetPrimAtPath(str(end.path))
        prim.AddAppliedSchema("PhysxRigidBodyAPI")
        attribute = "physxRigidBody:maxDepenetrationVelocity"
        speed = prim.CreateAttribute(attribute, Sdf.ValueTypeNames.Float, custom=False)
        speed.Set(_MAX_DEPENETRATION)
    else:
        _convert_joints(physics, link, carrier, end, mass)
    for follower in link.followers:
        info = physics.bodies[follower]
        physics.rigid(info.path, mass.follower())
        physics.fix(f"{info.path.rsplit('/', 1)[1]}_weld", end, physics.end(follower), follower)


def _convert_joints(
    physics: _Physics, link: Link, carrier: JointEnd, end: JointEnd, mass: MassProperties
) -> None:
    """Write the joints of a link, with a link between each two of them."""
    conversion = physics.conversion
    ends = [carrier]
    for number in link.joints[:-1]:
        path = physics.new(link.body, None, "link_after_joint", number)
        xform = UsdGeom.Xform.Define(conversion.stage, path)
        xform.AddTransformOp().Set(matrix_value(end.pose))
        physics.rigid(path, mass.follower())
        ends.append(JointEnd(path, end.pose))
    ends.append(end)
    for number, (first, second) in zip(link.joints, pairwise(ends), strict=True):
        name = conversion.name(mujoco.mjtObj.mjOBJ_JOINT, number)
        path = physics.new(link.body, name, "joint", number)
        convert_joint(conversion, path, number, first, second, physics.drives.get(number))
        physics.joints[number] = path
    if len(link.joints) > 1:
        conversion.report.approximated.append(
            f"body {physics.bodies[link.body].name}: it has {len(link.joints)} joints; a link of "
            f"{FOLLOWER_SHARE:g} of its mass stands between each two"
        )
