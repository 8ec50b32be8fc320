"""Kinds of randomizers: those of this package, and those that installed packages add."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Literal, get_args, get_origin

from randomizers.errors import RandomizerError, UnknownKindError
from randomizers.kinds.camera_pose import CameraPose
from randomizers.kinds.light import Light
from randomizers.kinds.object_pose import ObjectPose
from randomizers.known import known
from randomizers.randomizer import Randomizer

GROUP = "datagen.randomizers"
"""Group of the entry points by which a package adds randomizers: `kind = module:Class`."""

_BUILT_IN: dict[str, type[Randomizer]] = {
    "camera_pose": CameraPose,
    "light": Light,
    "object_pose": ObjectPose,
}
_added: dict[str, type[Randomizer]] = {}


def kinds() -> list[str]:
    """Names of all kinds; no other package is imported."""
    return sorted({*_BUILT_IN, *(entry.name for entry in entry_points(group=GROUP))})


def loaded_classes() -> tuple[type[Randomizer], ...]:
    """Classes of the built-in kinds and of the added ones that were asked for so far."""
    return (*_BUILT_IN.values(), *_added.values())


def randomizer_class(kind: str) -> type[Randomizer]:
    """Class of a kind; a package that adds it is imported here and not before.

    Raises:
        UnknownKindError: There is no such kind.
        RandomizerError: What a package gives for it is no randomizer.
    """
    if kind in _BUILT_IN:
        return _BUILT_IN[kind]
    if kind not in _added:
        _added[kind] = _load(_entry(kind))
    return _added[kind]


def plugin_versions(randomizers: Iterable[Randomizer]) -> dict[str, str]:
    """Versions of the packages that some randomizers come from, by package.

    They decide bytes, so they belong to the versions of a run; built-in kinds are of this package.

    Raises:
        RandomizerError: No package gives one of them any more.
    """
    found = {randomizer.type for randomizer in randomizers} - _BUILT_IN.keys()
    packages = [entry.dist for entry in map(_entry, sorted(found))]
    return {package.name: package.version for package in packages if package is not None}


def _entry(kind: str) -> EntryPoint:
    found = list(entry_points(group=GROUP, name=kind))
    if not found:
        raise UnknownKindError(f"{kind!r} is not a randomizer. {known(kind, kinds())}")
    if len(found) > 1:
        packages = " and ".join(sorted(map(_package, found)))
        raise RandomizerError(
            f"{kind!r} is given by more than one package, {packages}; leave one of them installed."
        )
    return found[0]


def _load(entry: EntryPoint) -> type[Randomizer]:
    try:
        cls = entry.load()
    # What another package raises while it is imported is not ours to foresee.
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise RandomizerError(
            f"{entry.name!r}: {entry.value} of {_package(entry)} cannot be loaded: {reason}."
        ) from error
    if fault := _fault(cls, entry.name):
        raise RandomizerError(
            f"{entry.name!r}: {entry.value} of {_package(entry)} is no randomizer: {fault}."
        )
    return cls


def _fault(cls: object, kind: str) -> str:
    """Say what keeps an object from being the class of a kind, empty if nothing does."""
    if not (isinstance(cls, type) and issubclass(cls, Randomizer)):
        return "it should be a class derived from randomizers.Randomizer"
    if inspect.isabstract(cls):
        return f"its class leaves out {', '.join(sorted(cls.__abstractmethods__))}"
    field = cls.model_fields["type"]
    literal = get_origin(field.annotation) is Literal and get_args(field.annotation) == (kind,)
    if not kind.isidentifier() or not literal or field.default != kind:
        return f'it should have the field `type: Literal["{kind}"] = "{kind}"`, a plain word'
    return ""


def _package(entry: EntryPoint) -> str:
    return "an unknown package" if entry.dist is None else f"{entry.dist.name}"
