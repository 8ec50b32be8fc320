"""`datagen scenes SCENE`: what one scene holds, and a quick picture of it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from PIL import Image

from datagen.backends import Size
from datagen.backends.registry import open_backend
from datagen.config import RunConfig
from datagen.config_errors import unknown_name
from datagen.errors import ConfigError
from datagen.exposure import EXPOSURE, scene_exposure
from datagen.preparation import prepare_scenes
from datagen.progress import SilentProgress
from datagen.sources import plan_scenes
from scenes import SampleLayer, Scene
from scenes.kinds import source_kind
from writers import write_atomically

_SIDE = 256
_SUFFIX = ".png"
_PNG = b"\x89PNG\r\n\x1a\n"


def list_scene(word: str, picture: Path | None, camera: str | None) -> list[str]:
    """Tell what a scene holds, line by line, and write a picture of it.

    Args:
        word: MJCF, URDF or USD file, or `SUITE/TASK` with the task's index or name.
        picture: PNG file to write; None for no picture.
        camera: Camera of the picture; None for the first.

    Raises:
        ConfigError: A suite, task, file or camera does not exist, or the file is no picture.
        scenes.SceneError: The scene is refused.
        WriteError: The picture cannot be written.
    """
    if picture is not None:
        _refuse_other_files(picture)
    data = {"output": "unused", "scenes": [_source(word)], "cameras": "all"}
    config = RunConfig.from_data(data, word)
    (plan,) = plan_scenes(config)
    prepared = prepare_scenes(config, (plan,), (), SilentProgress()).scenes[plan.scene_id]
    info = prepared.info
    names = [each.name for each in info.cameras]
    if camera is not None and camera not in names:
        raise ConfigError(unknown_name("--camera", camera, names))
    lines = [
        f"{plan.scene_id} ({plan.source}), state {plan.states[0].name}",
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


def _source(word: str) -> dict[str, Any]:
    path = Path(word)
    if path.exists() or path.suffix:
        return {source_kind(path): {"path": word}}
    suite, slash, task = word.partition("/")
    if not slash or not task:
        raise ConfigError(f"{word}: should be a file, a suite or SUITE/TASK.")
    return {"libero": {"suite": suite, "tasks": [int(task) if task.isdecimal() else task]}}


def _refuse_other_files(picture: Path) -> None:
    """Refuse to write over what is not a picture.

    Raises:
        ConfigError: Names the file.
    """
    if picture.suffix.lower() != _SUFFIX:
        raise ConfigError(f"--picture: {str(picture)!r}: should end with {_SUFFIX}.")
    if picture.is_dir():
        raise ConfigError(f"--picture: {str(picture)!r}: is a folder.")
    if picture.is_file():
        with picture.open("rb") as file:
            if file.read(len(_PNG)) != _PNG:
                raise ConfigError(f"--picture: {str(picture)!r}: is there and is no picture.")


def _picture(folder: Path, state: str, camera: str) -> bytes:
    """Path trace a small picture; no OpenGL library is needed."""
    scene = Scene.open(folder)
    backend = open_backend("mitsuba", {"spp": 16})
    backend.open(scene)
    try:
        sample = SampleLayer(scene, state)
        exposure = scene_exposure(scene, backend, state)
        if exposure is not None:
            sample.set(EXPOSURE, exposure)
        backend.apply(sample)
        rgb = backend.render(camera, Size(_SIDE, _SIDE), {"rgb"}).rgb
    finally:
        backend.close()
    assert rgb is not None
    data = io.BytesIO()
    Image.fromarray(rgb).save(data, format="PNG")
    return data.getvalue()
