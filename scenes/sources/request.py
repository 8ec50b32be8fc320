"""What `scenes.sources.converter` and the process that converts say to each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from scenes.sources.file_source import FileSource


@dataclass(frozen=True)
class Request:
    """A source to convert: into a cache, or into a folder to make."""

    source: FileSource
    cache: Path | None = None
    out: Path | None = None


class Failure(TypedDict):
    """An error of the package, to be raised again."""

    kind: str
    """Name of one of `scenes.errors.ANSWERS`."""
    lines: list[str]
    trace: str


class Answer(TypedDict):
    """What became of a request, or word that it is being worked on."""

    alive: bool
    """The work begins, or waits for another process; the answer follows."""
    folder: str
    """The scene's folder."""
    failure: Failure | None
    out_of_memory: bool
