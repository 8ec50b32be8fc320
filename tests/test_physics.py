from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from pxr import Usd, UsdGeom, UsdPhysics, UsdShade, UsdValidation

from scenes import Scene, convert_mjcf, matrix_array
from scenes.convert.physics.masses import FOLLOWER_SHARE
from scenes.stage.matrices import rigid, rigid_inverse, rotation_from_quaternion

# A shelf with two drawers, an arm of awkward joints, and things that lie about.
WORKSHOP = """
<mujoco>
  <compiler angle="radian" fusestatic="{fuse}"/>
  <option gravity="0 .3 -9"/>
  <default><geom contype="1" conaffinity="1"/></default>
  <worldbody>
    <geom name="floor" type="box" size="2 2 .1" pos="0 0 -.1" friction=".5 .01 .001"/>
    <body name="shelf" pos="1 .2 .3" euler="0 0 .7">
      <geom type="box" size=".2 .2 .02" mass="5"/>
      <body name="plinth" pos="0 0 -.2"><geom type="box" size=".2 .2 .1" mass="2"/></body>
      <body name="upper" pos="0 .02 .1">
        <joint name="upper" type="slide" axis="0 -1 0" range="-.01 .2"/>
        <geom type="box" size=".1 .1 .03"/>
      </body>
      <body name="lower" pos="0 .02 .03">
        <joint name="lower" type="slide" axis="0 -1 0" ref=".05" range=".04 .25" damping="3"
          armature=".2" frictionloss=".4" stiffness="7" springref=".06"/>
        <geom type="box" size=".1 .1 .03"/>
      </body>
    </body>
    <body name="arm" pos="-.5 0 .2" euler=".2 .1 0">
      <joint name="swing" axis=".3 -.5 .8" pos=".02 -.01 .05" ref=".4" range="-.2 1.1"
        damping="2"/>
      <geom type="capsule" size=".03" fromto="0 0 0 .3 0 .1" friction="2 .02 .002"/>
      <body name="hand" pos=".3 0 .1" euler="0 .5 .3">
        <geom type="box" size=".05 .03 .02" pos=".05 0 0"/>
        <body name="palm" pos=".1 0 0"><geom size=".03"/></body>
        <body name="finger" pos=".12 .02 0" euler=".3 0 0">
          <joint name="out" type="slide" axis="0 1 0" range="0 .04"/>
          <joint name="bend" axis="1 0 0" pos="0 0 -.01" range="-1 1"/>
          <joint name="twist" axis="0 0 1" ref="-.2"/>
          <geom type="box" size=".03 .01 .01" pos=".03 0 0"/>
          <body name="tip" pos=".07 0 0"><joint name="tip" type="ball"/><geom size=".015"/></body>
        </body>
      </body>
    </body>
    <body name="cup" pos="0 1 .5" euler=".3 0 .2"><freejoint name="cup"/><geom size=".05"/>
      <body name="lid" pos="0 0 .06"><joint name="lid" axis="0 1 0" range="0 2"/>
        <geom type="cylinder" size=".05 .005"/></body></body>
    <body name="ball" pos="0 -1 .5"><freejoint/>
      <geom size=".05" contype="3" conaffinity="1"/></body>
    <body name="target" mocap="true" pos="0 0 2"><geom size=".02"/></body>
  </worldbody>
  <actuator>
    <position name="drawer" joint="lower" kp="100" kv="4" gear="2" ctrlrange=".1 .2"
      forcerange="-30 30"/>
    <motor name="torque" joint="swing" gear="3" ctrlrange="-5 5"/>
    <position name="bend" joint="bend" kp="10" ctrlrange="-1 1"/>
    <general name="slow" joint="out" dyntype="integrator" actlimited="false"/>
    <motor name="ball" joint="tip" gear="1 0 0"/>
  </actuator>
  <equality>
    <joint name="pair" joint1="lower" joint2="upper" polycoef=".01 -.5 0 0 0"/>
    <joint name="curve" joint1="lower" joint2="upper" polycoef="0 1 2 0 0"/>
    <connect name="chain" body1="cup" body2="ball" anchor=".1 0 .2"/>
    <weld name="glue" body1="target" body2="ball" relpose=".1 .2 .3 .8 .6 0 0"/>
    <weld name="idle" body1="cup" body2="ball" active="false"/>
  </equality>
  <contact><exclude body1="cup" body2="shelf"/></contact>
  <tendon><fixed name="string"><joint joint="upper" coef="1"/></fixed></tendon>
</mujoco>
"""
JOINTS = ("upper", "lower", "swing", "out", "bend", "twist", "tip", "lid")
Poses = dict[str, NDArray[np.float64]]


