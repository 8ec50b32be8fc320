"""How a run folder names the files of its sources, so that it can be used from any folder.

A path that was given absolute is kept so, and one that was given from the current folder is kept
relative to the run folder. So a run folder may move alone in the first case, and together with
its sources in the second.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

_FILE_KINDS = ("mjcf", "urdf", "usd")


def anchored(path: Path, output: Path) -> str:
    """Spell a path for a run folder: absolute as given, else relative to the folder."""
    return path.as_posix() if path.is_absolute() else Path(os.path.relpath(path, output)).as_posix()


def anchored_scenes(scenes: list[Any], output: Path) -> list[Any]:
    """Respell the paths of sources, as JSON values, for a run folder."""
    return [_respelt(source, lambda text: anchored(Path(text), output)) for source in scenes]


def released_scenes(scenes: list[Any], output: Path) -> list[Any]:
    """Respell the paths of sources that a run folder holds from the current folder."""

    def released(text: str) -> str:
        if Path(text).is_absolute():
            return text
        return os.path.relpath(Path(output).absolute() / text)

    return [_respelt(source, released) for source in scenes]


def _respelt(source: Any, spell: Callable[[str], str]) -> Any:
    if not isinstance(source, dict):
        return source
    return {
        kind: _file_respelt(cast(dict[str, Any], settings), spell)
        if kind in _FILE_KINDS and isinstance(settings, dict)
        else settings
        for kind, settings in cast(dict[str, Any], source).items()
    }


def _file_respelt(settings: Mapping[str, Any], spell: Callable[[str], str]) -> dict[str, Any]:
    found = dict(settings)
    if "path" in found:
        found["path"] = spell(found["path"])
    if "roots" in found:
        found["roots"] = [spell(root) for root in found["roots"]]
    if "packages" in found:
        found["packages"] = {name: spell(path) for name, path in found["packages"].items()}
    return found
