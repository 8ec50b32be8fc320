"""Rows back from shards, and checks that a shard is what it should be."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import ValidationError

from writers.atomic import DIGEST_BYTES
from writers.codecs import decode_labels, decode_rgb
from writers.errors import ReadError
from writers.manifest import MANIFEST_NAME, read_manifest
from writers.rows import ObjectRow, Row
from writers.schema import (
    EXTRA_PASSES,
    FLOAT_PASSES,
    IMAGE_TYPE,
    LABEL_PASSES,
    declared_schema,
    schema_difference,
)
from writers.shard_record import ShardRecord


def shard_paths(path: Path) -> list[Path]:
    """Give the shards of a run folder, a data folder, or the one file `path` is, by name.

    Raises:
        ReadError: There is no shard.
    """
    if path.is_file():
        return [path]
    folder = path / "data" if (path / "data").is_dir() else path
    shards = sorted(folder.glob("*.parquet")) if folder.is_dir() else []
    if not shards:
        raise ReadError(f"{path}: no Parquet shard there.")
    return shards


def read_rows(
    path: Path,
    columns: Collection[str] | None = None,
    row_ids: Collection[str] | None = None,
) -> Iterator[Row]:
    """Read rows of a file, a data folder or a run folder, one row group at a time.

    The shards of a run folder that is finished are held against its manifest's digests first.

    Args:
        path: Where the shards are.
        columns: Columns that are wanted, all by default. Pictures and passes not among them stay
            None and are not read; the small columns always are.
        row_ids: Keys of the wanted rows, all by default; rows come in the order of the files.

    Raises:
        ReadError: A file is not a whole shard of this schema, a picture cannot be decoded, a
            column is unknown, or a key is not found.
    """
    missing = None if row_ids is None else set(row_ids)
    listed = _listed(path)
    for shard in shard_paths(path):
        if shard.name in listed:
            verify_shard(shard, listed[shard.name])
        with _open(shard) as file:
            schema = declared_schema(_schema(file, shard), str(shard))
            wanted = _wanted(schema, columns, shard)
            for group in range(file.num_row_groups):
                yield from _group_rows(file, group, wanted, missing, shard)
        if missing is not None and not missing:
            return
    if missing:
        raise ReadError(f"{path}: no row has the key {min(missing)}.")


def _listed(path: Path) -> dict[str, ShardRecord]:
    if not (path / MANIFEST_NAME).is_file():
        return {}
    return {record.name: record for record in read_manifest(path).shards}


def read_record(path: Path, schema: pa.Schema) -> ShardRecord:
    """Give the record of a shard from its bytes, if it is whole and follows the schema.

    Raises:
        ReadError: The file is missing, has no footer, or has another schema.
    """
    with _open(path) as file:
        difference = schema_difference(_schema(file, path), schema)
        if difference:
            raise ReadError(f"{path}: not a shard of the declared schema: {difference}.")
        return _record(path, file)


def finished_shard(
    path: Path, noted: Collection[ShardRecord], row_ids: Sequence[str]
) -> ShardRecord:
    """Give the record of a shard that is whole: one that was noted, with the rows it should have.

    Bytes that were not noted are read by nothing but the digest.

    Args:
        path: The shard.
        noted: What the journal knows of it.
        row_ids: Keys of its rows, in order.

    Raises:
        ReadError: Says in half a sentence why the shard does not count.
    """
    if not noted:
        raise ReadError("no digest of it was kept")
    try:
        size, digest = path.stat().st_size, _digest(path)
    except OSError as error:
        raise ReadError(f"it cannot be read ({error.strerror})") from error
    record = next((each for each in noted if (each.bytes, each.blake2b) == (size, digest)), None)
    if record is None:
        raise ReadError("its bytes are not those that were written")
    try:
        with pq.ParquetFile(path) as file:
            found = file.read(["row_id"]).column(0).to_pylist()
    except Exception as error:
        raise ReadError("it cannot be read") from error
    if found != list(row_ids):
        raise ReadError("its rows are not those of the plan")
    return record


def verify_shard(path: Path, record: ShardRecord) -> None:
    """Check that a shard is the one of its record, to the byte, and can be read.

    Raises:
        ReadError: The file is missing, damaged, or another one.
    """
    with _open(path) as file:
        _compare(path, _record(path, file), record)


def verify_folder(
    folder: Path, schema: pa.Schema, records: Sequence[ShardRecord] | None = None
) -> list[str]:
    """List what is wrong with the shards of a data folder, one sentence each.

    Args:
        folder: The data folder.
        schema: The schema that every shard must have.
        records: The manifest's shards; each must be there unchanged, and no others.
    """
    problems: list[str] = []
    by_name = {record.name: record for record in records or ()}
    paths = {path.name: path for path in sorted(folder.glob("*.parquet"))}
    for name in sorted(paths.keys() | by_name.keys()):
        path = paths.get(name, folder / name)
        try:
            found = read_record(path, schema)
            if records is not None:
                if name not in by_name:
                    raise ReadError(f"{path}: the manifest has no such shard.")
                _compare(path, found, by_name[name])
        except ReadError as error:
            problems.append(str(error))
    return problems


def _schema(file: pq.ParquetFile, path: Path) -> pa.Schema:
    try:
        schema = file.schema_arrow
        # Names that are no text raise when they are asked for.
        _ = (schema.names, str(schema))
    except Exception as error:  # Damaged bytes raise whatever their reader did not foresee.
        raise ReadError(f"{path}: not a shard: its schema cannot be read.") from error
    return schema


def _open(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except FileNotFoundError as error:
        raise ReadError(f"{path}: the shard is missing.") from error
    except Exception as error:  # Damaged bytes raise whatever their reader did not foresee.
        reason = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
        raise ReadError(
            f"{path}: not a whole Parquet file{reason}. Run again to make it anew."
        ) from error


def _record(path: Path, file: pq.ParquetFile) -> ShardRecord:
    try:
        return ShardRecord(
            name=path.name,
            rows=file.metadata.num_rows,
            bytes=path.stat().st_size,
            blake2b=_digest(path),
        )
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror}).") from error
    except ValidationError as error:
        raise ReadError(f"{path}: '{path.name}' is no name of a shard.") from error


def _digest(path: Path) -> str:
    with path.open("rb") as data:
        digest = hashlib.file_digest(data, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES))
    return digest.hexdigest()


def _compare(path: Path, found: ShardRecord, record: ShardRecord) -> None:
    wanted = record.model_dump()
    for name, value in found.model_dump().items():
        if value != wanted[name]:
            raise ReadError(
                f"{path}: {name} is {value}, the manifest says {wanted[name]}. "
                "Run again to make it anew."
            )


def _wanted(schema: pa.Schema, columns: Collection[str] | None, path: Path) -> list[str]:
    unknown = sorted(set(columns or ()) - set(schema.names))
    if unknown:
        raise ReadError(f"{path}: no column '{unknown[0]}'. Known: {', '.join(schema.names)}.")
    return [
        field.name
        for field in schema
        if columns is None or field.name in columns or not _is_large(field)
    ]


def _is_large(field: pa.Field) -> bool:
    return field.name in FLOAT_PASSES or field.type.equals(IMAGE_TYPE)


def _group_rows(
    file: pq.ParquetFile, group: int, columns: Sequence[str], missing: set[str] | None, path: Path
) -> Iterator[Row]:
    try:
        keys = file.read_row_group(group, ["row_id"]).column(0).to_pylist()
        picked = [i for i, key in enumerate(keys) if missing is None or key in missing]
        if not picked:
            return
        table = file.read_row_group(group, list(columns)).combine_chunks()
    except Exception as error:  # Damaged bytes raise whatever their reader did not foresee.
        raise ReadError(f"{path}: row group {group} cannot be read.") from error
    small = table.select([f.name for f in table.schema if not _is_large(f)])
    for index in picked:
        try:
            values = small.slice(index, 1).to_pylist()[0]
            row = _row(values, table, index)
        except ReadError as error:
            raise ReadError(f"{path}: row {keys[index]}: {error}.") from error
        except Exception as error:
            raise ReadError(f"{path}: row {keys[index]}: its values are damaged.") from error
        yield row
        if missing is not None:
            missing.discard(keys[index])


def _row(values: Mapping[str, object], table: pa.Table, index: int) -> Row:
    plain = {name: value for name, value in values.items() if name != "row_id"}
    shape = (_integer(values, "height"), _integer(values, "width"))
    passes: dict[str, NDArray[np.generic] | None] = {}
    for name in ("rgb", *LABEL_PASSES):
        data = table.column(name)[index]["bytes"].as_py() if name in table.column_names else None
        decode = decode_rgb if name == "rgb" else decode_labels
        passes[name] = None if data is None else _picture(name, decode(data), shape)
    for name in FLOAT_PASSES:
        passes[name] = _floats(table, name, index, shape)
    return Row(
        **{  # pyright: ignore[reportArgumentType]
            **plain,
            **passes,
            "K": np.array(values["K"], np.float64).reshape(3, 3),
            "T_world_camera": np.array(values["T_world_camera"], np.float64).reshape(4, 4),
            "objects": [_object(entry) for entry in table.column("objects")[index].as_py() or ()],
        }
    )


def _integer(values: Mapping[str, object], name: str) -> int:
    value = values[name]
    if not isinstance(value, int):
        raise ReadError(f"'{name}' is {value}, not a number")
    return value


def _picture(
    name: str, picture: NDArray[np.generic], shape: tuple[int, int]
) -> NDArray[np.generic]:
    if picture.shape[:2] != shape:
        raise ReadError(f"'{name}' has shape {list(picture.shape[:2])}, not {list(shape)}")
    return picture


def _floats(
    table: pa.Table, name: str, index: int, shape: tuple[int, int]
) -> NDArray[np.float32] | None:
    if name not in table.column_names or not table.column(name)[index].is_valid:
        return None
    values = table.column(name)[index].values.to_numpy(zero_copy_only=False)
    full = shape if name not in EXTRA_PASSES or name == "distance" else (*shape, 3)
    # A view would keep the whole row group alive.
    return values.astype(np.float32).reshape(full)


def _object(entry: Mapping[str, object]) -> ObjectRow:
    values = dict(entry)
    for name, shape in (("T_world_object", (4, 4)), ("box_center", (3,)), ("box_size", (3,))):
        if values[name] is not None:
            values[name] = np.array(values[name], np.float64).reshape(shape)
    values["class_name"] = values.pop("class")
    return ObjectRow(**values)  # pyright: ignore[reportArgumentType]
