from __future__ import annotations

import mujoco
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scenes.stage.matrices import (
    looking_along,
    quaternion_from_rotation,
    rigid,
    rigid_inverse,
    rotation_from_quaternion,
)

COORDINATE = st.floats(-1, 1, allow_nan=False, allow_subnormal=False)
VECTOR = st.tuples(COORDINATE, COORDINATE, COORDINATE).filter(lambda v: np.linalg.norm(v) > 1e-3)
QUATERNION = st.tuples(COORDINATE, COORDINATE, COORDINATE, COORDINATE).filter(
    lambda q: np.linalg.norm(q) > 1e-3
)


@given(QUATERNION)
def test_rotation_of_a_quaternion_is_mujocos(quaternion: tuple[float, ...]) -> None:
    unit = np.array(quaternion) / np.linalg.norm(quaternion)
    expected = np.zeros(9)
    mujoco.mju_quat2Mat(expected, unit)
    assert np.allclose(rotation_from_quaternion(unit), expected.reshape(3, 3), atol=1e-12)


@given(QUATERNION)
def test_quaternion_comes_back_with_positive_w(quaternion: tuple[float, ...]) -> None:
    unit = np.array(quaternion) / np.linalg.norm(quaternion)
    again = quaternion_from_rotation(rotation_from_quaternion(unit))
    assert again[0] >= 0
    assert abs(again @ unit) > 1 - 1e-9


@given(QUATERNION, VECTOR)
def test_inverse_undoes_a_rigid_transform(
    quaternion: tuple[float, ...], position: tuple[float, ...]
) -> None:
    rotation = rotation_from_quaternion(np.array(quaternion) / np.linalg.norm(quaternion))
    T = rigid(position, rotation.ravel())
    assert np.allclose(rigid_inverse(T) @ T, np.eye(4), atol=1e-12)


@given(VECTOR)
def test_looking_along_turns_minus_z_to_the_direction(direction: tuple[float, ...]) -> None:
    R = looking_along(direction)
    assert np.allclose(-R[:, 2], np.array(direction) / np.linalg.norm(direction))
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) > 0.999
