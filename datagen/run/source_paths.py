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

from pydantic import BaseModel

from scenes.sources.path_fields import path_fields
from scenes.sources.registry import source_classes


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
    classes = source_classes()
    return {
        kind: _paths_respelt(cast(dict[str, Any], settings), classes[kind].settings_model, spell)
        if kind in classes and isinstance(settings, dict)
        else settings
        for kind, settings in cast(dict[str, Any], source).items()
    }


def _paths_respelt(
    settings: Mapping[str, Any], model: type[BaseModel], spell: Callable[[str], str]
) -> dict[str, Any]:
    paths = path_fields(model)
    return {
        name: _spelt(value, spell) if name in paths else value for name, value in settings.items()
    }


def _spelt(value: Any, spell: Callable[[str], str]) -> Any:
    """Respell a path, or each of a list or mapping of paths."""
    if isinstance(value, str):
        return spell(value)
    if isinstance(value, list):
        return [_spelt(each, spell) for each in cast(list[Any], value)]
    if isinstance(value, dict):
        return {name: _spelt(each, spell) for name, each in cast(dict[str, Any], value).items()}
    return value
