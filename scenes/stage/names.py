"""Prim names: valid identifiers that stay unique beside each other."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import blake2b

from pxr import Tf, Usd

from scenes.errors import SceneError

_DIGEST_BYTES = 4
_LABEL = re.compile(r"[^a-z0-9_]+")


class UniqueNames:
    """Names of the children of one prim.

    Args:
        source: What the names come from, for messages.
        ambiguous: Names by kind that another name of the source would be spelled like.
    """

    def __init__(self, source: str, ambiguous: Mapping[str, Collection[str]] | None = None) -> None:
        self._source = source
        self._ambiguous = ambiguous or {}
        self._taken: set[str] = set()
        self._given: dict[tuple[str, str], str] = {}
        """Names in the source, by kind and identifier."""

    def identifier(self, name: str | None, kind: str, number: int) -> str:
        """Identifier for a named element; an unnamed one is called by its kind and number.

        An ambiguous name gets its digest behind. Elements of different kinds, or one that shows
        twice, may share a name: the later one gets its number behind.

        Raises:
            SceneError: The name is blank.
        """
        wanted = f"{kind}_{number}"
        if name:
            wanted = self._spelled(name, kind)
        if wanted in self._taken:
            wanted = f"{wanted}_{number}"
        while wanted in self._taken:
            wanted += "_"
        self._taken.add(wanted)
        return wanted

    def _spelled(self, name: str, kind: str) -> str:
        if not name.strip():
            raise SceneError(
                f"{self._source}: the {kind} name {name!r} is blank; give it another, or none."
            )
        plain = identifier_of(name)
        if name in self._ambiguous.get(kind, ()):
            return told_apart(plain, name)
        if self._given.setdefault((kind, plain), name) != name:
            return told_apart(plain, name)
        return plain


def ambiguous_names(names: Iterable[str], spell: Callable[[str], str]) -> frozenset[str]:
    """Names that another one is spelled like, but for one that is its own spelling.

    What is found depends on the names alone, not on their order.
    """
    alike: dict[str, set[str]] = {}
    for name in names:
        alike.setdefault(spell(name), set()).add(name)
    return frozenset(
        name
        for spelling, group in alike.items()
        if len(group) > 1
        for name in group
        if name != spelling
    )


def told_apart(spelling: str, name: str) -> str:
    """Put a short digest of a name behind its spelling."""
    digest = blake2b(name.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES)
    return f"{spelling}_{digest.hexdigest()}"


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
