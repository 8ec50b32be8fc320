"""What a source of scenes is to a run: which scenes it has, and how one is opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from scenes.convert.settings import Settings
from scenes.stage.scene import Scene

if TYPE_CHECKING:
    from scenes.sources.converter import Converter

REST = "rest"
"""State of a scene whose source has one alone."""


@dataclass(frozen=True)
class SourceState:
    """A state of a scene that samples start from."""

    name: str
    """Name of its layer in the scene folder."""
    initial_state: int | None = None
    """Number of the initial state in the source; None where it does not count them."""


@dataclass(frozen=True)
class SourceScene:
    """A scene of a source, as it is known before it is made."""

    origin: str
    """What it is made from, as rows tell it: `<kind>/...`."""
    states: tuple[SourceState, ...]
    suffix: str = ""
    """What stands behind the source's name in the scene's; empty for a source of one scene."""


@dataclass(frozen=True)
class Workplace:
    """Where and with what scenes are made."""

    cache: Path
    """Folder of the cache."""
    converter: Converter
    """Process that reads foreign files."""
    say: Callable[[str], None]
    """Told what is being done, in a few words."""


@dataclass(frozen=True)
class Source(ABC):
    """A source of scenes: one entry of a config's `scenes`.

    A class says how its kind is named and set; an object is made from the settings of one source.
    """

    kind: ClassVar[str]
    """Key of the config's entries, and start of what rows tell of a scene's origin."""
    title: ClassVar[str]
    """Name of the kind in messages."""
    settings_model: ClassVar[type[Settings]]
    """Model of its settings. Fields of paths, and lists and mappings of paths, are kept so that
    a run folder can be used from any folder."""

    settings: Settings

    @property
    @abstractmethod
    def name(self) -> str:
        """What its scenes are called, or how their names start, where the config does not say."""

    @abstractmethod
    def plan(self) -> Sequence[SourceScene]:
        """Look up its scenes; nothing is made.

        Raises:
            SettingError: A setting names what is not there.
            SceneError: It cannot be looked up here.
        """

    @abstractmethod
    def open(self, scene: SourceScene, place: Workplace) -> Scene:
        """Open a scene, made on first use, with all states that are asked for.

        Args:
            scene: What `plan` gave; a run that is read back leaves out the suffix.
            place: Where it is made.

        Raises:
            SceneError: It is refused.
            StorageError: The cache cannot be written.
        """

    def files(self) -> tuple[Path, ...]:
        """Files that scenes are called after: one, or none where `name` and suffix do."""
        return ()

    @classmethod
    def openers(cls, wanted: Sequence[Wanted], place: Workplace) -> list[Callable[[], Scene]]:
        """Give a function for each scene that opens it; what scenes share is done at once.

        Args:
            wanted: Scenes of sources of this kind.
            place: Where they are made.

        Raises:
            SceneError: None of them can be made.
        """
        return [partial(each.source.open, each.scene, place) for each in wanted]


@dataclass(frozen=True)
class Wanted:
    """A scene to open, with its source."""

    source: Source
    scene: SourceScene