def text(fuse: str = "false") -> str:
    return WORKSHOP.format(fuse=fuse)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("workshop")
    (folder / "workshop.xml").write_text(text())
    return convert_mjcf(folder / "workshop.xml", folder / "out")


@pytest.fixture
def convert(tmp_path: Path) -> Callable[[str], Scene]:
    def run(model: str) -> Scene:
        (tmp_path / "model.xml").write_text(model)
        return convert_mjcf(tmp_path / "model.xml", tmp_path / "out")

    return run


def base(scene: Scene) -> Usd.Stage:
    return Usd.Stage.Open(str(scene.folder / "base.usdc"))


def report(scene: Scene) -> dict[str, list[str]]:
    return json.loads((scene.folder / "report.json").read_text(encoding="utf-8"))


def body(scene: Scene, name: str) -> Usd.Prim:
    path = next(info.path for info in scene.info.bodies if info.name == name)
    return scene.stage.GetPrimAtPath(path)


def joints(stage: Usd.Stage) -> dict[str, Usd.Prim]:
    """Joints that came from the model, by their names there."""
    found = {}
    for prim in stage.Traverse():
        source = prim.GetCustomDataByKey("datagen") or {}
        if source.get("kind") == "joint":
            found[source["name"]] = prim
    return found


def frame(joint: UsdPhysics.Joint, end: int) -> NDArray[np.float64]:
    position = joint.GetLocalPos0Attr() if end == 0 else joint.GetLocalPos1Attr()
    rotation = (joint.GetLocalRot0Attr() if end == 0 else joint.GetLocalRot1Attr()).Get()
    quaternion = [rotation.GetReal(), *rotation.GetImaginary()]
    return rigid(position.Get(), rotation_from_quaternion(quaternion))


