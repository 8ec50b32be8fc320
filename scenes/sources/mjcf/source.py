"""MuJoCo models as scenes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import mujoco

from scenes.convert.grouping import Grouping, named_grouping
from scenes.convert.settings import Settings
from scenes.convert.shapes.tessellation import refine
from scenes.convert.states import Placement
from scenes.errors import SceneError
from scenes.sources.mjcf.compilation import compile_mjcf
from scenes.sources.mjcf.config import MjcfConfig
from scenes.sources.model_source import ModelSource, ReadModel
from scenes.sources.path_fields import path_fields
from scenes.stage.scene import Scene
from scenes.storage.locks import Waiting, patiently


@dataclass(frozen=True)
class MjcfSource(ModelSource):
    """A MuJoCo model."""

    kind: ClassVar[str] = "mjcf"
    title: ClassVar[str] = "MJCF"
    settings_model: ClassVar[type[Settings]] = MjcfConfig
    root_elements: ClassVar[tuple[str, ...]] = ("mujoco",)

    settings: MjcfConfig

    @property
    def state(self) -> str:
        """Name of the keyframe, or of the initial position."""
        return self.settings.keyframe or super().state

    def read(self) -> ReadModel:
        """Compile the model."""
        settings = self.settings
        compiled = compile_mjcf(settings.path, settings.roots)
        refine(compiled.model, settings.tessellation, settings.path)
        return ReadModel(
            compiled,
            partial(_grouping, source=settings),
            partial(_placement, source=settings),
            collision=settings.collision,
            materials=settings.materials,
        )

    def _cache_key(self) -> str:
        return self.settings.model_dump_json(exclude=path_fields(MjcfConfig))


def convert_mjcf(path: Path, out: Path, *, source: MjcfConfig | None = None) -> Scene:
    """Convert a MuJoCo XML file into a scene folder.

    Args:
        path: The model.
        out: Folder to make.
        source: Grouping, drawn groups, keyframe and further folders to read from; None takes
            the defaults.

    Raises:
        SceneError: `out` exists, or something cannot be converted; nothing is left behind.
        AssetError: The model or one of its files is refused.
    """
    settings = source or MjcfConfig(path=path)
    return MjcfSource(settings.model_copy(update={"path": path})).convert(out)


def mjcf_scene(source: MjcfConfig, cache: Path, waiting: Waiting = patiently) -> Scene:
    """Open the scene of a MuJoCo XML file, converted on first use.

    Args:
        source: The file and how it is read.
        cache: Folder of the cache.
        waiting: Told while another process converts it.

    Raises:
        SceneError: The source is refused.
    """
    return MjcfSource(source).scene(cache, waiting)


def _grouping(model: mujoco.MjModel, source: MjcfConfig) -> Grouping:
    return named_grouping(model, source.objects, source.drawn_groups, source.path)


def _placement(model: mujoco.MjModel, source: MjcfConfig) -> Placement:
    if source.keyframe is None:
        return Placement(model.qpos0)
    key = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, source.keyframe)
    if key < 0:
        known = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_KEY, k) for k in range(model.nkey)]
        raise SceneError(
            f"{source.path}: no keyframe {source.keyframe!r}. "
            f"Known: {', '.join(filter(None, known)) or 'none'}."
        )
    return Placement(
        model.key_qpos[key],
        model.key_mpos[key].reshape(-1, 3),
        model.key_mquat[key].reshape(-1, 4),
    )
