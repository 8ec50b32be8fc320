"""States: where every body stands, as thin USD layers beside the base layer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import ArrayLike
from pxr import Sdf, Vt

from scenes.convert.compiled import pose_data
from scenes.convert.overlaps import overlapping_objects
from scenes.errors import SceneError
from scenes.finite import refuse_far
from scenes.stage.info import SceneInfo
from scenes.stage.matrices import Matrix, looking_along, matrix_value, rigid
from scenes.stage.sample import TRANSFORM
from scenes.stage.scene import state_file
from scenes.storage.digests import add_digest
from scenes.storage.temporary import temporary_file


@dataclass(frozen=True)
class Placement:
    """Where everything stands, in the coordinates of a compiled model."""

    qpos: ArrayLike
    """Generalized positions, [nq]; angles in radians."""
    mocap_pos: ArrayLike | None = None
    """Positions of the mocap bodies [m], [nmocap, 3]; None leaves them as in the model."""
    mocap_quat: ArrayLike | None = None
    """Their unit quaternions in wxyz order, [nmocap, 4]."""


def posed(model: mujoco.MjModel, placement: Placement) -> mujoco.MjData:
    """Model data with the poses of bodies, sites, cameras and lights; nothing is stepped.

    Raises:
        SceneError: The placement has the wrong length or is not finite.
    """
    data = pose_data(model)
    for name, value in vars(placement).items():
        if value is None:
            continue
        values, target = np.asarray(value, dtype=np.float64), getattr(data, name)
        if values.shape != target.shape:
            raise SceneError(
                f"state: {name} has shape {values.shape}, the model needs {target.shape}."
            )
        if not np.all(np.isfinite(values)):
            index = int(np.flatnonzero(~np.isfinite(values.ravel()))[0])
            raise SceneError(f"state: {name}[{index}] = {values.ravel()[index]} is not finite.")
        target[:] = values
    mujoco.mj_kinematics(model, data)
    # Cameras and lights may follow a centre of mass.
    mujoco.mj_comPos(model, data)
    mujoco.mj_camlight(model, data)
    return data


def light_pose(position: ArrayLike, direction: ArrayLike) -> Matrix:
    """Pose of a light [m], [4, 4], at a position, shining along a direction."""
    return rigid(position, looking_along(direction))


def write_state(
    folder: Path,
    info: SceneInfo,
    model: mujoco.MjModel,
    name: str,
    placement: Placement,
    place: str | None = None,
) -> Path:
    """Write a state of a scene; it appears whole or not at all.

    Args:
        folder: Scene folder.
        info: The scene's tables.
        model: Its compiled model.
        name: Name of the state, the layer's file name.
        placement: Where everything stands.
        place: What messages name as the source; None for the tables' own word.

    Raises:
        SceneError: The placement has the wrong length, is not finite, or reaches too far.
    """
    data = posed(model, placement)
    refuse_far(model, data, f"{place or info.source}, state {name!r}")
    layer = Sdf.Layer.CreateAnonymous(".usda")
    overlaps = [each for pair in overlapping_objects(info, model, data) for each in pair]
    layer.customLayerData = {
        "datagen": {
            "qpos": Vt.DoubleArray.FromNumpy(np.array(data.qpos)),
            "state": name,
            "overlaps": Vt.StringArray(overlaps),
        }
    }
    with Sdf.ChangeBlock():
        for body in info.bodies:
            if body.body_id:
                pose = rigid(data.xpos[body.body_id], data.xmat[body.body_id])
                _over(layer, body.path, pose)
        for camera in info.cameras:
            if follows(model.cam_mode[camera.camera_id]):
                k = camera.camera_id
                _over(layer, camera.path, rigid(data.cam_xpos[k], data.cam_xmat[k]))
        for light in info.lights:
            if follows(model.light_mode[light.light_id]):
                k = light.light_id
                _over(layer, light.path, light_pose(data.light_xpos[k], data.light_xdir[k]))
        for joint in info.joints:
            if joint.position is not None:
                prim, attribute = joint.position.split(".")
                spec = _attribute(layer, prim, attribute, Sdf.ValueTypeNames.Float)
                spec.default = joint.in_stage(float(data.qpos[joint.qpos]))
    file = state_file(name)
    target = folder / file
    target.parent.mkdir(exist_ok=True)
    temporary = temporary_file(target)
    layer.Export(str(temporary))
    temporary.replace(target)
    add_digest(folder, file)
    return target


def follows(mode: int) -> bool:
    """Tell whether a camera or light is not fixed to its body, so that it moves by state."""
    return int(mode) != mujoco.mjtCamLight.mjCAMLIGHT_FIXED


def _over(layer: Sdf.Layer, path: str, pose: Matrix) -> None:
    spec = _attribute(layer, path, TRANSFORM, Sdf.ValueTypeNames.Matrix4d)
    spec.default = matrix_value(pose)


def _attribute(
    layer: Sdf.Layer, path: str, name: str, kind: Sdf.ValueTypeName
) -> Sdf.AttributeSpec:
    return Sdf.AttributeSpec(Sdf.CreatePrimInLayer(layer, path), name, kind)