def motion(prim: Usd.Prim, position: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """What a joint does to its second frame; position in degrees, metres or as a quaternion."""
    if prim.IsA(UsdPhysics.PrismaticJoint):
        return rigid([position, 0, 0], np.eye(3))
    if prim.IsA(UsdPhysics.RevoluteJoint):
        half = np.deg2rad(position) / 2
        position = np.array([np.cos(half), np.sin(half), 0, 0])
    return rigid(np.zeros(3), rotation_from_quaternion(position))


def poses_by_joints(
    stage: Usd.Stage, known: Poses, positions: dict[str, float | NDArray[np.float64]]
) -> Poses:
    """Poses of all bodies that joints hang on others, from the joints alone."""
    waiting = {
        str(prim.GetPath()): UsdPhysics.Joint(prim)
        for prim in stage.Traverse()
        if prim.IsA(UsdPhysics.Joint)
        and not UsdPhysics.Joint(prim).GetExcludeFromArticulationAttr().Get()
    }
    poses = dict(known)
    for _ in range(len(waiting)):
        for path, joint in list(waiting.items()):
            parents = joint.GetBody0Rel().GetTargets()
            parent = np.eye(4) if not parents else poses.get(str(parents[0]))
            if parent is None:
                continue
            prim = joint.GetPrim()
            fixed = prim.IsA(UsdPhysics.FixedJoint)
            move = np.eye(4) if fixed else motion(prim, positions[path])
            child = str(joint.GetBody1Rel().GetTargets()[0])
            poses[child] = parent @ frame(joint, 0) @ move @ rigid_inverse(frame(joint, 1))
            del waiting[path]
    assert not waiting
    return poses


def test_joint_frames_put_every_body_where_mujoco_does(workshop: Scene) -> None:
    model, stage = workshop.load_model(), base(workshop)
    data, found = mujoco.MjData(model), joints(stage)
    assert set(found) == set(JOINTS)
    rng = np.random.default_rng(3)
    for _ in range(5):
        data.qpos[:] = model.qpos0
        positions: dict[str, float | NDArray[np.float64]] = {}
        for name, prim in found.items():
            number = model.joint(name).id
            assert prim.GetCustomDataByKey("datagen")["id"] == number
            address, path = model.jnt_qposadr[number], str(prim.GetPath())
            if name == "tip":
                turn = rng.normal(size=4)
                data.qpos[address : address + 4] = positions[path] = turn / np.linalg.norm(turn)
                continue
            data.qpos[address] = rng.uniform(-1, 1)
            offset = float(data.qpos[address] - model.qpos0[address])
            hinge = prim.IsA(UsdPhysics.RevoluteJoint)
            positions[path] = float(np.rad2deg(offset)) if hinge else offset
        mujoco.mj_kinematics(model, data)
        free = {info.path: info.body_id for info in workshop.info.bodies if info.free}
        known = {path: rigid(data.xpos[k], data.xmat[k]) for path, k in free.items()}
        poses = poses_by_joints(stage, known, positions)
        reached = [info for info in workshop.info.bodies if info.path in poses]
        assert len(reached) == 11
        for info in reached:
            k = info.body_id
            want = rigid(data.xpos[k], data.xmat[k])
            np.testing.assert_allclose(poses[info.path], want, atol=2e-6, err_msg=info.name)


def test_limits_are_counted_from_qpos0_in_degrees_and_metres(workshop: Scene) -> None:
    found = joints(workshop.stage)
    for name, low, high in (
        ("upper", -0.01, 0.2),
        ("lower", -0.01, 0.2),
        ("swing", np.rad2deg(-0.6), np.rad2deg(0.7)),
        ("bend", np.rad2deg(-1), np.rad2deg(1)),
        ("twist", -np.inf, np.inf),
    ):
        prim = found[name]
        assert prim.GetAttribute("physics:lowerLimit").Get() == pytest.approx(low, rel=1e-6), name
        assert prim.GetAttribute("physics:upperLimit").Get() == pytest.approx(high, rel=1e-6), name
        assert prim.GetAttribute("physics:axis").Get() == "X"
        kind = "angular" if prim.IsA(UsdPhysics.RevoluteJoint) else "linear"
        assert prim.GetAttribute(f"state:{kind}:physics:position").Get() == 0.0


def test_masses_are_those_of_mujoco_with_welded_bodies_merged(workshop: Scene) -> None:
    fused = mujoco.MjModel.from_xml_string(text("true"))
    data = mujoco.MjData(fused)
    mujoco.mj_kinematics(fused, data)
    for name in ("upper", "lower", "arm", "finger", "tip", "cup", "lid", "ball"):
        k, prim = fused.body(name).id, body(workshop, name)
        api = UsdPhysics.MassAPI(prim)
        assert api.GetMassAttr().Get() == pytest.approx(fused.body_mass[k], rel=1e-6), name
        np.testing.assert_allclose(api.GetCenterOfMassAttr().Get(), fused.body_ipos[k], atol=1e-7)
        axes = api.GetPrincipalAxesAttr().Get()
        R = rotation_from_quaternion([axes.GetReal(), *axes.GetImaginary()])
        got = R @ np.diag(api.GetDiagonalInertiaAttr().Get()) @ R.T
        Q = rotation_from_quaternion(fused.body_iquat[k])
        want = Q @ np.diag(fused.body_inertia[k]) @ Q.T
        np.testing.assert_allclose(got, want, atol=2e-6 * np.abs(want).max(), err_msg=name)
    shelf = UsdPhysics.MassAPI(body(workshop, "shelf"))
    assert shelf.GetMassAttr().Get() == pytest.approx(7.0)
    np.testing.assert_allclose(shelf.GetCenterOfMassAttr().Get(), [0, 0, -0.4 / 7], atol=1e-7)


def test_welded_bodies_follow_by_fixed_joints_with_hardly_any_mass(workshop: Scene) -> None:
    arm = UsdPhysics.MassAPI(body(workshop, "arm")).GetMassAttr().Get()
    for name in ("hand", "palm"):
        mass = UsdPhysics.MassAPI(body(workshop, name))
        assert mass.GetMassAttr().Get() == pytest.approx(arm * FOLLOWER_SHARE, rel=1e-6)
        assert min(mass.GetDiagonalInertiaAttr().Get()) > 0
        holders = [
            prim
            for prim in workshop.stage.Traverse()
            if prim.IsA(UsdPhysics.FixedJoint)
            and UsdPhysics.Joint(prim).GetBody1Rel().GetTargets()
            == [body(workshop, name).GetPath()]
        ]
        assert len(holders) == 1
        parent = UsdPhysics.Joint(holders[0]).GetBody0Rel().GetTargets()
        assert parent == [body(workshop, "arm").GetPath()]


def test_only_what_moves_or_carries_joints_is_a_rigid_body(workshop: Scene) -> None:
    rigid_bodies = {
        info.name
        for info in workshop.info.bodies
        if workshop.stage.GetPrimAtPath(info.path).HasAPI(UsdPhysics.RigidBodyAPI)
    }
    everything = {info.name for info in workshop.info.bodies}
    assert everything - rigid_bodies == {"body", "plinth"}
    kinematic = UsdPhysics.RigidBodyAPI(body(workshop, "target")).GetKinematicEnabledAttr().Get()
    assert kinematic
    assert not UsdPhysics.RigidBodyAPI(body(workshop, "ball")).GetKinematicEnabledAttr().Get()


def test_articulations_are_rooted_at_the_world_or_float(workshop: Scene) -> None:
    roots = [p for p in workshop.stage.Traverse() if p.HasAPI(UsdPhysics.ArticulationRootAPI)]
    assert [str(p.GetPath()) for p in roots if p.IsA(UsdGeom.Xform)] == ["/World/cup/cup"]
    held = [UsdPhysics.FixedJoint(p) for p in roots if p.IsA(UsdPhysics.FixedJoint)]
    carried = {}
    for joint in held:
        assert joint.GetBody0Rel().GetTargets() == []
        (target,) = joint.GetBody1Rel().GetTargets()
        carried[str(target)] = frame(joint, 0)
        assert workshop.stage.GetPrimAtPath(target).HasAPI(UsdPhysics.RigidBodyAPI)
    # The arm's first joint hangs off the world: it gets a link to hang on.
    assert set(carried) == {"/World/shelf/shelf", "/World/arm/joints/base_link"}
    shelf = matrix_array(body(workshop, "shelf").GetAttribute("xformOp:transform").Get())
    np.testing.assert_allclose(carried["/World/shelf/shelf"], shelf, atol=1e-6)
    assert any(
        "do not collide with each other" in line for line in report(workshop)["approximated"]
    )


def test_drives_have_gains_per_degree_and_targets_from_qpos0(workshop: Scene) -> None:
    found = joints(workshop.stage)
    drawer = UsdPhysics.DriveAPI(found["lower"], "linear")
    # force = gear (kp (ctrl - gear q) - kv gear q'), at the control nearest to 0.
    assert drawer.GetStiffnessAttr().Get() == pytest.approx(400.0)
    assert drawer.GetDampingAttr().Get() == pytest.approx(16.0)
    assert drawer.GetTargetPositionAttr().Get() == pytest.approx(0.1 / 2 - 0.05, abs=1e-7)
    assert drawer.GetMaxForceAttr().Get() == pytest.approx(60.0)
    torque = UsdPhysics.DriveAPI(found["swing"], "angular")
    assert torque.GetStiffnessAttr().Get() == torque.GetDampingAttr().Get() == 0.0
    assert torque.GetMaxForceAttr().Get() == pytest.approx(15.0)
    bend = UsdPhysics.DriveAPI(found["bend"], "angular")
    assert bend.GetStiffnessAttr().Get() == pytest.approx(10 * np.pi / 180)
    assert bend.GetMaxForceAttr().Get() == np.inf
    for name in ("upper", "out", "twist", "tip", "lid"):
        assert not any("Drive" in schema for schema in found[name].GetAppliedSchemas()), name
    left_out = report(workshop)["left_out"]
    for words in (
        "actuator slow: no drive; it has dynamics of its own",
        "actuator ball: no drive; only hinges and slides have drives",
        "spring of joint lower: no drive; it is actuated too",
    ):
        assert words in left_out


def test_a_spring_is_a_drive_where_nothing_else_drives(convert: Callable[[str], Scene]) -> None:
    scene = convert(
        "<mujoco><worldbody><body><joint name='j' stiffness='3' springref='40' ref='10'/>"
        "<geom size='.1'/></body></worldbody></mujoco>"
    )
    drive = UsdPhysics.DriveAPI(joints(scene.stage)["j"], "angular")
    assert drive.GetStiffnessAttr().Get() == pytest.approx(3 * np.pi / 180)
    assert drive.GetTargetPositionAttr().Get() == pytest.approx(30.0)


def test_armature_damping_and_friction_stand_in_both_engines_words(workshop: Scene) -> None:
    found = joints(workshop.stage)
    for attribute, want in (
        ("newton:armature", 0.2),
        ("newton:damping", 3.0),
        ("newton:friction", 0.4),
        ("physxJointAxis:linear:armature", 0.2),
        ("physxJointAxis:linear:viscousFrictionCoefficient", 3.0),
        ("physxJointAxis:linear:dynamicFrictionEffort", 0.4),
    ):
        assert found["lower"].GetAttribute(attribute).Get() == pytest.approx(want)
    assert found["swing"].GetAttribute("newton:damping").Get() == pytest.approx(2 * np.pi / 180)


def test_loops_and_couplings_are_joints_and_the_rest_is_reported(workshop: Scene) -> None:
    stage, model = base(workshop), workshop.load_model()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    chain = UsdPhysics.Joint(stage.GetPrimAtPath("/World/physics/chain"))
    assert chain.GetPrim().IsA(UsdPhysics.SphericalJoint)
    assert chain.GetExcludeFromArticulationAttr().Get()
    ends = []
    for name, end in (("cup", 0), ("ball", 1)):
        k = model.body(name).id
        ends.append((rigid(data.xpos[k], data.xmat[k]) @ frame(chain, end))[:3, 3])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)
    np.testing.assert_allclose(frame(chain, 0)[:3, 3], [0.1, 0, 0.2], atol=1e-7)
    glue = UsdPhysics.Joint(stage.GetPrimAtPath("/World/physics/glue"))
    relative = frame(glue, 0) @ rigid_inverse(frame(glue, 1))
    want = rigid([0.1, 0.2, 0.3], rotation_from_quaternion([0.8, 0.6, 0, 0]))
    np.testing.assert_allclose(relative, want, atol=1e-6)
    lower = joints(stage)["lower"]
    leader = lower.GetRelationship("newton:mimicJoint").GetTargets()
    assert leader == [joints(stage)["upper"].GetPath()]
    assert lower.GetAttribute("newton:mimicCoef0").Get() == pytest.approx(0.01)
    assert lower.GetAttribute("newton:mimicCoef1").Get() == pytest.approx(-0.5)
    left_out = report(workshop)["left_out"]
    for words in (
        "equality curve (joint): UsdPhysics has no such constraint",
        "equality idle (weld): it is not active",
        "tendon string: UsdPhysics has no tendons",
    ):
        assert words in left_out


