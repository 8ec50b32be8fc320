"""Checks that a shard is what it should be: its record, its schema, its rows."""

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from writers.errors import ReadError
from writers.schema import schema_difference
from writers.shard_file import open_shard, shard_schema
from writers.shard_record import ShardRecord
from writers.store.atomic import DIGEST_BYTES


def read_record(path: Path, schema: pa.Schema) -> ShardRecord:
    """Give the record of a shard from its bytes, if it is whole and follows the schema.

    Raises:
        ReadError: The file is missing, has no footer, or has another schema.
    """
    with open_shard(path) as file:
        difference = schema_difference(shard_schema(file, path), schema)
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
    with open_shard(path) as file:
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
