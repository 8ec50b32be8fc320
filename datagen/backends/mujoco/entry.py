"""MuJoCo's renderer, as the registry knows it."""

from __future__ import annotations

from datagen.backends.entry import BackendEntry
from datagen.backends.mujoco.config import MujocoConfig

MUJOCO = BackendEntry(
    name="mujoco",
    backend="datagen.backends.mujoco.backend:MujocoBackend",
    passes=frozenset({"rgb", "part", "depth", "distance", "albedo", "position"}),
    honoured="datagen.backends.mujoco.values:MUJOCO_HONOURED",
    requires="mujoco",
    settings=MujocoConfig,
    comparison={"colorspace": "display"},
    shows_as_mujoco=True,
    refuse="datagen.backends.mujoco.values:too_many_lights",
)
