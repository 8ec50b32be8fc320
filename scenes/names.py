"""Prim names: valid identifiers that stay unique beside each other."""

from __future__ import annotations

import re
import unicodedata

from pxr import Tf, Usd

_LABEL = re.compile(r"[^a-z0-9_]+")


class UniqueNames:
    """Names of the children of one prim."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def identifier(self, name: str | None, kind: str, number: int) -> str:
        """Identifier for a named element; an unnamed one is called by its kind and number."""
        wanted = Tf.MakeValidIdentifier(name) if name else f"{kind}_{number}"
        if wanted in self._taken:
            wanted = f"{wanted}_{number}"
        while wanted in self._taken:
            wanted += "_"
        self._taken.add(wanted)
        return wanted


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
