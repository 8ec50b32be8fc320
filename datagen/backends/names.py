"""Names of backends as values of a config."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from datagen.backends.registry import backend_entries

DEFAULT_BACKEND = "mitsuba"
"""Backend of a run that names none."""


def _known(value: str) -> str:
    names = list(backend_entries())
    if value not in names:
        expected = " or ".join(", ".join(map(repr, names)).rsplit(", ", 1))
        raise PydanticCustomError(
            "literal_error", "Input should be {expected}", {"expected": expected}
        )
    return value


BackendName = Annotated[str, AfterValidator(_known)]
"""Name of a backend in the registry."""
