"""What the scenes of a run are called."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from scenes.sources.source import Source

_LONGEST = 120


@dataclass(frozen=True)
class Named:
    """A source whose scenes are to be named."""

    given: str | None
    """Name that the config gives it."""
    source: Source
    state: str
    """State of its first scene."""


def scene_names(sources: Sequence[Named]) -> list[str]:
    """Name each source's scene; of several scenes of one source, each has its suffix behind.

    A scene is called as its file. Where several would be called the same, each gets as many of
    its folders before its name as tell the files apart, and its state behind where sources
    share a file. So a name depends on which sources there are, not on their order.
    """
    names = [each.given or _word(each.source.name) for each in sources]
    files = {
        index: each.source.files()[0]
        for index, each in enumerate(sources)
        if each.given is None and each.source.files()
    }
    places = {index: _place(path) for index, path in files.items()}
    for name in sorted({names[index] for index in files}):
        alike = [index for index in files if names[index] == name]
        if len(alike) < 2:
            continue
        folders = _folders_apart([places[index] for index in alike])
        for index in alike:
            parts = places[index][len(places[index]) - 1 - folders :]
            shared = sum(places[other] == places[index] for other in alike) > 1
            words = [_word(part) for part in parts if part.strip("/")]
            names[index] = "_".join([*words, _word(sources[index].state)] if shared else words)
    return [_short(name) for name in names]


def _short(name: str) -> str:
    """Cut a name that would be too long for a folder; a digest of the whole stands for the rest."""
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 9]}_{blake2b(name.encode(), digest_size=4).hexdigest()}"


def _place(path: Path) -> tuple[str, ...]:
    """Folders of a file, and its name without suffix."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100  # A link keeps the name it is given by.
    return (*whole.parent.parts, whole.stem)


def _folders_apart(places: Sequence[tuple[str, ...]]) -> int:
    """How many folders, counted from the files, tell different files apart."""
    different = set(places)
    longest = max(map(len, different))
    return next(
        count
        for count in range(longest)
        if len({place[-1 - count :] for place in different}) == len(different)
    )


def _word(text: str) -> str:
    """Keep what may stand in a file name and in a row's key."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_") or "scene"
