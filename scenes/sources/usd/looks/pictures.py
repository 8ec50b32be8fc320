"""Pictures that a stage's materials name, as display values."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError
from pxr import Ar, Sdf, Usd

from scenes.errors import AssetError
from scenes.sources.files.picture_sizes import refuse_large
from scenes.sources.usd.reading.stage import UsdStage
from scenes.stage.colors import srgb_decode, srgb_encode

_LINEAR = ("raw", "linear")
_BYTE = np.arange(256) / 255.0
_LINEAR_OF_BYTE = srgb_decode(_BYTE)
_DEEP = ("I", "F", "I;16", "I;16B", "I;16L")


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture with row 0 at the top."""

    name: str
    pixels: NDArray[np.uint8]
    """Display values, [h, w, 3]."""
    outside: tuple[int, int, int] = (0, 0, 0)
    """Display value beyond the edges where it is black there: the bias, if it has one."""

    @cached_property
    def mean(self) -> tuple[float, float, float]:
        """Display value of its mean light, 0 to 1."""
        counts = [np.bincount(self.pixels[..., c].ravel(), minlength=256) for c in range(3)]
        light = np.array(counts) @ _LINEAR_OF_BYTE / self.pixels[..., 0].size
        r, g, b = (float(v) for v in srgb_encode(light))
        return r, g, b


class Pictures:
    """Reads each picture of a stage once."""

    def __init__(self, stage: UsdStage) -> None:
        self._stage = stage
        self._read: dict[tuple[str, str, bytes], Picture] = {}

    def read(
        self,
        prim: Usd.Prim,
        file: Any,
        color_space: str,
        curve: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    ) -> Picture:
        """Read a picture.

        Args:
            prim: The material, for messages.
            file: Its asset path.
            color_space: `sRGB`, `raw` or `auto`.
            curve: Scale and bias of linear values, [3] each, to put into the pixels.

        Raises:
            AssetError: It is missing, too large or not readable; names material and full path.
        """
        if not isinstance(file, Sdf.AssetPath) or not file.path:
            raise self._stage.refusal(prim, "its picture has no file.")
        place = file.resolvedPath
        if not place:
            raise self._stage.refusal(
                prim, f"picture {file.path!r}: no such file: {self._tried(file)}."
            )
        if not self._stage.files.hold(place):
            raise self._stage.refusal(
                prim,
                f"picture {file.path!r}: {place} is not read; name a picture by its path from the "
                "layer, with no placeholder, as a file of its own format.",
            )
        key = (place, color_space, b"" if curve is None else np.stack(curve).tobytes())
        if key not in self._read:
            pixels, outside = self._pixels(prim, file, place), (0, 0, 0)
            if color_space in _LINEAR or curve is not None:
                linear = _BYTE if color_space in _LINEAR else _LINEAR_OF_BYTE
                scale, bias = curve or (np.ones(3), np.zeros(3))
                display = srgb_encode(np.clip(linear[:, None] * scale + bias, 0.0, 1.0))
                table = (display * 255.0 + 0.5).astype(np.uint8)
                pixels = np.stack([table[pixels[..., c], c] for c in range(3)], axis=-1)
                outside = (int(table[0, 0]), int(table[0, 1]), int(table[0, 2]))
                self._stage.notes.differs(
                    f"material {prim.GetPath()}: picture {file.path}: its "
                    f"{'linear values' if color_space in _LINEAR else 'scale and bias'} became "
                    "display values in 8 bits"
                )
            stem = place.replace("\\", "/").rpartition("/")[2].partition("]")[0]
            digest = blake2b(repr(key).encode(), digest_size=4).hexdigest()
            self._read[key] = Picture(f"{stem}-{digest}", pixels, outside)
        return self._read[key]

    def _pixels(self, prim: Usd.Prim, file: Sdf.AssetPath, place: str) -> NDArray[np.uint8]:
        asset = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(place))
        if not asset:
            raise self._stage.refusal(prim, f"picture {file.path!r} cannot be read: {place}.")
        try:
            with warnings.catch_warnings():
                # Sizes are checked below, before anything is decoded.
                warnings.simplefilter("ignore", Image.DecompressionBombWarning)
                image = Image.open(io.BytesIO(asset.GetBuffer()))
            with image:
                refuse_large(f"{place}: picture of {prim.GetPath()}", *image.size)
                if image.mode in _DEEP:
                    self._stage.notes.differs(f"picture {file.path}: 16 bits became 8")
                    values = np.asarray(image, dtype=np.float64) / 257.0
                    gray = np.clip(values + 0.5, 0, 255).astype(np.uint8)
                    return np.repeat(gray[..., None], 3, axis=2)
                if "A" in image.getbands():
                    self._stage.notes.differs(f"picture {file.path}: its alpha is not used")
                return np.asarray(image.convert("RGB"))
        except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
            raise AssetError(
                f"{self._stage.source}: {prim.GetPath()}: picture {place} cannot be read; PNG, "
                "JPEG, BMP, TIFF and TGA can."
            ) from error

    def _tried(self, file: Sdf.AssetPath) -> str:
        base = self._stage.stage.GetRootLayer()
        place = base.ComputeAbsolutePath(file.evaluatedPath or file.path)
        return str(self._stage.source.absolute().parent / place)
