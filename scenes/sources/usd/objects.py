"""Which prims of a USD stage make one object, and which of them move together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pxr import Sdf, Usd, UsdGeom, UsdPhysics, UsdSemantics

from scenes.convert.grouping import ObjectName
from scenes.errors import SceneError
from scenes.sources.usd.config import UsdObject
from scenes.sources.usd.reading.stage import TIME, UsdStage
from scenes.stage.names import label_of

_NAME = "{name}"


@dataclass(frozen=True)
class UsdOwner:
    """An object of a stage."""

    name: ObjectName
    prim: Usd.Prim
    """The prim that the object hangs on."""
    free: bool = False
    """Whether the config lets it be put anywhere."""


class Owners:
    """Finds the object of each prim; the rules are those of `UsdConfig.objects`."""

    def __init__(self, stage: UsdStage, rules: Mapping[str, UsdObject]) -> None:
        self._stage = stage
        self._rules = [
            (name, rule, [_pattern(path) for path in rule.paths]) for name, rule in rules.items()
        ]
        self._used: set[str] = set()
        self._owners: dict[tuple[str, str], UsdOwner] = {}
        self._names: set[str] = set()
        self._first: dict[str, Usd.Prim] = {}

    def of(self, prim: Usd.Prim) -> UsdOwner:
        """Object of a drawn or colliding prim."""
        chain = _up_from(prim)
        for name, rule, patterns in self._rules:
            for above in chain:
                if any(pattern.fullmatch(str(above.GetPath())) for pattern in patterns):
                    self._used.add(name)
                    own = name.replace(_NAME, above.GetName())
                    # Prims of one rule without a place for names are one object.
                    anchor = above if _NAME in name else self._first.setdefault(name, above)
                    return self._owner(anchor, own, rule.label, rule.free)
        for above in chain:
            label = class_label(self._stage, above)
            if label is not None:
                return self._owner(above, above.GetName(), label_of(label), False)
        child = self._child(chain)
        return self._owner(child, child.GetName(), label_of(child.GetName()), False)

    def refuse_idle_rules(self, source: object) -> None:
        """Refuse a rule that no prim fits.

        Raises:
            SceneError: Names the rule and its paths.
        """
        for name, rule, _ in self._rules:
            if name not in self._used:
                raise SceneError(
                    f"{source}: objects.{name}: no prim that is drawn or collides fits "
                    f"{', '.join(rule.paths)}, or another rule before it has them all."
                )

    def _owner(self, prim: Usd.Prim, name: str, label: str, free: bool) -> UsdOwner:
        key = (str(prim.GetPath()), name)
        if key not in self._owners:
            unique, part = name, prim.GetParent()
            while unique in self._names and part and not part.IsPseudoRoot():
                unique, part = f"{part.GetName()}/{unique}", part.GetParent()
            number = 2
            while unique in self._names:
                unique, number = f"{name}_{number}", number + 1
            self._names.add(unique)
            self._owners[key] = UsdOwner(ObjectName(unique, label), prim, free)
        return self._owners[key]

    def _child(self, chain: list[Usd.Prim]) -> Usd.Prim:
        """Child of the default prim, or of a scope in it, that holds a prim; else the outermost.

        A stage's only root serves as its default prim where it names none.
        """
        default = self._stage.stage.GetDefaultPrim() or self._only_root()
        inner = [prim for prim in chain if default and prim.GetPath() != default.GetPath()
                 and prim.GetPath().HasPrefix(default.GetPath())]  # fmt: skip
        inner = inner or chain
        while len(inner) > 1 and inner[-1].IsA(UsdGeom.Scope):
            inner = inner[:-1]
        return inner[-1]

    def _only_root(self) -> Usd.Prim | None:
        roots = self._stage.stage.GetPseudoRoot().GetChildren()
        return roots[0] if len(roots) == 1 else None


def class_label(stage: UsdStage, prim: Usd.Prim) -> str | None:
    """Class label authored on a prim, by `UsdSemantics` or by Omniverse's older schema."""
    if prim.HasAPI(UsdSemantics.LabelsAPI, "class"):
        stated = UsdSemantics.LabelsAPI(prim, "class").GetLabelsAttr().Get(TIME)
        labels = [str(label) for label in stated or ()]
        if len(labels) > 1:
            stage.notes.differs(
                f"{prim.GetPath()}: of its class labels {', '.join(labels)} the first is taken"
            )
        return labels[0] if labels else None
    for kind in prim.GetAuthoredPropertiesInNamespace("semantic"):
        base, _, last = kind.GetName().rpartition(":")
        if last == "semanticType" and prim.GetAttribute(kind.GetName()).Get(TIME) == "class":
            label = prim.GetAttribute(f"{base}:semanticData").Get(TIME)
            return str(label) if label else None
    return None


def rigid_prim(prim: Usd.Prim) -> Usd.Prim | None:
    """Nearest prim, from a prim upwards, that is a rigid body; None for a static prim.

    A prim that a scene of this tool calls a body counts, moving or not.
    """
    for above in _up_from(prim):
        body = UsdPhysics.RigidBodyAPI(above) if above.HasAPI(UsdPhysics.RigidBodyAPI) else None
        if body and body.GetRigidBodyEnabledAttr().Get(TIME) is not False:
            return above
        if (above.GetCustomDataByKey("datagen") or {}).get("kind") == "body":
            return above
    return None


def moves_freely(prim: Usd.Prim, joined: frozenset[Sdf.Path]) -> bool:
    """Tell whether a rigid body hangs on nothing: neither kinematic nor held by a joint."""
    if not prim.HasAPI(UsdPhysics.RigidBodyAPI) or prim.GetPath() in joined:
        return False
    return UsdPhysics.RigidBodyAPI(prim).GetKinematicEnabledAttr().Get(TIME) is not True


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Name each path by as much of its end as no other of them shares."""
    split = {path: path.strip("/").split("/") for path in dict.fromkeys(paths)}
    names: dict[str, str] = {}
    pending, count = set(split), 1
    while pending:
        ends: dict[str, list[str]] = {}
        for path, parts in split.items():
            # Prims are called by their names with `_` for `/`, so these must differ.
            ends.setdefault("_".join(parts[-count:]), []).append(path)
        for owners in ends.values():
            whole = count >= max(len(split[owner]) for owner in owners)
            if len(owners) == 1 or whole:
                named = {owner: "/".join(split[owner][-count:]) for owner in owners}
                names.update({owner: end for owner, end in named.items() if owner in pending})
                pending -= set(owners)
        count += 1
    return names


def _up_from(prim: Usd.Prim) -> list[Usd.Prim]:
    chain: list[Usd.Prim] = []
    while prim and not prim.IsPseudoRoot():
        chain.append(prim)
        prim = prim.GetParent()
    return chain


def _pattern(path: str) -> re.Pattern[str]:
    """Pattern of a path in which `**` spans names, `*` letters of a name and `?` one."""
    pieces = re.split(r"(/\*\*(?=/|$)|\*|\?)", path)
    meaning = {"/**": "(?:/[^/]+)*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meaning.get(piece, re.escape(piece)) for piece in pieces))