def test_colliders_have_the_friction_of_their_geoms(workshop: Scene) -> None:
    for path, geom in (("/World/floor/body", "floor"), ("/World/arm/arm", None)):
        (collider,) = workshop.stage.GetPrimAtPath(f"{path}/collision").GetChildren()
        material, _ = UsdShade.MaterialBindingAPI(collider).ComputeBoundMaterial("physics")
        api = UsdPhysics.MaterialAPI(material.GetPrim())
        sliding, torsional = (0.5, 0.01) if geom else (2.0, 0.02)
        assert api.GetStaticFrictionAttr().Get() == pytest.approx(sliding)
        assert api.GetDynamicFrictionAttr().Get() == pytest.approx(sliding)
        got = material.GetPrim().GetAttribute("newton:torsionalFriction").Get()
        assert got == pytest.approx(torsional)


def test_shapes_meet_where_their_bits_do_and_excluded_bodies_never(
    workshop: Scene, convert: Callable[[str], Scene]
) -> None:
    filtered = UsdPhysics.FilteredPairsAPI(body(workshop, "shelf")).GetFilteredPairsRel()
    other = UsdPhysics.FilteredPairsAPI(body(workshop, "cup")).GetFilteredPairsRel()
    pairs = {*filtered.GetTargets(), *other.GetTargets()}
    assert pairs & {body(workshop, "cup").GetPath(), body(workshop, "shelf").GetPath()}
    groups = [p for p in workshop.stage.Traverse() if p.IsA(UsdPhysics.CollisionGroup)]
    assert groups == []  # All bits of the model meet.
    free = "<body><freejoint/><geom size='.1' contype='{}' conaffinity='{}'/></body>"
    kinds = ((1, 1), (2, 2), (2, 3))
    scene = convert(
        f"<mujoco><worldbody>{''.join(free.format(*kind) for kind in kinds)}</worldbody></mujoco>"
    )
    table = UsdPhysics.CollisionGroup.ComputeCollisionGroupTable(scene.stage)
    name = "/World/physics/contype_{}_conaffinity_{}"
    for first in kinds:
        for second in kinds:
            meet = bool(first[0] & second[1] or second[0] & first[1])
            assert table.IsCollisionEnabled(name.format(*first), name.format(*second)) == meet


