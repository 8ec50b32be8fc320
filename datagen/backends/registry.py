"""Backends by name."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from datagen.backends.base import Backend, Pass
from datagen.backends.errors import BackendError


@dataclass(frozen=True)
class _Entry:
    module: str
    cls: str
    passes: frozenset[Pass]
    extra: str | None = None
    """Extra of the package that installs the renderer."""


_BACKENDS = {
    "mitsuba": _Entry(
        "datagen.backends.mitsuba.backend", "MitsubaBackend", frozenset(get_args(Pass))
    ),
    "mujoco": _Entry(
        "datagen.backends.mujoco.backend",
        "MujocoBackend",
        frozenset({"rgb", "part", "depth", "distance", "albedo", "position"}),
    ),
    "newton": _Entry(
        "datagen.backends.newton.backend",
        "NewtonBackend",
        frozenset({"rgb", "part", "depth", "distance", "normal", "albedo", "position"}),
        extra="newton",
    ),
}


def capabilities() -> dict[str, frozenset[Pass]]:
    """Passes of each backend, by its name; no renderer is imported."""
    return {name: entry.passes for name, entry in _BACKENDS.items()}


def open_backend(name: str, options: Mapping[str, object] | None = None) -> Backend:
    """Make a backend, ready to open a scene; its renderer is imported here and not before.

    Args:
        name: One of `capabilities()`.
        options: Keyword arguments of the backend's class.

    Raises:
        BackendError: There is no such backend or option, or its renderer cannot be used here.
    """
    if name not in _BACKENDS:
        raise BackendError(f"backend {name!r} is not known. {_known(name, sorted(_BACKENDS))}")
    entry = _BACKENDS[name]
    try:
        cls = getattr(importlib.import_module(entry.module), entry.cls)
    except ImportError as error:
        remedy = f" Install it: pip install 'datagen[{entry.extra}]'." if entry.extra else ""
        raise BackendError(
            f"backend {name}: its renderer cannot be imported: {error}.{remedy}"
        ) from error
    allowed = sorted(inspect.signature(cls).parameters)
    for option in options or {}:
        if option not in allowed:
            raise BackendError(
                f"backend {name}: option {option!r} is not known. {_known(option, allowed)}"
            )
    return cls(**(options or {}))


def _known(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"Known: {', '.join(known)}." + (f" Did you mean {near[0]!r}?" if near else "")
