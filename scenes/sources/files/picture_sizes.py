"""Refusal of pictures that are too large, before they are decoded."""

from __future__ import annotations

import struct
from pathlib import Path

import mujoco
from PIL import Image

from scenes.errors import AssetError

LARGEST_SIDE = 16384
"""Longest side of a picture [pixel]; a stack of six cube sides may be six times as high."""
MOST_PIXELS = 2**27
"""Most pixels of a picture."""

# Pillow would warn of pictures that are allowed here.
Image.MAX_IMAGE_PIXELS = MOST_PIXELS

_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_HEADER = struct.Struct(">8s8xII")


def refuse_large_picture(path: Path, name: str) -> None:
    """Read the size in a PNG file's header and refuse a picture that is too large.

    A few kilobytes can unpack to gigabytes; the other formats that MuJoCo reads are not packed.

    Raises:
        AssetError: Names file, element and size.
    """
    with path.open("rb") as file:
        header = file.read(_PNG_HEADER.size)
    if len(header) < _PNG_HEADER.size or not header.startswith(_PNG):
        return
    _, width, height = _PNG_HEADER.unpack(header)
    refuse_large(f"{path}: picture of {name!r}", width, height)


def refuse_large_builtins(spec: mujoco.MjSpec, source: Path) -> None:
    """Refuse pictures made by MuJoCo, and inline height fields, that are too large.

    Raises:
        AssetError: Names model, element and size.
    """
    for texture in spec.textures:
        refuse_large(f"{source}: texture {texture.name!r}", texture.width, texture.height)
    for hfield in spec.hfields:
        refuse_large(f"{source}: hfield {hfield.name!r}", hfield.ncol, hfield.nrow)


def refuse_large(what: str, width: int, height: int) -> None:
    """Refuse a picture that is too large, by its size [pixel].

    Raises:
        AssetError: Starts with `what` it is.
    """
    side = max(width, height / 6 if height == 6 * width else height)
    if side > LARGEST_SIDE or width * height > MOST_PIXELS:
        raise AssetError(
            f"{what}: {width} x {height} pixels; at most {LARGEST_SIDE} per side and "
            f"{MOST_PIXELS} in all are read. Make it smaller."
        )
