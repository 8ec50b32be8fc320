from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from pxr import Gf, Usd, UsdPhysics

from datagen.configuration.config import cache_folder
from scenes import Scene, convert_mjcf, libero_bundle, libero_scene
from scenes.sources.mjcf.config import MjcfConfig

if importlib.util.find_spec("newton") is None:
    pytest.skip(
        "the newton extra is not installed: pip install -e '.[newton,dev]'",
        allow_module_level=True,
    )

import newton
import warp

warp.config.log_level = warp.LOG_ERROR

pytestmark = pytest.mark.newton

Floats = NDArray[np.float64]

# Joints with references, several on one body, a ball, a floating tree, one off the world.
TOYS = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="box" pos="1 .2 .3" euler="0 0 .7">
      <geom type="box" size=".2 .2 .02"/>
      <body name="drawer" pos="0 .02 .1">
        <joint name="drawer" type="slide" axis="0 -1 0" ref=".05" range=".04 .25"/>
        <geom type="box" size=".1 .1 .03"/>
      </body>
      <body name="door" pos=".2 0 .1">
        <joint name="door" axis="0 0 1" pos="0 .1 0" ref=".3" range="-.5 2"/>
        <geom type="box" size=".01 .1 .1"/>
      </body>
    </body>
    <body name="arm" pos="-.5 0 .2" euler=".2 .1 0">
      <joint name="swing" axis=".3 -.5 .8" pos=".02 -.01 .05" ref=".4" range="-.2 1.1"/>
      <geom type="capsule" size=".03" fromto="0 0 0 .3 0 .1"/>
      <body name="hand" pos=".3 0 .1" euler="0 .5 .3">
        <geom size=".03"/>
        <body name="finger" pos=".12 .02 0" euler=".3 0 0">
          <joint name="out" type="slide" axis="0 1 0" range="0 .04"/>
          <joint name="bend" axis="1 0 0" pos="0 0 -.01" range="-1 1"/>
          <geom type="box" size=".03 .01 .01" pos=".03 0 0"/>
          <body name="tip" pos=".07 0 0"><joint name="tip" type="ball"/><geom size=".015"/></body>
        </body>
      </body>
    </body>
    <body name="cup" pos="0 1 .5" euler=".3 0 .2"><freejoint/><geom size=".05"/>
      <body name="lid" pos="0 0 .06"><joint name="lid" axis="0 1 0" range="0 2"/>
        <geom type="cylinder" size=".05 .005"/></body></body>
    <body name="ball" pos="0 -1 .5"><freejoint/><geom size=".05"/></body>
  </worldbody>
  <keyframe><key name="posed" qpos=".2 1.1 -.1 .03 .7 .6 0 .8 0 0.3 1 .6 0 0 .6 .8 1.5
    .1 -1 .4 1 0 0 0"/></keyframe>
</mujoco>
"""


class Loaded:
    """A stage in Newton beside its model in MuJoCo."""

    def __init__(self, scene: Scene, stage: Usd.Stage) -> None:
        self.scene, self.reference = scene, scene.load_model()
        builder = newton.ModelBuilder()
        resolvers: list[Any] = [
            newton.usd.SchemaResolverNewton(),
            newton.usd.SchemaResolverPhysx(),
        ]
        builder.add_usd(stage, schema_resolvers=resolvers, load_visual_shapes=False)
        self.model: Any = builder.finalize(device="cpu")
        self.body_ids = {info.path: info.body_id for info in scene.info.bodies}
        self.address = self._addresses(stage)

    def _addresses(self, stage: Usd.Stage) -> dict[int, int]:
        """Start in Newton's coordinates for each joint of MuJoCo."""
        starts, children = self.model.joint_q_start.numpy(), self.model.joint_child.numpy()
        found: dict[int, int] = {}
        for index, path in enumerate(self.model.joint_label):
            prim = stage.GetPrimAtPath(path)
            source = (prim.GetCustomDataByKey("datagen") or {}) if prim else {}
            if source.get("kind") == "joint":
                found[int(source["id"])] = int(starts[index])
                continue
            body = self.body_ids.get(self.model.body_label[children[index]], 0)
            joint = int(self.reference.body_jntadr[body])
            kind = self.model.joint_type.numpy()[index]
            if joint >= 0 and kind == newton.JointType.FREE:
                found[joint] = int(starts[index])
        return found

    def distance(self, rng: np.random.Generator, count: int) -> float:
        """Largest distance of a link from where MuJoCo has it [m], in random configurations."""
        reference, data = self.reference, mujoco.MjData(self.reference)
        worst = 0.0
        for _ in range(count):
            q = self.model.joint_q.numpy().copy()
            for joint, start in self.address.items():
                mine, theirs = self._draw(rng, joint)
                address = reference.jnt_qposadr[joint]
                data.qpos[address : address + len(mine)] = mine
                q[start : start + len(theirs)] = theirs
            mujoco.mj_kinematics(reference, data)
            state = self.model.state()
            positions = warp.array(q, dtype=float, device="cpu")
            newton.eval_fk(self.model, positions, self.model.joint_qd, state)
            got = state.body_q.numpy()
            for index, path in enumerate(self.model.body_label):
                if path in self.body_ids:
                    off = got[index, :3] - data.xpos[self.body_ids[path]]
                    worst = max(worst, float(np.linalg.norm(off)))
        return worst

    def _draw(self, rng: np.random.Generator, joint: int) -> tuple[Floats, Floats]:
        """Position of a joint in MuJoCo's coordinates and in Newton's."""
        reference = self.reference
        kind = reference.jnt_type[joint]
        if kind in (mujoco.mjtJoint.mjJNT_FREE.value, mujoco.mjtJoint.mjJNT_BALL.value):
            turn = rng.normal(size=4)
            turn /= np.linalg.norm(turn)
            free = kind == mujoco.mjtJoint.mjJNT_FREE.value
            place = rng.uniform(-1, 1, 3) if free else np.empty(0)
            return np.concatenate([place, turn]), np.concatenate([place, turn[[1, 2, 3, 0]]])
        low, high = reference.jnt_range[joint] if reference.jnt_limited[joint] else (-2.0, 2.0)
        value = rng.uniform(low, high)
        return np.array([value]), np.array([value - reference.qpos0[reference.jnt_qposadr[joint]]])

    def limit_error(self) -> float:
        """Largest difference of a limit [rad or m]."""
        low, high = self.model.joint_limit_lower.numpy(), self.model.joint_limit_upper.numpy()
        starts = dict(
            zip(self.model.joint_q_start.numpy(), self.model.joint_qd_start.numpy(), strict=False)
        )
        worst = 0.0
        for joint in np.flatnonzero(self.reference.jnt_limited).tolist():
            dof = starts[self.address[joint]]
            offset = self.reference.qpos0[self.reference.jnt_qposadr[joint]]
            want = self.reference.jnt_range[joint] - offset
            worst = max(worst, float(np.abs(want - [low[dof], high[dof]]).max()))
        return worst


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("toys")
    (folder / "toys.xml").write_text(TOYS)
    return convert_mjcf(folder / "toys.xml", folder / "out")


