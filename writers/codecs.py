"""Lossless picture codecs: rgb, label maps, and depth in millimetres."""

import io
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from writers.errors import ReadError, WriteError

LabelBits = Literal[8, 16]
"""Bits per pixel of the label maps of a run."""

_LABEL_TYPES: dict[int, type[np.uint8] | type[np.uint16]] = {8: np.uint8, 16: np.uint16}


def label_bits(max_id: int) -> LabelBits:
    """Give the bits per pixel that hold all numbers from 0 to `max_id`.

    Raises:
        WriteError: The numbers do not fit into 16 bits.
    """
    if max_id >= 1 << 16:
        raise WriteError(f"A label map holds numbers up to 65535, but the run has {max_id}.")
    return 8 if max_id < 1 << 8 else 16


def encode_rgb(rgb: NDArray[np.uint8], codec: Literal["webp", "png"]) -> bytes:
    """Encode a picture [h, w, 3] without loss.

    Raises:
        WriteError: The codec cannot hold a picture of that size.
    """
    image = Image.fromarray(np.ascontiguousarray(rgb))
    if codec == "png":
        return _save(image, "PNG", compress_level=1)
    if max(image.size) > 16383:
        raise WriteError(
            f"A WebP picture has at most 16383 pixels a side, but this one is "
            f"{image.width}x{image.height}. Set the rgb codec to 'png'."
        )
    return _save(image, "WEBP", lossless=True, method=0, quality=0)


def encode_labels(ids: NDArray[np.int32], bits: LabelBits) -> bytes:
    """Encode a label map [h, w] as a single-channel PNG.

    Raises:
        WriteError: A number does not fit into `bits`.
    """
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high >= 1 << bits:
        raise WriteError(
            f"number {low if low < 0 else high} does not fit into a label map of {bits} bits "
            f"(0 to {(1 << bits) - 1})"
        )
    return _save(Image.fromarray(ids.astype(_LABEL_TYPES[bits])), "PNG", compress_level=6)


def encode_depth_mm(depth: NDArray[np.float32]) -> bytes:
    """Encode depth [h, w] [m] as a 16-bit PNG in whole millimetres.

    Pixels that show nothing and depths that do not round to 1..65535 mm become 0, which means
    that the picture knows no depth there.
    """
    millimetres = np.rint(depth.astype(np.float64) * 1000.0)
    known = (millimetres >= 1.0) & (millimetres <= 65535.0)
    return _save(
        Image.fromarray(np.where(known, millimetres, 0.0).astype(np.uint16)),
        "PNG",
        compress_level=6,
    )


def decode_rgb(data: bytes) -> NDArray[np.uint8]:
    """Decode a picture to [h, w, 3].

    Raises:
        ReadError: The bytes are no RGB picture.
    """
    return _load(data, ("RGB",)).astype(np.uint8, copy=False)


def decode_labels(data: bytes) -> NDArray[np.int32]:
    """Decode a label map to [h, w].

    Raises:
        ReadError: The bytes are no single-channel picture of 8 or 16 bits.
    """
    return _load(data, ("L", "I;16")).astype(np.int32)


def decode_depth_mm(data: bytes) -> NDArray[np.float32]:
    """Decode a millimetre picture to depth [h, w] [m]; 0 becomes +inf.

    Raises:
        ReadError: The bytes are no single-channel picture of 16 bits.
    """
    millimetres = _load(data, ("I;16",)).astype(np.float32)
    return np.where(millimetres > 0, millimetres / np.float32(1000), np.float32(np.inf))


def _save(image: Image.Image, form: str, **options: int | bool) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def _load(data: bytes, modes: tuple[str, ...]) -> NDArray[np.generic]:
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "WEBP")) as image:
            if image.mode not in modes:
                raise ReadError(f"the picture has mode {image.mode}, not {' or '.join(modes)}")
            return cast("NDArray[np.generic]", np.array(image))
    except ReadError:
        raise
    except UnidentifiedImageError as error:
        raise ReadError(
            "the picture cannot be decoded (it is of no kind that is written)"
        ) from error
    except Exception as error:  # Damaged bytes raise whatever their decoder did not foresee.
        raise ReadError("the picture cannot be decoded") from error
