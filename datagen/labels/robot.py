"""The robot's configuration in a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datagen.labels.affine import Floats, compose
from scenes import SampleLayer
from scenes.stage.info import RobotInfo
from scenes.stage.matrices import quaternion_from_rotation


@dataclass(frozen=True)
class RobotLabel:
    """Where the robot stands."""

    joint_positions: Floats
    """Arm joints in the order of the scene's robot table [rad or m], [n]."""
    gripper_positions: Floats
    """Gripper joints in the order of the table [rad or m], [m]."""
    ee_pose: Floats
    """End effector in the world: position [m], then quaternion wxyz with w >= 0, [7]."""


def robot_label(robot: RobotInfo, sample: SampleLayer) -> RobotLabel:
    """State the robot's configuration in a sample."""
    qpos = sample.state.qpos
    T_world_ee = compose(sample.pose(robot.ee_body), np.array(robot.T_body_ee))
    return RobotLabel(
        joint_positions=qpos[list(robot.joint_qpos)],
        gripper_positions=qpos[list(robot.gripper_qpos)],
        ee_pose=np.concatenate([T_world_ee[:3, 3], quaternion_from_rotation(T_world_ee[:3, :3])]),
    )