def base(scene: Scene) -> Usd.Stage:
    return Usd.Stage.Open(str(scene.folder / "base.usdc"))


def test_links_stand_where_mujocos_do(toys: Scene) -> None:
    loaded = Loaded(toys, base(toys))
    assert set(loaded.address) == set(range(loaded.reference.njnt))
    assert loaded.distance(np.random.default_rng(0), 20) < 1e-5
    assert loaded.limit_error() < 1e-6


def test_a_state_s_layers_load_as_mujocos_configuration(tmp_path: Path) -> None:
    (tmp_path / "toys.xml").write_text(TOYS)
    source = MjcfConfig(path=tmp_path / "toys.xml", keyframe="posed")
    scene = convert_mjcf(source.path, tmp_path / "out", source=source)
    loaded = Loaded(scene, Usd.Stage.Open(str(scene.folder / "scene.usda")))
    qpos = scene.state("posed").qpos
    got = loaded.model.joint_q.numpy()
    scalar = [joint for joint in scene.info.joints if joint.kind != "ball"]
    assert [joint.name for joint in scalar] == ["drawer", "door", "swing", "out", "bend", "lid"]
    for joint in scalar:
        want = qpos[joint.qpos] - loaded.reference.qpos0[joint.qpos]
        assert got[loaded.address[joint.joint_id]] == pytest.approx(want, abs=1e-6), joint.name
    # No engine reads a ball's position from its state: what hangs on it is left out.
    data = mujoco.MjData(loaded.reference)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(loaded.reference, data)
    state = loaded.model.state()
    newton.eval_fk(loaded.model, loaded.model.joint_q, loaded.model.joint_qd, state)
    poses = state.body_q.numpy()
    for index, path in enumerate(loaded.model.body_label):
        body = loaded.body_ids.get(path)
        if body and not path.endswith("/tip"):
            np.testing.assert_allclose(poses[index, :3], data.xpos[body], atol=1e-5, err_msg=path)


def test_a_joint_frame_shifted_by_a_millimetre_shows(toys: Scene) -> None:
    stage = base(toys)
    drawer = UsdPhysics.Joint(stage.GetPrimAtPath("/World/box/joints/drawer"))
    drawer.GetLocalPos0Attr().Set(drawer.GetLocalPos0Attr().Get() + Gf.Vec3f(1e-3, 0, 0))
    shifted = Loaded(toys, stage).distance(np.random.default_rng(0), 3)
    assert shifted == pytest.approx(1e-3, rel=0.01)


@pytest.mark.libero
def test_links_limits_and_masses_of_a_libero_scene_are_mujocos() -> None:
    cache = cache_folder()
    scene, _ = libero_scene(libero_bundle("libero_spatial", 0, cache=cache), [0], "stored", cache)
    loaded = Loaded(scene, base(scene))
    reference = loaded.reference
    assert set(loaded.address) == set(range(reference.njnt))
    assert loaded.distance(np.random.default_rng(0), 20) < 1e-5
    assert loaded.limit_error() < 1e-6
    masses = dict(zip(loaded.model.body_label, loaded.model.body_mass.numpy(), strict=True))
    for path, body in loaded.body_ids.items():
        if body and reference.body_jntnum[body]:
            want = reference.body_mass[reference.body_weldid == body].sum()
            assert masses[path] == pytest.approx(want, rel=1e-6), path
