from __future__ import annotations

import mujoco
import numpy as np
import pytest

from scenes.errors import SceneError
from scenes.sources.libero.settle import REST_SPEED, settle

BOX_OVER_FLOOR = """
<mujoco>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body name="arm" pos="1 0 1"><joint name="hinge" axis="1 0 0"/>
      <geom type="capsule" fromto="0 0 0 0 .3 0" size=".02"/></body>
    <body name="box" pos="0 0 .2"><freejoint name="free"/>
      <geom type="box" size=".05 .05 .03"/></body>
  </worldbody>
</mujoco>"""

SPRING = """
<mujoco>
  <worldbody>
    <body>
      <joint name="slide" type="slide" axis="0 0 1" stiffness="{stiffness}" damping="{damping}"/>
      <geom type="sphere" size=".05" mass="{mass}" contype="0" conaffinity="0"/></body>
  </worldbody>
</mujoco>"""


def model_and_state(xml: str) -> tuple[mujoco.MjModel, np.ndarray]:
    model = mujoco.MjModel.from_xml_string(xml)
    return model, np.concatenate([[0.0], model.qpos0, np.zeros(model.nv)])


def test_a_box_comes_to_rest_on_the_floor() -> None:
    model, state = model_and_state(BOX_OVER_FLOOR)
    settled = settle(model, state, [0])
    np.testing.assert_allclose(settled.qpos[1:4], [0, 0, 0.03], atol=1e-3)
    np.testing.assert_allclose(settled.qpos[4:8], [1, 0, 0, 0], atol=1e-3)
    assert settled.speed < REST_SPEED
    assert settled.steps == 500


def test_a_held_joint_keeps_its_bits_and_a_free_one_falls() -> None:
    model, state = model_and_state(BOX_OVER_FLOOR)
    state[1] = 0.1234567890123
    assert settle(model, state, [0]).qpos[0] == 0.1234567890123
    with pytest.raises(SceneError, match="'hinge' still moves"):
        settle(model, state, [], max_steps=500)


def test_a_spring_rests_where_it_carries_the_weight() -> None:
    model, state = model_and_state(SPRING.format(stiffness=200, damping=40, mass=2))
    settled = settle(model, state, [])
    np.testing.assert_allclose(settled.qpos, [-2 * 9.81 / 200], rtol=1e-3)


def test_what_still_moves_gets_more_steps() -> None:
    # Time constant 0.4 s: 5 mm/s is reached after more than one second.
    model, state = model_and_state(SPRING.format(stiffness=100, damping=40, mass=2))
    settled = settle(model, state, [])
    assert settled.steps in (1000, 1500)
    np.testing.assert_allclose(settled.qpos, [-2 * 9.81 / 100], rtol=1e-2)


def test_the_same_call_gives_the_same_bytes_and_leaves_the_state_alone() -> None:
    model, state = model_and_state(BOX_OVER_FLOOR)
    state[5:9] = [0.9, 0.3, 0.1, 0.2]
    before = state.tobytes()
    first, second = settle(model, state, [0]), settle(model, state, [0])
    assert first.qpos.tobytes() == second.qpos.tobytes()
    assert state.tobytes() == before


def test_an_endless_fall_is_refused_with_the_joint_and_its_speed() -> None:
    model, state = model_and_state(BOX_OVER_FLOOR.replace('type="plane"', 'type="sphere"'))
    state[2] = 5.0
    with pytest.raises(SceneError, match=r"joint 'free' still moves at [0-9.]+ m/s after 1000"):
        settle(model, state, [0], max_steps=1000)


def test_a_diverging_state_is_refused_though_mujoco_resets_it() -> None:
    model, state = model_and_state(BOX_OVER_FLOOR)
    state[1 + model.nq + 1] = 1e12
    with pytest.raises(SceneError, match="diverged at step 1"):
        settle(model, state, [0])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_non_finite_state_is_refused_with_its_index(value: float) -> None:
    model, state = model_and_state(BOX_OVER_FLOOR)
    state[3] = value
    with pytest.raises(SceneError, match="index 3"):
        settle(model, state, [0])


@pytest.mark.parametrize(
    ("held", "message"),
    [([1, 2], "'free' can only be held whole"), ([0, 8], r"held qpos \[8\] do not exist")],
)
def test_joints_that_cannot_be_held_are_refused(held: list[int], message: str) -> None:
    model, state = model_and_state(BOX_OVER_FLOOR)
    with pytest.raises(SceneError, match=message):
        settle(model, state, held)


def test_a_state_of_another_model_is_refused() -> None:
    model, state = model_and_state(BOX_OVER_FLOOR)
    with pytest.raises(SceneError, match=r"\(15,\) does not fit the model: \(16,\)"):
        settle(model, state[:-1], [0])
