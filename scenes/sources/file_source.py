"""Sources that are one file, read in a process that may die."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from scenes.errors import SettingError
from scenes.sources.file_config import FileConfig
from scenes.sources.source import REST, Source, SourceScene, SourceState, Wanted, Workplace
from scenes.stage.scene import Scene
from scenes.storage.locks import Waiting


@dataclass(frozen=True)
class FileSource(Source):
    """A file with one scene in one state.

    `scene` and `convert` are called in the process that converts, to which the source goes as a
    pickle: it must be importable there.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()
    """Suffixes by which a file is known to be of this kind, in small letters: `.urdf`."""
    root_elements: ClassVar[tuple[str, ...]] = ()
    """First elements of XML files of this kind."""
    library: ClassVar[str] = "MuJoCo"
    """Library that reads the file, for messages."""

    settings: FileConfig

    @property
    def path(self) -> Path:
        """The file."""
        return self.settings.path

    @property
    def name(self) -> str:
        """Name of the file, without suffix."""
        return self.path.stem

    @property
    def state(self) -> str:
        """Name of its state."""
        return REST

    def files(self) -> tuple[Path, ...]:
        """Give the file."""
        return (self.path,)

    def plan(self) -> Sequence[SourceScene]:
        """See that the file is there.

        Raises:
            SettingError: It is not.
        """
        shown = repr(str(self.path))
        try:
            there = self.path.is_file()
        except OSError as error:
            raise SettingError("path", f"{shown}: {error.strerror}.") from error
        if not there:
            what = "is a folder" if self.path.is_dir() else "does not exist"
            raise SettingError("path", f"{shown} {what} (looked for {self.path.absolute()}).")
        return [SourceScene(f"{self.kind}/{self.path.name}", (SourceState(self.state),))]

    def open(self, scene: SourceScene, place: Workplace) -> Scene:
        """Open the scene, converted on first use."""
        return place.converter.scene(self, place.cache)

    @classmethod
    def openers(cls, wanted: Sequence[Wanted], place: Workplace) -> list[Callable[[], Scene]]:
        """Start the process that converts meanwhile."""
        place.converter.start()
        return super().openers(wanted, place)

    @abstractmethod
    def scene(self, cache: Path, waiting: Waiting) -> Scene:
        """Open the scene in this process, converted on first use.

        Args:
            cache: Folder of the cache.
            waiting: Told while another process converts it.

        Raises:
            SceneError: The source is refused.
        """

    @abstractmethod
    def convert(self, out: Path) -> Scene:
        """Convert the file into a scene folder in this process.

        Raises:
            SceneError: `out` exists, or something cannot be converted; nothing is left behind.
        """
