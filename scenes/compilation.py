"""MuJoCo XML files compiled, with refusals of what MuJoCo itself lets through."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco

from scenes.errors import AssetError
from scenes.finite import refuse_non_finite_mesh, refuse_non_finite_model
from scenes.model_files import model_files
from scenes.mujoco_warnings import mujoco_warnings
from scenes.obj_objects import merged_objects


@dataclass(frozen=True)
class CompiledModel:
    """A compiled model and what a reader of its pictures should know."""

    model: mujoco.MjModel
    warnings: tuple[str, ...] = ()
    """What MuJoCo warned about while it read and compiled the model."""
    changes: tuple[str, ...] = ()
    """What differs from the model that MuJoCo alone would compile."""


def compile_mjcf(path: Path) -> CompiledModel:
    """Compile a MuJoCo XML file.

    Raises:
        AssetError: The file or one it names is missing, MuJoCo refuses it (with its reason), or a
            mesh holds a vertex that is not finite.
    """
    if not path.is_file():
        raise AssetError(f"{path}: no such file.")
    # MuJoCo takes a file for unchanged whose time stamp is, to the second.
    mujoco.mj_clearCache(mujoco.mj_getCache())
    try:
        with mujoco_warnings() as warnings:
            spec = mujoco.MjSpec.from_file(str(path))
            changes = _check_meshes(spec, path)
            model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split()).removeprefix("Error: ").rstrip(".")
        raise AssetError(f"{path}: MuJoCo refuses this model: {reason}.") from error
    refuse_non_finite_model(model, str(path))
    return CompiledModel(model, tuple(warnings), tuple(changes))


def _check_meshes(spec: mujoco.MjSpec, source: Path) -> list[str]:
    """Refuse meshes that are not finite; make those of several objects whole."""
    changes: list[str] = []
    checked: set[Path] = set()
    for number, file in enumerate(model_files(spec, source)):
        if file.kind != "mesh":
            continue
        if file.path not in checked:
            refuse_non_finite_mesh(file.path, file.name)
            checked.add(file.path)
        if file.path.suffix.lower() != ".obj":
            continue
        merged = merged_objects(file.path.read_bytes())
        if merged is not None:
            # Looked up by the last part of the name, which must therefore be like no other.
            whole = f"whole-{number}-{file.path.name}"
            spec.assets = {**spec.assets, whole: merged}
            file.element.file = whole
            changes.append(
                f"mesh {file.name!r}: shown whole; of the several objects in {file.path.name} "
                "MuJoCo alone would show the first"
            )
    return changes
