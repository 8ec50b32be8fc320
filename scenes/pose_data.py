"""MuJoCo data for poses alone, without the space that contacts would need."""

from __future__ import annotations

import mujoco

from scenes.compilation import model_bytes

_LARGE_ARENA, _SMALL_ARENA = 2**28, 2**24
_HEADER_BYTES = 4096
_FILE = "model.mjb"


def pose_data(model: mujoco.MjModel) -> mujoco.MjData:
    """Make data of a model for poses; nothing that needs contacts or constraints may be computed.

    MuJoCo sets space aside for all contacts that there could be: 6 GB for 2,000 free bodies.
    """
    if model.narena <= _LARGE_ARENA:
        return mujoco.MjData(model)
    data = model_bytes(model)
    size = int(model.narena).to_bytes(8, "little")
    head, rest = data[:_HEADER_BYTES], data[_HEADER_BYTES:]
    if head.count(size) != 1:
        return mujoco.MjData(model)
    changed = head.replace(size, _SMALL_ARENA.to_bytes(8, "little")) + rest
    return mujoco.MjData(mujoco.MjModel.from_binary_path(_FILE, {_FILE: changed}))
