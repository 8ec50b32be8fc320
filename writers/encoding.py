"""From rows to Arrow tables, and the checks a row must pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from writers.codecs import LabelBits, encode_depth_mm, encode_labels, encode_rgb
from writers.config import OutputConfig
from writers.errors import WriteError
from writers.rows import ObjectRow, Row
from writers.schema import BASE_PASSES, EXTRA_PASSES, FLOAT_PASSES, IMAGE_TYPE, LABEL_PASSES

_PASS_TYPES: Mapping[str, tuple[type[np.generic], int]] = {
    "rgb": (np.uint8, 3),
    "instance": (np.int32, 1),
    "part": (np.int32, 1),
    "semantic": (np.int32, 1),
    "depth": (np.float32, 1),
    "distance": (np.float32, 1),
    "normal": (np.float32, 3),
    "albedo": (np.float32, 3),
    "hdr": (np.float32, 3),
}

_OBJECT_SCALARS = (
    "instance",
    "name",
    "x0",
    "y0",
    "x1",
    "y1",
    "loose_x0",
    "loose_y0",
    "loose_x1",
    "loose_y1",
    "pixels_visible",
    "pixels_total",
    "occlusion",
)
_OBJECT_ARRAYS = {"T_world_object": (4, 4), "box_center": (3,), "box_size": (3,)}

_SAME_COLUMNS = (
    "row_id",
    "scene_id",
    "source",
    "language",
    "language_bddl",
    "episode_index",
    "frame_index",
    "timestamp",
    "camera",
    "backend",
    "width",
    "height",
    "camera_model",
    "distortion",
    "robot_joint_position",
    "robot_ee_pose",
    "robot_gripper",
    "action",
    "state",
    "seed",
    "recipe",
    "redraws",
    "flags",
)


@dataclass(frozen=True, slots=True)
class EncodedRow:
    """A row ready for a table: plain values, encoded pictures, flat float32 passes."""

    row_id: str
    """Key of the row."""

    values: Mapping[str, object]
    """Plain values by column."""

    pictures: Mapping[str, bytes]
    """Encoded pictures by column."""

    floats: Mapping[str, NDArray[np.float32]]
    """Flat, row-major float passes by column."""

    @property
    def nbytes(self) -> int:
        """Give the most that the row takes in a row group before compression [bytes]."""
        pictures = sum(map(len, self.pictures.values()))
        floats = sum(array.nbytes for array in self.floats.values())
        return pictures + floats + _plain_bytes(self.values)


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
    """Check a row and encode its pictures.

    Raises:
        WriteError: A pass is missing, not asked for, or of the wrong shape or type; a depth is
            not positive; a number does not fit its label map; a matrix is misshapen.
    """
    _check(row, schema)
    passes = {name: getattr(row, name) for name in _PASS_TYPES}
    try:
        pictures = {"rgb": encode_rgb(passes["rgb"], config.rgb)}
        for name in LABEL_PASSES:
            pictures[name] = encode_labels(passes[name], bits)
    except WriteError as error:
        raise WriteError(f"Row {row.row_id}: {error}") from error
    if config.depth_mm:
        pictures["depth_mm"] = encode_depth_mm(passes["depth"])
    values: dict[str, object] = {name: getattr(row, name) for name in _SAME_COLUMNS}
    values["K"] = _flat(row, "K", row.K, (3, 3))
    values["T_world_camera"] = _flat(row, "T_world_camera", row.T_world_camera, (4, 4))
    values["objects"] = [_object_values(row, entry) for entry in row.objects]
    floats = {name: passes[name].reshape(-1) for name in FLOAT_PASSES if passes[name] is not None}
    return EncodedRow(row.row_id, values, pictures, floats)


def rows_table(rows: Sequence[EncodedRow], schema: pa.Schema) -> pa.Table:
    """Put encoded rows into one table of one chunk a column.

    Raises:
        WriteError: A value does not fit its column.
    """
    columns = [_column(rows, field) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema).combine_chunks()


def _column(rows: Sequence[EncodedRow], field: pa.Field) -> pa.Array:
    if field.name in FLOAT_PASSES:
        return _float_column([row.floats.get(field.name) for row in rows])
    if field.type.equals(IMAGE_TYPE):
        pictures = pa.array([row.pictures.get(field.name) for row in rows], pa.binary())
        paths = pa.nulls(len(rows), pa.string())
        return pa.StructArray.from_arrays([pictures, paths], fields=list(IMAGE_TYPE))
    try:
        return pa.array([row.values.get(field.name) for row in rows], field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError, ValueError) as error:
        raise WriteError(
            f"Rows {rows[0].row_id} to {rows[-1].row_id}: column '{field.name}' does not take a "
            f"value ({error}); its type is {field.type}."
        ) from error


def _float_column(arrays: Sequence[NDArray[np.float32] | None]) -> pa.Array:
    offsets = np.zeros(len(arrays) + 1, np.int32)
    np.cumsum([0 if array is None else array.size for array in arrays], out=offsets[1:])
    present = [array for array in arrays if array is not None]
    values = np.concatenate(present) if present else np.empty(0, np.float32)
    absent = pa.array([array is None for array in arrays], pa.bool_())
    return pa.ListArray.from_arrays(
        pa.array(offsets), pa.array(values, pa.float32()), mask=absent if len(arrays) else None
    )


def _check(row: Row, schema: pa.Schema) -> None:
    where = f"Row {row.row_id}"
    for name in ("scene_id", "camera", "backend"):
        if not getattr(row, name):
            raise WriteError(f"{where}: '{name}' is empty, but it is part of the row's key.")
    if row.width < 1 or row.height < 1:
        raise WriteError(f"{where}: a picture of {row.width}x{row.height} pixels shows nothing.")
    for name in BASE_PASSES:
        if getattr(row, name) is None:
            raise WriteError(f"{where}: '{name}' is missing; every row has it.")
    for name in EXTRA_PASSES:
        if getattr(row, name) is not None and name not in schema.names:
            raise WriteError(
                f"{where}: '{name}' would be lost, it is not among the passes of this shard."
            )
    for name, (kind, channels) in _PASS_TYPES.items():
        array = getattr(row, name)
        shape = (row.height, row.width) if channels == 1 else (row.height, row.width, channels)
        if array is not None and (array.shape != shape or array.dtype != kind):
            raise WriteError(
                f"{where}: '{name}' is {array.dtype} {list(array.shape)}, "
                f"not {np.dtype(kind)} {list(shape)}."
            )
    for name in ("depth", "distance"):
        array = getattr(row, name)
        if array is not None and not (array > 0).all():
            y, x = np.argwhere(~(array > 0))[0]
            raise WriteError(
                f"{where}: '{name}' is {array[y, x]} at column {x}, row {y}; it is positive, "
                "or +inf where nothing is seen."
            )


def _object_values(row: Row, entry: ObjectRow) -> dict[str, object]:
    values: dict[str, object] = {name: getattr(entry, name) for name in _OBJECT_SCALARS}
    values["class"] = entry.class_name
    for name, shape in _OBJECT_ARRAYS.items():
        array = getattr(entry, name)
        values[name] = None if array is None else _flat(row, f"{entry.name}.{name}", array, shape)
    return values


def _flat(
    row: Row, name: str, array: NDArray[np.float64], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    flat = np.asarray(array, np.float64)
    if flat.shape != shape:
        raise WriteError(
            f"Row {row.row_id}: '{name}' has shape {list(flat.shape)}, not {list(shape)}."
        )
    if not np.isfinite(flat).all():
        raise WriteError(f"Row {row.row_id}: '{name}' holds a number that is not finite.")
    return flat.reshape(-1)
