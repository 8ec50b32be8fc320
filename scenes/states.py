"""States: where every body stands, as thin USD layers beside the base layer."""

from __future__ import annotations

import os
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray
from pxr import Sdf, Vt

from scenes.errors import SceneError
from scenes.info import SceneInfo
from scenes.lights import light_pose
from scenes.sample import TRANSFORM
from scenes.scene import matrix_value
from scenes.transforms import rigid


def posed(model: mujoco.MjModel, qpos: ArrayLike) -> mujoco.MjData:
    """Model data with every pose computed for a configuration; nothing is stepped.

    Raises:
        SceneError: The configuration has the wrong length or is not finite.
    """
    values = np.asarray(qpos, dtype=np.float64)
    if values.shape != (model.nq,):
        raise SceneError(f"state: qpos has shape {values.shape}, the model needs ({model.nq},).")
    if not np.all(np.isfinite(values)):
        index = int(np.flatnonzero(~np.isfinite(values))[0])
        raise SceneError(f"state: qpos[{index}] = {values[index]} is not finite.")
    data = mujoco.MjData(model)
    data.qpos[:] = values
    mujoco.mj_forward(model, data)
    return data


def write_state(
    folder: Path, info: SceneInfo, model: mujoco.MjModel, name: str, qpos: ArrayLike
) -> Path:
    """Write a state of a scene; it appears whole or not at all.

    Args:
        folder: Scene folder.
        info: The scene's tables.
        model: Its compiled model.
        name: Name of the state, the layer's file name.
        qpos: Generalized positions, [nq].
    """
    data = posed(model, qpos)
    layer = Sdf.Layer.CreateAnonymous(".usda")
    layer.customLayerData = {
        "datagen": {"qpos": Vt.DoubleArray.FromNumpy(np.array(data.qpos)), "state": name}
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
    target = folder / "states" / f"{name}.usda"
    target.parent.mkdir(exist_ok=True)
    temporary = target.with_name(f".{name}.{os.getpid()}.usda")
    layer.Export(str(temporary))
    temporary.replace(target)
    return target


def follows(mode: int) -> bool:
    """Tell whether a camera or light is not fixed to its body, so that it moves by state."""
    return int(mode) != mujoco.mjtCamLight.mjCAMLIGHT_FIXED


def _over(layer: Sdf.Layer, path: str, pose: NDArray[np.float64]) -> None:
    prim = Sdf.CreatePrimInLayer(layer, path)
    spec = Sdf.AttributeSpec(prim, TRANSFORM, Sdf.ValueTypeNames.Matrix4d)
    spec.default = matrix_value(pose)
