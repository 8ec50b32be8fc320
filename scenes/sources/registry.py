"""Kinds of sources by name: those of this package, and those that other packages add.

Another package adds a kind by an entry point of the group `datagen.sources` that names a class
derived from `scenes.sources.source.Source`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points

from scenes.convert.settings import Settings
from scenes.errors import SourceKindError
from scenes.sources.file_source import FileSource
from scenes.sources.libero.source import LiberoSource
from scenes.sources.mjcf.source import MjcfSource
from scenes.sources.source import Source
from scenes.sources.urdf.source import UrdfSource
from scenes.sources.usd.source import UsdSource

GROUP = "datagen.sources"
"""Group of the entry points: `kind = module:Class`."""

TAKEN = frozenset({"name", "cameras"})
"""Keys that every entry of a config's `scenes` has beside its kind."""

_OWN: tuple[type[Source], ...] = (LiberoSource, MjcfSource, UrdfSource, UsdSource)


@functools.cache
def source_classes() -> Mapping[str, type[Source]]:
    """Classes of all kinds by name, this package's first.

    Raises:
        SourceKindError: An entry point cannot be loaded, or is no source of a name of its own.
    """
    found = {cls.kind: cls for cls in _OWN}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        cls = _load(point)
        if cls.kind in found or cls.kind in TAKEN:
            raise _refusal(point, "there is a source or a setting of this name already.")
        if shared := _shared_mark(cls, found.values()):
            raise _refusal(point, f"{shared} is of another kind already.")
        found[cls.kind] = cls
    return found


def source_class(kind: str) -> type[Source]:
    """Class of a kind.

    Raises:
        SourceKindError: There is none.
    """
    classes = source_classes()
    if kind not in classes:
        raise SourceKindError(f"source {kind!r} is not known. Known: {', '.join(classes)}.")
    return classes[kind]


def file_classes() -> list[type[FileSource]]:
    """Classes of the kinds that are files."""
    return [cls for cls in source_classes().values() if issubclass(cls, FileSource)]


def source_versions(kinds: Iterable[str]) -> dict[str, str]:
    """Versions of the packages that some kinds come from, by package; none for this package's."""
    points = entry_points(group=GROUP)
    packages = [point.dist for kind in sorted(set(kinds)) for point in points.select(name=kind)]
    return {package.name: package.version for package in packages if package is not None}


def _load(point: EntryPoint) -> type[Source]:
    try:
        cls = point.load()
    except Exception as error:  # Another package's code may raise anything.
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise _refusal(point, f"cannot be loaded: {reason}.", colon="") from error
    if fault := _fault(cls, point.name):
        raise _refusal(point, f"is no source: {fault}.", colon="")
    return cls


def _fault(cls: object, name: str) -> str:
    """Say what keeps an object from being the class of a kind, empty if nothing does."""
    if not (isinstance(cls, type) and issubclass(cls, Source)):
        return "it should be a class derived from scenes.sources.source.Source"
    if inspect.isabstract(cls):
        return f"its class leaves out {', '.join(sorted(cls.__abstractmethods__))}"
    if getattr(cls, "kind", None) != name or not name.isidentifier():
        return f"its `kind` should be {name!r}, a plain word"
    if not isinstance(getattr(cls, "title", None), str):
        return "its `title` should be a text"
    model = getattr(cls, "settings_model", None)
    if not (isinstance(model, type) and issubclass(model, Settings)):
        return "its `settings_model` should be a class derived from Settings"
    return ""


def _shared_mark(cls: type[Source], others: Iterable[type[Source]]) -> str:
    """Name a suffix or root element by which another kind is known already, empty if none."""
    known = {mark for other in others for mark in _marks(other)}
    return next((repr(mark) for mark in _marks(cls) if mark in known), "")


def _marks(cls: type[Source]) -> tuple[str, ...]:
    return (*cls.suffixes, *cls.root_elements) if issubclass(cls, FileSource) else ()


def _refusal(point: EntryPoint, sentence: str, colon: str = ":") -> SourceKindError:
    return SourceKindError(f"entry point {point.name} of {GROUP}: {point.value}{colon} {sentence}")
