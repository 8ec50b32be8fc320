"""Compiled MuJoCo models: their bytes, and their data for poses alone."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import mujoco
import numpy as np

_LARGE_ARENA, _SMALL_ARENA = 2**28, 2**24
_HEADER_BYTES = 4096
_FILE = "model.mjb"


@dataclass(frozen=True)
class CompiledModel:
    """A compiled model and what a reader of its pictures should know."""

    model: mujoco.MjModel
    warnings: tuple[str, ...] = ()
    """What MuJoCo warned about while it read and compiled the model."""
    changes: tuple[str, ...] = ()
    """What differs from the model that MuJoCo alone would compile, or from its source."""
    left_out: tuple[str, ...] = ()
    """What of its source the model lacks."""


def model_bytes(model: mujoco.MjModel) -> bytes:
    """A compiled model as MuJoCo's binary format holds it."""
    buffer = np.empty(mujoco.mj_sizeModel(model), dtype=np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


def model_digest(model: mujoco.MjModel) -> str:
    """BLAKE2b of a compiled model."""
    return blake2b(model_bytes(model), digest_size=16).hexdigest()


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
