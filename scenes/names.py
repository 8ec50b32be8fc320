"""Prim names: valid identifiers that stay unique beside each other."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from pxr import Tf, Usd

from scenes.errors import SceneError

_LABEL = re.compile(r"[^a-z0-9_]+")


class UniqueNames:
    """Names of the children of one prim.

    Args:
        source: What the names come from, for messages.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._taken: set[str] = set()
        self._given: dict[tuple[str, str], str] = {}
        """Names in the source, by kind and identifier."""

    def identifier(self, name: str | None, kind: str, number: int) -> str:
        """Identifier for a named element; an unnamed one is called by its kind and number.

        Elements of different kinds, or one that shows twice, may share a name: the later one gets
        its number behind.

        Raises:
            SceneError: The name is blank, or another one of its kind gives the same identifier.
        """
        wanted = f"{kind}_{number}"
        if name:
            wanted = self._cleaned(name, kind)
            other = self._given.setdefault((kind, wanted), name)
            if other != name:
                raise SceneError(
                    f"{self._source}: {kind} {other!r} and {kind} {name!r} would both be called "
                    f"{wanted!r} in the stage; rename one of them."
                )
        if wanted in self._taken:
            wanted = f"{wanted}_{number}"
        while wanted in self._taken:
            wanted += "_"
        self._taken.add(wanted)
        return wanted

    def _cleaned(self, name: str, kind: str) -> str:
        if not name.strip():
            raise SceneError(
                f"{self._source}: the {kind} name {name!r} is blank; give it another, or none."
            )
        return identifier_of(name)


def identifier_of(name: str) -> str:
    """Valid identifier for a name; what is not ASCII stands by its code point."""
    spelled = "".join(c if c.isascii() else f"_u{ord(c):x}_" for c in name)
    return Tf.MakeValidIdentifier(f"_{spelled}" if spelled[:1].isdigit() else spelled)


def label_of(name: str) -> str:
    """Class label, `[a-z0-9_]+`, of a name.

    Letters lose their accents; what has no Latin form stands by its code point, so that labels
    of different names stay apart.
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    spelled = "".join(
        f"_u{ord(c):x}_" if c.isalnum() and not c.isascii() else c for c in plain.lower()
    )
    return re.sub("_+", "_", _LABEL.sub("_", spelled)).strip("_") or "unnamed"


def provenance(prim: Usd.Prim, kind: str, name: str | None, number: int) -> None:
    """Note on a prim which element of the compiled model it came from."""
    prim.SetCustomDataByKey("datagen", {"kind": kind, "name": name or "", "id": number})


def note_origins(stage: Usd.Stage, origins: Mapping[tuple[str, str], str]) -> None:
    """Note on the prims of elements which prim of another stage these came from.

    Args:
        stage: The stage.
        origins: Path in the other stage by kind and name of the element.
    """
    if not origins:
        return
    for prim in stage.Traverse():
        source = prim.GetCustomDataByKey("datagen") or {}
        origin = origins.get((str(source.get("kind")), str(source.get("name"))))
        if origin is not None:
            prim.SetCustomDataByKey("datagen", {**source, "prim": origin})
