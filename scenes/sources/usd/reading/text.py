"""USD text files that are no text, refused by line and prim before USD reads them."""

from __future__ import annotations

import re
from pathlib import Path

from scenes.errors import AssetError

_COOKIE = b"#usda"
_SHOWN_BYTES = 24
_TOKEN = re.compile(
    rb"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|@[^@\n]*@"
    rb"|\b(?:def|over|class)\b(?:\s+[\w:]+)?\s+\"(?P<prim>[^\"\n]*)\"|[{}]",
    re.DOTALL,
)


def refuse_undecodable(file: Path) -> None:
    """Refuse a USD text file with bytes that are not UTF-8, which USD does not read either.

    Raises:
        AssetError: Names file, line, prim and bytes.
    """
    with file.open("rb") as stream:
        if stream.read(len(_COOKIE)) != _COOKIE:
            return
    data = file.read_bytes()
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        begin = data.rfind(b"\n", 0, error.start) + 1
        shown = data[max(begin, error.start - _SHOWN_BYTES) : error.start + _SHOWN_BYTES]
        text = shown.partition(b"\n")[0].decode(errors="backslashreplace").strip()
        raise AssetError(
            f"{file}: line {line}, in the prim {_prim_at(data, error.start)}: '{text}' holds bytes "
            "that are not UTF-8; store the file in UTF-8."
        ) from error


def _prim_at(data: bytes, place: int) -> str:
    """Path of the innermost prim whose braces hold a place, `/` outside of all."""
    inside: list[str] = []
    named: str | None = None
    for token in _TOKEN.finditer(data, 0, place):
        if token["prim"] is not None:
            named = token["prim"].decode(errors="backslashreplace")
        elif token[0] == b"{":
            # Braces of dictionaries and variants have no name.
            inside.append(named or "")
            named = None
        elif token[0] == b"}" and inside:
            inside.pop()
    names = [*filter(None, inside), *filter(None, [named])]
    return "/" + "/".join(names)
