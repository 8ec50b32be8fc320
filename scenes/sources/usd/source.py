"""USD stages of any origin as scenes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from scenes.convert.conversion import Description
from scenes.convert.model import convert_model
from scenes.convert.settings import Settings
from scenes.convert.states import Placement
from scenes.errors import SceneError
from scenes.sources.cache import cache_folder, converter_versions, scene_of_cache
from scenes.sources.file_source import FileSource
from scenes.sources.source import REST
from scenes.sources.usd.build import compile_usd
from scenes.sources.usd.config import UsdConfig
from scenes.sources.usd.reading.files import UsdFiles, usd_files
from scenes.stage.scene import Scene
from scenes.storage.locks import Waiting, patiently


@dataclass(frozen=True)
class UsdSource(FileSource):
    """A USD stage."""

    kind: ClassVar[str] = "usd"
    title: ClassVar[str] = "USD"
    settings_model: ClassVar[type[Settings]] = UsdConfig
    suffixes: ClassVar[tuple[str, ...]] = (".usd", ".usda", ".usdc", ".usdz")
    library: ClassVar[str] = "USD"

    settings: UsdConfig

    def scene(self, cache: Path, waiting: Waiting = patiently) -> Scene:
        """Open the scene in this process, converted on first use."""
        return usd_scene(self.settings, cache, waiting)

    def convert(self, out: Path) -> Scene:
        """Convert the stage into a scene folder in this process."""
        return convert_usd(out, self.settings)


def convert_usd(out: Path, source: UsdConfig) -> Scene:
    """Convert a USD stage into a scene folder: our layout, labels and a MuJoCo model of it.

    Args:
        out: Folder to make.
        source: The stage and how it is read.

    Raises:
        SceneError: `out` exists, or something cannot be converted; nothing is left behind.
        AssetError: The stage or one of its files is refused.
    """
    if out.exists():
        raise SceneError(f"{out}: already exists; name a folder that does not.")
    return _convert(usd_files(source.path, source.roots), out, source)


def usd_scene(source: UsdConfig, cache: Path, waiting: Waiting = patiently) -> Scene:
    """Open the scene of a USD stage, converted on first use.

    The cache key is the content of all files that the stage names.

    Args:
        source: The stage and how it is read.
        cache: Folder of the cache.
        waiting: Told while another process converts it.

    Raises:
        SceneError: The source is refused.
    """
    files = usd_files(source.path, source.roots)
    settings = source.model_dump_json(exclude={"path", "roots"})
    folder = cache_folder(cache, source.path.stem, files.digest, f"usd {settings}")

    def make() -> None:
        _convert(files, folder, source, texture_store=cache / "textures")

    return scene_of_cache(folder, make, waiting)


def _convert(
    files: UsdFiles, out: Path, source: UsdConfig, *, texture_store: Path | None = None
) -> Scene:
    found = compile_usd(source, files)
    description = Description(
        scene_id=source.path.stem,
        source=f"usd/{source.path.name}",
        path=source.path,
        digest=files.digest,
        versions=converter_versions(),
        main_camera=found.main_camera,
        grouping=found.grouping,
        collision=source.collision,
        materials=source.materials,
        origins=found.origins,
    )
    state = {REST: Placement(found.compiled.model.qpos0)}
    return convert_model(found.compiled, out, description, state, texture_store=texture_store)
