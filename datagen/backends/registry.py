"""Backends by name: those of this package, and those that other packages add.

Another package adds a backend by an entry point of the group `datagen.backends` that names a
`BackendEntry`.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points

from datagen.backends.base import Backend, Pass
from datagen.backends.entry import BackendEntry, load_place
from datagen.backends.errors import BackendError
from datagen.backends.mitsuba.entry import MITSUBA
from datagen.backends.mujoco.entry import MUJOCO
from datagen.backends.newton.entry import NEWTON

GROUP = "datagen.backends"
"""Group of the entry points."""

_OWN = (MITSUBA, MUJOCO, NEWTON)


@functools.cache
def backend_entries() -> Mapping[str, BackendEntry]:
    """All backends by name, this package's first; no renderer is imported.

    Raises:
        BackendError: An entry point cannot be loaded, or is no backend of a name of its own.
    """
    found = {entry.name: entry for entry in _OWN}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            entry = point.load()
        except Exception as error:  # Another package's code may raise anything.
            raise BackendError(
                f"entry point {point.name} of {GROUP}: {point.value} cannot be loaded: {error}."
            ) from error
        if not isinstance(entry, BackendEntry) or entry.name != point.name:
            raise BackendError(
                f"entry point {point.name} of {GROUP}: {point.value} is no BackendEntry of this "
                "name."
            )
        if entry.name in found:
            raise BackendError(
                f"entry point {point.name} of {GROUP}: {point.value}: there is a backend of this "
                "name already."
            )
        found[entry.name] = entry
    return found


def backend_entry(name: str) -> BackendEntry:
    """A backend by its name.

    Raises:
        BackendError: There is none.
    """
    entries = backend_entries()
    if name not in entries:
        raise BackendError(f"backend {name!r} is not known. {_known(name, sorted(entries))}")
    return entries[name]


def capabilities() -> dict[str, frozenset[Pass]]:
    """Passes of each backend, by its name; no renderer is imported."""
    return {name: entry.passes for name, entry in backend_entries().items()}


def first_path_tracer(names: Iterable[str]) -> str | None:
    """The backend that fixes a scene's exposure: the first that traces paths; None without one."""
    return next((name for name in names if backend_entry(name).traces_paths), None)


def open_backend(name: str, options: Mapping[str, object] | None = None) -> Backend:
    """Make a backend, ready to open a scene; its renderer is imported here and not before.

    Args:
        name: One of `backend_entries()`.
        options: Keyword arguments of the backend's class.

    Raises:
        BackendError: There is no such backend or option, or its renderer cannot be used here.
    """
    entry = backend_entry(name)
    cls = _class(entry)
    allowed = sorted(inspect.signature(cls).parameters)
    for option in options or {}:
        if option not in allowed:
            raise BackendError(
                f"backend {name}: option {option!r} is not known. {_known(option, allowed)}"
            )
    return cls(**(options or {}))


def accepted(name: str, options: Mapping[str, object]) -> dict[str, object]:
    """Those of some options that a backend's class takes."""
    allowed = inspect.signature(_class(backend_entry(name))).parameters
    return {option: value for option, value in options.items() if option in allowed}


def _class(entry: BackendEntry) -> type[Backend]:
    try:
        return load_place(entry.backend)
    except ImportError as error:
        remedy = f" Install it: pip install 'datagen[{entry.extra}]'." if entry.extra else ""
        raise BackendError(
            f"backend {entry.name}: its renderer cannot be imported: {error}.{remedy}"
        ) from error


def _known(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"Known: {', '.join(known)}." + (f" Did you mean {near[0]!r}?" if near else "")
