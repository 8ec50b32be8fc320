"""Kinds of columns: the Arrow type of each, its encoder and its decoder."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from writers.codecs import (
    LabelBits,
    decode_depth_mm,
    decode_labels,
    decode_rgb,
    encode_depth_mm,
    encode_labels,
    encode_rgb,
)
from writers.errors import ReadError, WriteError

Layout = Literal["plain", "picture", "floats"]
"""How a file holds a column: plain values, encoded pictures, or flat float32 arrays."""

IMAGE_TYPE = pa.struct([pa.field("bytes", pa.binary()), pa.field("path", pa.string())])
"""Arrow type of a picture column: an encoded file and its (absent) name."""

_FLOAT32_LIST = pa.list_(pa.float32())
_FLOAT64_LIST = pa.list_(pa.float64())


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFormat:
    """What encoders must know of the row and the run."""

    size: tuple[int, int]
    """Height and width of the picture [px]."""

    rgb: Literal["webp", "png"]
    """Codec of the rgb column."""

    label_bits: LabelBits
    """Bits per pixel of the label maps."""


class Kind(Protocol):
    """How the values of a column are stored; None never reaches the encoder or the decoder."""

    @property
    def arrow(self) -> pa.DataType:
        """Arrow type of the column."""
        ...

    @property
    def layout(self) -> Layout:
        """How a file holds the column."""
        ...

    def encode(self, name: str, value: object, form: RowFormat) -> object:
        """Give what is stored for a value: a plain value, a file's bytes or a flat array.

        Raises:
            WriteError: The value does not fit; says why, with the quoted name.
        """
        ...

    def decode(self, name: str, stored: object, size: tuple[int, int]) -> object:
        """Give the value that was stored in a row whose picture has that height and width [px].

        Raises:
            ReadError: Says in half a sentence why there is no such value.
        """
        ...


@dataclass(frozen=True, slots=True)
class Plain:
    """Values that Arrow takes as they are."""

    arrow: pa.DataType
    layout: Layout = "plain"

    def encode(self, name: str, value: object, form: RowFormat) -> object:
        """Give the value."""
        return value

    def decode(self, name: str, stored: object, size: tuple[int, int]) -> object:
        """Give the value."""
        return stored


@dataclass(frozen=True, slots=True)
class Matrix:
    """Finite numbers of one shape, stored row major as a list of float64."""

    shape: tuple[int, ...]
    arrow: pa.DataType = _FLOAT64_LIST
    layout: Layout = "plain"

    def encode(self, name: str, value: object, form: RowFormat) -> object:
        """Flatten the array.

        Raises:
            WriteError: It has another shape, or a number that is not finite.
        """
        array = np.asarray(value, np.float64)
        if array.shape != self.shape:
            raise WriteError(f"'{name}' has shape {list(array.shape)}, not {list(self.shape)}.")
        if not np.isfinite(array).all():
            raise WriteError(f"'{name}' holds a number that is not finite.")
        return array.reshape(-1)

    def decode(self, name: str, stored: object, size: tuple[int, int]) -> object:
        """Give the array its shape."""
        return np.array(stored, np.float64).reshape(self.shape)


@dataclass(frozen=True, slots=True)
class Picture:
    """A pass that is stored as an encoded picture."""

    dtype: type[np.generic]
    channels: int
    to_bytes: Callable[[NDArray, RowFormat], bytes]
    from_bytes: Callable[[bytes], NDArray]
    arrow: pa.DataType = IMAGE_TYPE
    layout: Layout = "picture"

    def encode(self, name: str, value: object, form: RowFormat) -> bytes:
        """Encode the pass [h, w] or [h, w, channels].

        Raises:
            WriteError: It has another shape or type, or the codec does not take it.
        """
        return self.to_bytes(_checked(name, value, self.dtype, self.channels, form.size), form)

    def decode(self, name: str, stored: object, size: tuple[int, int]) -> object:
        """Decode the pass.

        Raises:
            ReadError: The bytes are no such picture, or one of another size.
        """
        if not isinstance(stored, bytes):
            raise ReadError(f"'{name}' is no encoded picture")
        picture = self.from_bytes(stored)
        if picture.shape[:2] != size:
            raise ReadError(f"'{name}' has shape {list(picture.shape[:2])}, not {list(size)}")
        return picture


@dataclass(frozen=True, slots=True)
class Floats:
    """A pass that is stored as a row-major list of float32."""

    channels: int = 1
    positive: bool = False
    """Whether its numbers are distances: above 0, and +inf where nothing is seen."""

    arrow: pa.DataType = _FLOAT32_LIST
    layout: Layout = "floats"

    def encode(self, name: str, value: object, form: RowFormat) -> NDArray[np.float32]:
        """Flatten the pass [h, w] or [h, w, channels].

        Raises:
            WriteError: It has another shape or type, or a distance is not positive.
        """
        array = _checked(name, value, np.float32, self.channels, form.size)
        if self.positive and not (array > 0).all():
            y, x = np.argwhere(~(array > 0))[0]
            raise WriteError(
                f"'{name}' is {array[y, x]} at column {x}, row {y}; it is positive, "
                "or +inf where nothing is seen."
            )
        return array.reshape(-1)

    def decode(self, name: str, stored: object, size: tuple[int, int]) -> object:
        """Give the pass its shape, as a copy: a view would keep the whole row group alive."""
        return np.array(stored, np.float32).reshape(_pass_shape(size, self.channels))


def _pass_shape(size: tuple[int, int], channels: int) -> tuple[int, ...]:
    return size if channels == 1 else (*size, channels)


def _checked(
    name: str, value: object, dtype: type[np.generic], channels: int, size: tuple[int, int]
) -> NDArray:
    array = np.asarray(value)
    shape = _pass_shape(size, channels)
    if array.shape != shape or array.dtype != dtype:
        raise WriteError(
            f"'{name}' is {array.dtype} {list(array.shape)}, not {np.dtype(dtype)} {list(shape)}."
        )
    return array


def feature(kind: pa.DataType) -> dict[str, object]:
    """Spell an Arrow type as a feature of the datasets library."""
    if kind.equals(IMAGE_TYPE):
        return {"_type": "Image"}
    if isinstance(kind, pa.ListType):
        return {"feature": feature(kind.value_type), "_type": "List"}
    if isinstance(kind, pa.StructType):
        return {child.name: feature(child.type) for child in kind}
    return {"dtype": _FEATURE_NAMES.get(str(kind), str(kind)), "_type": "Value"}


_FEATURE_NAMES = {"float": "float32", "double": "float64"}

TEXT = Plain(pa.string())
TEXTS = Plain(pa.list_(pa.string()))
INT32 = Plain(pa.int32())
INT64 = Plain(pa.int64())
FLOAT32 = Plain(pa.float32())
FLOAT64 = Plain(pa.float64())
FLOAT32_LIST = Plain(_FLOAT32_LIST)
FLOAT64_LIST = Plain(_FLOAT64_LIST)
VECTOR = Matrix((3,))
CAMERA_MATRIX = Matrix((3, 3))
TRANSFORM = Matrix((4, 4))
RGB = Picture(np.uint8, 3, lambda rgb, form: encode_rgb(rgb, form.rgb), decode_rgb)
LABELS = Picture(np.int32, 1, lambda ids, form: encode_labels(ids, form.label_bits), decode_labels)
DEPTH_MM = Picture(np.float32, 1, lambda depth, _: encode_depth_mm(depth), decode_depth_mm)
DISTANCE = Floats(positive=True)
FLOATS_3 = Floats(channels=3)
