"""Which settings of a source are paths."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from pydantic import BaseModel


def path_fields(model: type[BaseModel]) -> set[str]:
    """Names of the fields that hold a path, or a list or mapping of paths."""
    return {name for name, field in model.model_fields.items() if _holds_paths(field.annotation)}


def _holds_paths(annotation: object) -> bool:
    return annotation is Path or any(map(_holds_paths, get_args(annotation)))
