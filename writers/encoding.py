"""From rows to Arrow tables, and the checks a row must pass."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from writers.codecs import LabelBits
from writers.columns import Column
from writers.config import OutputConfig
from writers.errors import WriteError
from writers.kinds import IMAGE_TYPE, Layout, RowFormat
from writers.rows import COLUMNS, Row


@dataclass(frozen=True, slots=True)
class EncodedRow:
    """A row ready for a table: plain values, encoded pictures, flat float32 passes."""

    row_id: str
    """Key of the row."""

    plain: Mapping[str, object]
    """Plain values by column."""

    pictures: Mapping[str, bytes | None]
    """Encoded pictures by column."""

    floats: Mapping[str, NDArray[np.float32] | None]
    """Flat, row-major float passes by column."""

    @property
    def nbytes(self) -> int:
        """Give the most that the row takes in a row group before compression [bytes]."""
        pictures = sum(len(data) for data in self.pictures.values() if data is not None)
        floats = sum(array.nbytes for array in self.floats.values() if array is not None)
        return pictures + floats + _plain_bytes(self.plain)


def _plain_bytes(value: object) -> int:
    """Bound the size of a plain value, with its levels and its length [bytes]."""
    match value:
        case str() | bytes():
            return 8 + (len(value.encode()) if isinstance(value, str) else len(value))
        case np.ndarray():
            return value.nbytes + 4 * value.size + 8
        case Mapping():
            return sum(_plain_bytes(each) for each in value.values())
        case list() | tuple():
            return 8 + sum(_plain_bytes(each) for each in value)
        case _:
            return 12


def encode_row(row: Row, config: OutputConfig, schema: pa.Schema, bits: LabelBits) -> EncodedRow:
    """Check a row and encode the columns of its shard.

    Raises:
        WriteError: A pass is missing, not asked for, or of the wrong shape or type; a depth is
            not positive; a number does not fit its label map; a matrix is misshapen.
    """
    names = set(schema.names)
    form = RowFormat(size=(row.height, row.width), rgb=config.rgb, label_bits=bits)
    stored: dict[Layout, dict[str, Any]] = {"plain": {}, "picture": {}, "floats": {}}
    try:
        _check(row, names)
        for column in COLUMNS:
            if column.name in names:
                stored[column.kind.layout][column.name] = _stored(row, column, form)
    except WriteError as error:
        raise WriteError(f"Row {row.row_id}: {error}") from error
    return EncodedRow(row.row_id, stored["plain"], stored["picture"], stored["floats"])


def _stored(row: Row, column: Column, form: RowFormat) -> object:
    value = getattr(row, column.source)
    return None if value is None else column.kind.encode(column.name, value, form)


def _check(row: Row, names: Collection[str]) -> None:
    for name in ("scene_id", "camera", "backend"):
        if not getattr(row, name):
            raise WriteError(f"'{name}' is empty, but it is part of the row's key.")
    if row.width < 1 or row.height < 1:
        raise WriteError(f"a picture of {row.width}x{row.height} pixels shows nothing.")
    for column in COLUMNS:
        absent = getattr(row, column.source) is None
        if column.required and absent:
            raise WriteError(f"'{column.name}' is missing; every row has it.")
        if column.is_pass and not absent and column.name not in names:
            raise WriteError(
                f"'{column.name}' would be lost, it is not among the passes of this shard."
            )


def rows_table(rows: Sequence[EncodedRow], schema: pa.Schema) -> pa.Table:
    """Put encoded rows into one table of one chunk a column.

    Raises:
        WriteError: A value does not fit its column.
    """
    layouts: dict[str, Layout] = {column.name: column.kind.layout for column in COLUMNS}
    columns = [_array(rows, field, layouts[field.name]) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema).combine_chunks()


def _array(rows: Sequence[EncodedRow], field: pa.Field, layout: Layout) -> pa.Array:
    match layout:
        case "floats":
            return _float_array([row.floats[field.name] for row in rows])
        case "picture":
            return _picture_array([row.pictures[field.name] for row in rows])
        case "plain":
            return _plain_array(rows, field)


def _plain_array(rows: Sequence[EncodedRow], field: pa.Field) -> pa.Array:
    try:
        return pa.array([row.plain[field.name] for row in rows], field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError, ValueError) as error:
        raise WriteError(
            f"Rows {rows[0].row_id} to {rows[-1].row_id}: column '{field.name}' does not take a "
            f"value ({error}); its type is {field.type}."
        ) from error


def _picture_array(pictures: Sequence[bytes | None]) -> pa.Array:
    files = pa.array(pictures, pa.binary())
    paths = pa.nulls(len(pictures), pa.string())
    return pa.StructArray.from_arrays([files, paths], fields=list(IMAGE_TYPE))


def _float_array(arrays: Sequence[NDArray[np.float32] | None]) -> pa.Array:
    offsets = np.zeros(len(arrays) + 1, np.int32)
    np.cumsum([0 if array is None else array.size for array in arrays], out=offsets[1:])
    present = [array for array in arrays if array is not None]
    values = np.concatenate(present) if present else np.empty(0, np.float32)
    absent = pa.array([array is None for array in arrays], pa.bool_())
    return pa.ListArray.from_arrays(
        pa.array(offsets), pa.array(values, pa.float32()), mask=absent if len(arrays) else None
    )
