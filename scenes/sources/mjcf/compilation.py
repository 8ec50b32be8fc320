"""MuJoCo XML files compiled, with refusals of what MuJoCo itself lets through."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import mujoco

from scenes.convert.compiled import CompiledModel
from scenes.errors import AssetError
from scenes.finite import refuse_non_finite_mesh, refuse_non_finite_model
from scenes.mujoco_warnings import mujoco_warnings
from scenes.sources.files.containment import Roots, refuse_unsafe_files
from scenes.sources.files.model_files import model_files
from scenes.sources.files.obj_objects import merged_objects
from scenes.sources.files.picture_sizes import refuse_large_builtins, refuse_large_picture


def compile_mjcf(path: Path, roots: Iterable[Path] = ()) -> CompiledModel:
    """Compile a MuJoCo XML file.

    Args:
        path: The file.
        roots: Folders that it may read from beside its own.

    Raises:
        AssetError: The file or one it names is missing or lies outside the folders, MuJoCo
            refuses it (with its reason), a mesh holds a vertex that is not finite, or a picture
            is too large.
    """
    if not path.is_file():
        raise AssetError(f"{path}: no such file.")
    allowed = Roots.of(path, roots)
    refuse_unsafe_files(path, allowed)
    # MuJoCo takes a file for unchanged whose time stamp is, to the second.
    mujoco.mj_clearCache(mujoco.mj_getCache())
    try:
        with mujoco_warnings() as warnings:
            spec = mujoco.MjSpec.from_file(str(path))
            refuse_large_builtins(spec, path)
            changes = _check_files(spec, path, allowed)
            model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split()).removeprefix("Error: ").rstrip(".")
        raise AssetError(f"{path}: MuJoCo refuses this model: {reason}.") from error
    _refuse_unreadable_names(model, path)
    refuse_non_finite_model(model, str(path))
    return CompiledModel(model, tuple(warnings), tuple(changes))


def _refuse_unreadable_names(model: mujoco.MjModel, path: Path) -> None:
    """Refuse names in another encoding, which MuJoCo keeps byte by byte."""
    for name in model.names.split(b"\0"):
        try:
            name.decode()
        except UnicodeDecodeError as error:
            raise AssetError(
                f"{path}: the name {name.decode(errors='replace')!r} is not UTF-8; store the file "
                "in UTF-8."
            ) from error


def _check_files(spec: mujoco.MjSpec, source: Path, roots: Roots) -> list[str]:
    """Refuse meshes that are not finite and huge pictures; make meshes of several objects whole."""
    changes: list[str] = []
    checked: set[Path] = set()
    for number, file in enumerate(model_files(spec, source)):
        roots.refuse_outside(source, f"{file.kind} {file.name!r}", file.path)
        if file.kind != "mesh":
            refuse_large_picture(file.path, file.name)
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