def test_gravity_is_that_of_the_model(workshop: Scene) -> None:
    scene = UsdPhysics.Scene(workshop.stage.GetPrimAtPath("/World/physics/scene"))
    gravity = (
        np.array(scene.GetGravityDirectionAttr().Get()) * scene.GetGravityMagnitudeAttr().Get()
    )
    np.testing.assert_allclose(gravity, [0, 0.3, -9], atol=1e-6)


def test_free_bodies_leave_overlaps_slowly(workshop: Scene) -> None:
    attribute = "physxRigidBody:maxDepenetrationVelocity"
    for info in workshop.info.bodies:
        speed = workshop.stage.GetPrimAtPath(info.path).GetAttribute(attribute)
        assert bool(speed) == info.free
        assert not speed or speed.Get() == pytest.approx(0.02)


def test_counts_of_joints_and_constraints_are_reported(workshop: Scene) -> None:
    counts = report(workshop)
    assert counts["counts_in"]["joints"] == counts["counts_out"]["joints"] == 10
    assert (counts["counts_in"]["equalities"], counts["counts_out"]["equalities"]) == (5, 3)
    assert counts["counts_out"]["joint drives"] == 3
    unexpressed = [line for line in counts["left_out"] if line.startswith("actuator ")]
    expressed = counts["counts_out"]["actuators"]
    assert counts["counts_in"]["actuators"] == expressed + len(unexpressed)
    assert unexpressed
    assert counts["counts_out"]["articulations"] == 3
    assert any(line.startswith("body finger: it has 3 joints") for line in counts["approximated"])


def test_names_that_clash_get_prims_of_their_own(convert: Callable[[str], Scene]) -> None:
    scene = convert(
        "<mujoco><worldbody><body name='joints'><joint name='a b'/><geom size='.1'/>"
        "<body name='physics'><joint name='a_c'/><geom size='.1'/></body></body>"
        "<body name='a/physics'><joint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    paths = {name: str(prim.GetPath()) for name, prim in joints(scene.stage).items()}
    assert len(set(paths.values())) == 3
    assert UsdPhysics.RigidBodyAPI(scene.stage.GetPrimAtPath("/World/joints/joints"))
    for path in paths.values():
        assert UsdPhysics.Joint(scene.stage.GetPrimAtPath(path)).GetBody1Rel().GetTargets()


def test_a_stage_with_physics_passes_usds_own_validators(workshop: Scene) -> None:
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    assert any("Physics" in validator.GetMetadata().name for validator in validators)
    context = UsdValidation.ValidationContext(validators)
    for file in ("base.usdc", "scene.usda"):
        errors = context.Validate(Usd.Stage.Open(str(workshop.folder / file)))
        assert [f"{error.GetName()}: {error.GetMessage()}" for error in errors] == []
