"""Files that MuJoCo compiles, made into scenes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mujoco

from scenes.convert.cameras import first_camera
from scenes.convert.compiled import CompiledModel, model_digest
from scenes.convert.conversion import Description
from scenes.convert.grouping import Grouping
from scenes.convert.model import convert_model
from scenes.convert.settings import Collision, MaterialRule
from scenes.convert.states import Placement
from scenes.errors import SceneError
from scenes.sources.cache import cache_folder, converter_versions, scene_of_cache
from scenes.sources.file_source import FileSource
from scenes.sources.path_fields import path_fields
from scenes.stage.scene import Scene
from scenes.storage.locks import Waiting, patiently


def as_compiled(model: mujoco.MjModel) -> Placement:
    """Everything where the model has it at first."""
    return Placement(model.qpos0)


@dataclass(frozen=True)
class ReadModel:
    """A file that was read: its compiled model, and what the scene takes from it."""

    compiled: CompiledModel
    grouping: Callable[[mujoco.MjModel], Grouping]
    """Tells the objects; asked when the model is converted."""
    placement: Callable[[mujoco.MjModel], Placement] = as_compiled
    """Tells where everything stands; asked when the model is converted."""
    collision: Collision = "boxes"
    """What stands for colliding geoms."""
    materials: MaterialRule = "physical"
    """What MuJoCo's highlights become."""


@dataclass(frozen=True)
class ModelSource(FileSource):
    """A file that ends in a MuJoCo model.

    The key of its scene in the cache is the compiled model with the settings, so that an edited
    file or mesh makes a new scene.
    """

    @abstractmethod
    def read(self) -> ReadModel:
        """Read and compile the file.

        Raises:
            SceneError: It is refused.
        """

    def scene(self, cache: Path, waiting: Waiting = patiently) -> Scene:
        """Open the scene in this process, converted on first use."""
        read = self.read()
        digest = model_digest(read.compiled.model)
        folder = cache_folder(cache, self.name, digest, self._cache_key())
        return scene_of_cache(folder, lambda: self._convert(read, folder), waiting)

    def convert(self, out: Path) -> Scene:
        """Convert the file into a scene folder in this process."""
        if out.exists():
            raise SceneError(f"{out}: already exists; name a folder that does not.")
        return self._convert(self.read(), out)

    def _cache_key(self) -> str:
        """Tell what decides the scene beside the compiled model."""
        exclude = path_fields(type(self.settings))
        return f"{self.kind} {self.settings.model_dump_json(exclude=exclude)}"

    def _convert(self, read: ReadModel, out: Path) -> Scene:
        model = read.compiled.model
        description = Description(
            scene_id=self.path.stem,
            source=f"{self.kind}/{self.path.name}",
            path=self.path,
            digest=model_digest(model),
            versions=converter_versions(),
            main_camera=first_camera(model),
            grouping=read.grouping(model),
            collision=read.collision,
            materials=read.materials,
        )
        return convert_model(read.compiled, out, description, {self.state: read.placement(model)})
