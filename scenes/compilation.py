"""MuJoCo XML files compiled, with refusals of what MuJoCo itself lets through."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco

from scenes.errors import AssetError
from scenes.finite import refuse_non_finite_mesh, refuse_non_finite_model
from scenes.model_files import model_files
from scenes.mujoco_warnings import mujoco_warnings


@dataclass(frozen=True)
class CompiledModel:
    """A compiled model and what MuJoCo warned about while it read and compiled it."""

    model: mujoco.MjModel
    warnings: tuple[str, ...] = ()


def compile_mjcf(path: Path) -> CompiledModel:
    """Compile a MuJoCo XML file.

    Raises:
        AssetError: The file or one it names is missing, MuJoCo refuses it (with its reason), or a
            mesh holds a vertex that is not finite.
    """
    if not path.is_file():
        raise AssetError(f"{path}: no such file.")
    try:
        with mujoco_warnings() as warnings:
            spec = mujoco.MjSpec.from_file(str(path))
            files = {file.path: file for file in model_files(spec, path)}
            for file in files.values():
                if file.kind == "mesh":
                    refuse_non_finite_mesh(file.path, file.name)
            model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split()).removeprefix("Error: ").rstrip(".")
        raise AssetError(f"{path}: MuJoCo refuses this model: {reason}.") from error
    refuse_non_finite_model(model, str(path))
    return CompiledModel(model, tuple(warnings))
