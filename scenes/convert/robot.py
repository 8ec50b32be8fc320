"""What is needed to state a robot's configuration and its end effector."""

from __future__ import annotations

import mujoco
import numpy as np

from scenes.convert.conversion import Conversion
from scenes.stage.info import RobotInfo
from scenes.stage.matrices import rigid_inverse


def robot_info(conversion: Conversion) -> RobotInfo | None:
    """Find the robot that the source describes; None where it describes none.

    Raises:
        SceneError: The model has no body, site or joint of that name.
    """
    description = conversion.description
    if description.ee_body is None or description.ee_site is None:
        return None
    body = conversion.index(mujoco.mjtObj.mjOBJ_BODY, description.ee_body)
    site = conversion.index(mujoco.mjtObj.mjOBJ_SITE, description.ee_site)
    T_body_world = rigid_inverse(conversion.body_pose(body))
    T_body_ee = np.eye(4)
    T_body_ee[:3, 3] = (T_body_world @ np.append(conversion.rest.site_xpos[site], 1.0))[:3]
    return RobotInfo(
        joints=description.robot_joints,
        joint_qpos=_qpos(conversion, description.robot_joints),
        gripper_joints=description.gripper_joints,
        gripper_qpos=_qpos(conversion, description.gripper_joints),
        ee_body=conversion.body_path(body),
        T_body_ee=tuple(tuple(map(float, row)) for row in T_body_ee),
    )


def _qpos(conversion: Conversion, joints: tuple[str, ...]) -> tuple[int, ...]:
    model, kind = conversion.model, mujoco.mjtObj.mjOBJ_JOINT
    return tuple(int(model.jnt_qposadr[conversion.index(kind, joint)]) for joint in joints)
