"""Pictures inside a page: small WebP files as data addresses."""

from __future__ import annotations

import base64
import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def photo(picture: NDArray[np.uint8], side: int) -> bytes:
    """Encode a picture [h, w, 3], no side longer than `side` [px], as a WebP file."""
    image = Image.fromarray(np.ascontiguousarray(picture))
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    return _encoded(image, quality=88, method=2)


def drawing(picture: NDArray[np.uint8], side: int) -> bytes:
    """Encode a picture of few colours [h, w, 3] without loss; see `photo`."""
    image = Image.fromarray(np.ascontiguousarray(picture))
    image.thumbnail((side, side), Image.Resampling.NEAREST)
    return _encoded(image, lossless=True, quality=30, method=2)


def data_address(webp: bytes) -> str:
    """Write a WebP file as an address that holds it."""
    return "data:image/webp;base64," + base64.b64encode(webp).decode()


def _encoded(image: Image.Image, **options: int | bool) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", **options)
    return buffer.getvalue()
