"""Let objects fall to rest under plain MuJoCo while the robot stays where it is.

LIBERO's initial states float above the table or sit in the floor by centimetres. A stored state is
shown as it is; a settled one is the same state after one second of physics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scenes.errors import SceneError

if TYPE_CHECKING:
    import mujoco

# Values of mujoco.mjtJoint, which is not imported before it is needed.
_FREE, _BALL, _SLIDE, _HINGE = range(4)

REST_SPEED = 5e-3
"""Largest speed of anything at rest [m/s]: a quarter millimetre per frame of 20 Hz."""

REST_TURN = 5e-2
"""Largest angular speed at rest [rad/s]; bowls of meshes chatter at 0.02 for ever, in place."""


class Settled(NamedTuple):
    """Where a state comes to rest."""

    qpos: NDArray[np.float64]
    """Generalized positions, [nq]; those held are the given ones, bit for bit."""
    speed: float
    """Largest speed left [m/s]."""
    turn: float
    """Largest angular speed left [rad/s]."""
    steps: int
    """Steps taken."""


def settle(
    model: mujoco.MjModel,
    state: ArrayLike,
    held_qpos: Sequence[int],
    *,
    steps: int = 500,
    max_steps: int = 3000,
) -> Settled:
    """Step physics from a state while some joints are held; the same call gives the same bytes.

    Before every step the held positions are put back and their velocities set to zero; controls
    stay zero. One state in a few hundred has objects inside each other that fly apart; where
    something still moves after `steps`, as many follow, up to `max_steps`.

    Args:
        model: The compiled model.
        state: Time [s], qpos and qvel, [1 + nq + nv].
        held_qpos: Indices into qpos of the joints that stay put; a joint is held whole.
        steps: Steps of the model's own timestep that are always taken, at least one.
        max_steps: Steps after which a moving state is refused.

    Raises:
        SceneError: When the state does not fit, when it diverges, or when something still moves
            faster than `REST_SPEED` or `REST_TURN` after `max_steps`.
    """
    import mujoco

    if steps < 1 or max_steps < steps:
        raise SceneError(
            f"steps {steps} and max_steps {max_steps} must be 1 <= steps <= max_steps."
        )
    given = _checked_state(model, state)
    held = np.array(sorted(set(held_qpos)), dtype=np.intp)
    held_dofs = _dofs(model, held)
    turning = _turning_dofs(model)
    data = mujoco.MjData(model)
    data.time = given[0]
    data.qpos[:] = given[1 : 1 + model.nq]
    data.qvel[:] = given[1 + model.nq :]
    kept = data.qpos[held]
    taken = 0
    while True:
        for _ in range(steps):
            data.qpos[held] = kept
            data.qvel[held_dofs] = 0.0
            mujoco.mj_step(model, data)
            taken += 1
            _refuse_divergence(data, taken)
        data.qpos[held] = kept
        data.qvel[held_dofs] = 0.0
        speeds = np.abs(data.qvel)
        speed = float(speeds[~turning].max(initial=0.0))
        turn = float(speeds[turning].max(initial=0.0))
        if speed <= REST_SPEED and turn <= REST_TURN:
            return Settled(data.qpos.copy(), speed, turn, taken)
        if taken + steps > max_steps:
            break
    fastest = int((speeds / np.where(turning, REST_TURN, REST_SPEED)).argmax())
    joint = model.joint(int(model.dof_jntid[fastest])).name
    unit, bound = ("rad/s", REST_TURN) if turning[fastest] else ("m/s", REST_SPEED)
    raise SceneError(
        f"joint {joint!r} still moves at {speeds[fastest]:.3g} {unit} after {taken} steps "
        f"(at rest: {bound:g} {unit}); use the stored state."
    )


def _checked_state(model: mujoco.MjModel, state: ArrayLike) -> NDArray[np.float64]:
    given = np.asarray(state, dtype=np.float64)
    width = 1 + model.nq + model.nv
    if given.shape != (width,):
        raise SceneError(f"a state of shape {given.shape} does not fit the model: ({width},).")
    if not np.isfinite(given).all():
        index = int(np.flatnonzero(~np.isfinite(given))[0])
        raise SceneError(f"the state has a non-finite value at index {index}: {given[index]}.")
    return given


def _dofs(model: mujoco.MjModel, held: NDArray[np.intp]) -> NDArray[np.intp]:
    """Give the degrees of freedom of the joints whose positions are held."""
    widths = {_FREE: (7, 6), _BALL: (4, 3), _SLIDE: (1, 1), _HINGE: (1, 1)}
    dofs: list[int] = []
    rest = set(held.tolist())
    for joint in range(model.njnt):
        qpos_count, dof_count = widths[int(model.jnt_type[joint])]
        start = int(model.jnt_qposadr[joint])
        own = set(range(start, start + qpos_count))
        if not own & rest:
            continue
        if not own <= rest:
            name = model.joint(joint).name
            raise SceneError(f"joint {name!r} can only be held whole: qpos {sorted(own)}.")
        rest -= own
        first = int(model.jnt_dofadr[joint])
        dofs.extend(range(first, first + dof_count))
    if rest:
        raise SceneError(f"held qpos {sorted(rest)} do not exist; the model has {model.nq}.")
    return np.array(dofs, dtype=np.intp)


def _turning_dofs(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Tell which degrees of freedom are rotations, [nv]: of a free joint the last three."""
    kinds = model.jnt_type[model.dof_jntid]
    place_in_joint = np.arange(model.nv) - model.jnt_dofadr[model.dof_jntid]
    return (kinds == _BALL) | (kinds == _HINGE) | ((kinds == _FREE) & (place_in_joint >= 3))


def _refuse_divergence(data: mujoco.MjData, taken: int) -> None:
    """Notice that MuJoCo met a non-finite or huge value; it would go on from the reset model."""
    import mujoco

    for kind in ("mjWARN_BADQPOS", "mjWARN_BADQVEL", "mjWARN_BADQACC"):
        if data.warning[getattr(mujoco.mjtWarning, kind)].number:
            raise SceneError(f"the state diverged at step {taken} ({kind[7:]}).")
