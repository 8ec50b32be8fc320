"""Textures of a compiled model as PNG files, stored once by content."""

from __future__ import annotations

import io
import shutil
import zlib
from hashlib import blake2b
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from scenes.storage.digests import content_digest, file_digest
from scenes.storage.temporary import temporary_file

_STORED_DIGITS = 24
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


class TextureFiles:
    """Writes textures into a scene folder, sharing equal ones with other scenes.

    Args:
        folder: Folder of the scene's textures.
        store: Folder that keeps every distinct texture once; files are hard links to it where
            the file system allows. None keeps the textures in the scene only.
    """

    def __init__(self, folder: Path, store: Path | None) -> None:
        self._folder = folder
        self._store = store
        self._names: dict[int, str] = {}

    def file(self, model: mujoco.MjModel, texture: int) -> str:
        """Name of the file of a texture, written on first use."""
        if texture not in self._names:
            self._names[texture] = self.write(texture_pixels(model, texture))
        return self._names[texture]

    @property
    def count(self) -> int:
        """Number of distinct textures written."""
        return len(set(self._names.values()))

    def write(self, pixels: NDArray[np.uint8]) -> str:
        """Write a picture, [h, w, channels], and give the name of its file."""
        digest = blake2b(repr(pixels.shape).encode(), digest_size=12)
        digest.update(np.ascontiguousarray(pixels).data)
        name = f"{digest.hexdigest()}.png"
        target = self._folder / name
        if target.exists():
            return name
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._store is None:
            target.write_bytes(_png(pixels))
            return name
        stored = self._stored(self._store, name, pixels)
        try:
            target.hardlink_to(stored)
        except OSError:
            shutil.copyfile(stored, target)
        return name

    def _stored(self, store: Path, name: str, pixels: NDArray[np.uint8]) -> Path:
        """File of a texture in the store, which has the digest of the file in its name."""
        stem = name.removesuffix(".png")
        for kept in store.glob(f"{stem}-*.png"):
            if kept.stem == f"{stem}-{file_digest(kept)[:_STORED_DIGITS]}":
                return kept
        data = _png(pixels)
        store.mkdir(parents=True, exist_ok=True)
        stored = store / f"{stem}-{content_digest(data)[:_STORED_DIGITS]}.png"
        temporary = temporary_file(stored)
        temporary.write_bytes(data)
        temporary.replace(stored)
        return stored


def texture_pixels(model: mujoco.MjModel, texture: int) -> NDArray[np.uint8]:
    """Pixels of a compiled texture, row 0 at the top, [h, w, channels]."""
    height, width = int(model.tex_height[texture]), int(model.tex_width[texture])
    channels = int(model.tex_nchannel[texture])
    first = int(model.tex_adr[texture])
    return model.tex_data[first : first + height * width * channels].reshape(
        height, width, channels
    )


def _png(pixels: NDArray[np.uint8]) -> bytes:
    channels = pixels.shape[2]
    image = Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels, _MODES[channels])
    buffer = io.BytesIO()
    # Run lengths alone are as small as a search for repeats, and sooner found.
    image.save(buffer, "PNG", compress_level=1, compress_type=zlib.Z_RLE)
    return buffer.getvalue()
