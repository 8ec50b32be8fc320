"""MuJoCo XML as text: its tags and attributes, read as leniently as MuJoCo's own parser does.

A strict parser refuses files that MuJoCo takes, and what it does not see, it cannot refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from scenes.errors import AssetError

_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(rb"<\s*([A-Za-z_][\w.:-]*)((?:[^\"'<>]|\"[^\"]*\"|'[^']*')*+)>")
_END = re.compile(rb"</\s*([A-Za-z_][\w.:-]*)\s*>")
_ATTRIBUTE = re.compile(rb"([A-Za-z_][\w.:-]*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_DECLARATION = re.compile(rb"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
_NUL = re.compile(rb"\0|&#(?:0+|[xX]0+);")
_REFERENCE = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(lt|gt|amp|quot|apos));")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


@dataclass(frozen=True)
class Tag:
    """An opening tag."""

    name: str
    attributes: Mapping[str, str]
    place: int
    """Where it ends, in bytes from the start of the file without its comments."""
    empty: bool
    """It closes itself."""


def tags(data: bytes) -> Iterator[Tag]:
    """List the opening tags of an XML file in order."""
    for match in _TAG.finditer(_COMMENT.sub(b"", data)):
        pairs = (
            (found[1].decode(), _decoded(found[2] if found[2] is not None else found[3]))
            for found in _ATTRIBUTE.finditer(match[2])
        )
        empty = match[2].rstrip().endswith(b"/")
        yield Tag(match[1].decode(), dict(pairs), match.end(), empty)


def ends(data: bytes, name: str) -> list[int]:
    """Places of the closing tags of a name, as `Tag.place` counts."""
    found = _END.finditer(_COMMENT.sub(b"", data))
    return [match.start() for match in found if match[1].decode() == name]


def read_xml(path: Path) -> bytes:
    """Read an XML file that declares nothing and holds no NUL character.

    Raises:
        AssetError: It has a document type or entity declaration, or a NUL character, be it one
            written as a reference; names the file and the line.
    """
    data = path.read_bytes()
    if found := _DECLARATION.search(_COMMENT.sub(b"", data)):
        raise AssetError(
            f"{path}: holds <!{found[1].decode().upper()}; models with document types or entities "
            "are not read. Remove the declaration."
        )
    if found := _NUL.search(data):
        line = data.count(b"\n", 0, found.start()) + 1
        raise AssetError(f"{path}: line {line}: a NUL character; names and values hold none.")
    return data


def _decoded(value: bytes) -> str:
    def character(match: re.Match[str]) -> str:
        if match[3]:
            return _ENTITIES[match[3]]
        code = int(match[1]) if match[1] else int(match[2], 16)
        return chr(code) if code <= 0x10FFFF else match[0]

    return _REFERENCE.sub(character, value.decode("utf-8", errors="surrogateescape"))
