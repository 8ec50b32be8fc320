"""Rows back from shards."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from writers.columns import Column
from writers.errors import ReadError
from writers.rows import COLUMNS, Row
from writers.schema import declared_schema
from writers.shard_file import open_shard, shard_paths, shard_schema
from writers.shard_record import ShardRecord
from writers.store.manifest import MANIFEST_NAME, read_manifest
from writers.verification import verify_shard

_SMALL = {column.name for column in COLUMNS if column.kind.layout == "plain"}


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
        with open_shard(shard) as file:
            schema = declared_schema(shard_schema(file, shard), str(shard))
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


def _wanted(schema: pa.Schema, columns: Collection[str] | None, path: Path) -> list[str]:
    unknown = sorted(set(columns or ()) - set(schema.names))
    if unknown:
        raise ReadError(f"{path}: no column '{unknown[0]}'. Known: {', '.join(schema.names)}.")
    return [name for name in schema.names if columns is None or name in columns or name in _SMALL]


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
    small = table.select([name for name in columns if name in _SMALL])
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


def _row(plain: Mapping[str, object], table: pa.Table, index: int) -> Row:
    size = (_integer(plain, "height"), _integer(plain, "width"))
    values: dict[str, object] = {}
    for column in COLUMNS:
        if column.derived or column.name not in table.column_names:
            continue
        stored = _stored(plain, table, index, column)
        if stored is not None:
            values[column.source] = column.kind.decode(column.name, stored, size)
        elif column.nullable:
            values[column.source] = None
        else:
            raise ReadError(f"'{column.name}' is null")
    return Row(**values)  # pyright: ignore[reportArgumentType]


def _stored(plain: Mapping[str, object], table: pa.Table, index: int, column: Column) -> object:
    """Give what a row holds in a column: a plain value, a file's bytes or a flat array."""
    if column.kind.layout == "plain":
        return plain[column.name]
    cell = table.column(column.name)[index]
    if not cell.is_valid:
        return None
    match column.kind.layout:
        case "picture":
            return cell["bytes"].as_py()
        case "floats":
            return cell.values.to_numpy(zero_copy_only=False)


def _integer(values: Mapping[str, object], name: str) -> int:
    value = values[name]
    if not isinstance(value, int):
        raise ReadError(f"'{name}' is {value}, not a number")
    return value
