"""Which kind of source a file is."""

from __future__ import annotations

from pathlib import Path

from scenes.errors import AssetError
from scenes.sources.file_source import FileSource
from scenes.sources.files.raw_xml import tags
from scenes.sources.registry import file_classes


def source_kind(path: Path) -> type[FileSource]:
    """Tell the kind of a file by its suffix, else by its root element.

    Raises:
        AssetError: It does not exist, or is none of the kinds.
    """
    try:
        there = path.is_file()
    except OSError as error:
        raise AssetError(f"{path}: cannot be read: {error.strerror}.") from error
    if not there:
        raise AssetError(f"{path}: no such file.")
    kinds = file_classes()
    suffix = path.suffix.lower()
    if found := next((kind for kind in kinds if suffix in kind.suffixes), None):
        return found
    first = next(tags(path.read_bytes()), None)
    name = None if first is None else first.name
    if found := next((kind for kind in kinds if name in kind.root_elements), None):
        return found
    start = "no XML element" if name is None else f"<{name}>"
    *others, last = map(_told, kinds)
    raise AssetError(f"{path}: it starts with {start}; scenes are {', '.join(others)} and {last}.")


def _told(kind: type[FileSource]) -> str:
    """Name a kind with all that it is known by."""
    marks = (", ".join(f"<{name}>" for name in kind.root_elements), ", ".join(kind.suffixes))
    return f"{kind.title} ({' or '.join(filter(None, marks))})"
