"""`datagen scenes SCENE`: what one scene holds, and a quick picture of it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image, PngImagePlugin, UnidentifiedImageError

from datagen.backends import Size
from datagen.backends.names import DEFAULT_BACKEND
from datagen.backends.registry import open_backend
from datagen.commands.convert import package_folders, refuse_foreign_options
from datagen.configuration.config import RunConfig
from datagen.configuration.errors import unknown_name
from datagen.errors import ConfigError
from datagen.progress import SilentProgress
from datagen.run.exposure import EXPOSURE, scene_exposure
from datagen.run.preparation import prepare_scenes
from datagen.run.sources import plan_scenes
from scenes import SampleLayer, Scene
from scenes.sources.kinds import source_kind
from scenes.sources.libero.source import LiberoSource
from writers import write_atomically

_SIDE = 256
_SUFFIX = ".png"
_MARK = ("Software", "datagen scenes")
"""Text in the pictures, by which they are known again."""


def list_scene(
    word: str,
    picture: Path | None,
    camera: str | None,
    roots: Sequence[Path] = (),
    packages: Sequence[str] = (),
    keyframe: str | None = None,
) -> list[str]:
    """Tell what a scene holds, line by line, and write a picture of it.

    Args:
        word: MJCF, URDF or USD file, or `SUITE/TASK` with the task's index or name.
        picture: PNG file to write; None for no picture.
        camera: Camera of the picture; None for the first.
        roots: Folders that a file may read from beside its own.
        packages: Folders of a URDF file's packages, each as `NAME=FOLDER`.
        keyframe: Keyframe of an MJCF file that says where everything stands.

    Raises:
        ConfigError: A suite, task, file or camera does not exist, an option does not fit, or the
            picture would replace what is no picture of a scene.
        scenes.SceneError: The scene is refused.
        WriteError: The picture cannot be written.
    """
    if picture is not None:
        _refuse_other_files(picture)
    folders = {name: str(folder) for name, folder in package_folders(packages).items()}
    options = {"roots": [str(root) for root in roots], "packages": folders, "keyframe": keyframe}
    given = {name: value for name, value in options.items() if value}
    data = {"output": "unused", "scenes": [_source(word, given)], "cameras": "all"}
    config = RunConfig.from_data(data, word)
    (plan,) = plan_scenes(config)
    found = prepare_scenes(config, (plan,), (), SilentProgress(), pictured=False)
    prepared = found.scenes[plan.scene_id]
    info = prepared.info
    names = [each.name for each in info.cameras]
    if camera is not None and camera not in names:
        raise ConfigError(unknown_name("--camera", camera, names))
    if picture is not None and not names:
        raise ConfigError(f"--picture: {word}: has no camera to draw it from.")
    lines = [
        f"{plan.scene_id} ({word}), state {plan.states[0].name}",
        *(f"camera  {name}" for name in names),
        *(f"object  {each.name}  class {each.label}" for each in info.objects),
        *(f"joint   {each.name}  {each.kind}" for each in info.joints),
        *(f"light   {each.name}" for each in info.lights),
    ]
    if picture is not None:
        pixels = _picture(prepared.folder, plan.states[0].name, camera or names[0])
        write_atomically(picture, pixels)
        lines.append(f"picture {picture}, camera {camera or names[0]}")
    return lines


def _source(word: str, given: dict[str, Any]) -> dict[str, Any]:
    path = Path(word)
    if path.exists() or path.suffix:
        kind = source_kind(path)
        refuse_foreign_options(kind, given)
        return {kind.kind: {"path": word, **given}}
    suite, slash, task = word.partition("/")
    if not slash or not task:
        raise ConfigError(f"{word}: should be a file, a suite or SUITE/TASK.")
    refuse_foreign_options(LiberoSource, given)
    return {"libero": {"suite": suite, "tasks": [int(task) if task.isdecimal() else task]}}


def _refuse_other_files(picture: Path) -> None:
    """Refuse to write over what is no picture made here.

    Raises:
        ConfigError: Names the file.
    """
    if picture.suffix.lower() != _SUFFIX:
        raise ConfigError(f"--picture: {str(picture)!r}: should end with {_SUFFIX}.")
    try:
        if picture.is_dir():
            raise ConfigError(f"--picture: {str(picture)!r}: is a folder.")
        if picture.exists() and not _is_ours(picture):
            raise ConfigError(
                f"--picture: {str(picture)!r}: is there and is no picture that `datagen scenes` "
                "made; name another file, or remove it."
            )
    except OSError as error:
        raise ConfigError(
            f"--picture: {str(picture)!r}: cannot be written: {error.strerror}."
        ) from error


def _is_ours(picture: Path) -> bool:
    try:
        with Image.open(picture, formats=["PNG"]) as image:
            return image.info.get(_MARK[0]) == _MARK[1]
    except (UnidentifiedImageError, SyntaxError, ValueError):
        return False


def _picture(folder: Path, state: str, camera: str) -> bytes:
    """Path trace a small picture; no OpenGL library is needed."""
    scene = Scene.open(folder)
    backend = open_backend(DEFAULT_BACKEND)
    backend.open(scene)
    try:
        sample = SampleLayer(scene, state)
        sample.set(EXPOSURE, scene_exposure(scene, backend, state))
        backend.apply(sample)
        rgb = backend.render(camera, Size(_SIDE, _SIDE), {"rgb"}).rgb
    finally:
        backend.close()
    assert rgb is not None
    data = io.BytesIO()
    mark = PngImagePlugin.PngInfo()
    mark.add_text(*_MARK)
    Image.fromarray(rgb).save(data, format="PNG", pnginfo=mark)
    return data.getvalue()
