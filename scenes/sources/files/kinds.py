"""Which kind of source a file is."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from scenes.errors import AssetError
from scenes.sources.files.raw_xml import tags

Kind = Literal["mjcf", "urdf", "usd"]

_BY_SUFFIX: dict[str, Kind] = {
    ".urdf": "urdf", ".usd": "usd", ".usda": "usd", ".usdc": "usd", ".usdz": "usd",
}  # fmt: skip
_BY_ROOT: dict[str, Kind] = {"mujoco": "mjcf", "robot": "urdf"}


def source_kind(path: Path) -> Kind:
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
    if kind := _BY_SUFFIX.get(path.suffix.lower()):
        return kind
    first = next(tags(path.read_bytes()), None)
    if first is None or first.name not in _BY_ROOT:
        found = "no XML element" if first is None else f"<{first.name}>"
        raise AssetError(
            f"{path}: it starts with {found}; scenes are MJCF (<mujoco>), URDF (<robot> or .urdf) "
            "and USD (.usd, .usda, .usdc, .usdz)."
        )
    return _BY_ROOT[first.name]
