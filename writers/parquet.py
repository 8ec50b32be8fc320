"""Rows into one Parquet shard, whole or not at all."""

import time
from collections.abc import Callable, Collection, Iterable, MutableMapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from writers.codecs import LabelBits
from writers.config import OutputConfig
from writers.encoding import EncodedRow, encode_row, rows_table
from writers.errors import WriteError
from writers.kinds import Layout
from writers.rows import COLUMNS, Row
from writers.schema import leaf_paths, row_schema
from writers.shard_record import ShardRecord
from writers.store.atomic import HashingFile, atomic_file, write_errors


def shard_name(index: int) -> str:
    """Give the file name of a shard."""
    return f"train-{index:05d}.parquet"


def write_shard(
    path: Path,
    rows: Iterable[Row],
    config: OutputConfig,
    passes: Collection[str] = (),
    *,
    label_bits: LabelBits = 16,
    timings: MutableMapping[str, float] | None = None,
    note: Callable[[ShardRecord], None] | None = None,
) -> ShardRecord:
    """Write rows to a Parquet file that appears only when it is whole.

    The bytes depend on the rows, the settings and the library versions alone. Rows are taken one
    by one; at most one row group of encoded rows is held.

    Args:
        path: The file; its folder is made if need be, an older file is replaced.
        rows: Rows in the order of the file. An error that they raise passes through.
        config: Codecs and sizes.
        passes: Passes of the run; they decide the columns.
        label_bits: Bits per pixel of the label maps, the same for all shards of a run.
        timings: Seconds spent in `encode` and `write` are added here.
        note: Called with the record of the whole file, before the file appears.

    Raises:
        WriteError: A row does not fit the schema, two rows have one key, or the file cannot be
            written.
    """
    schema = row_schema(passes, config.depth_mm)
    clock = _Clock({} if timings is None else timings)
    with atomic_file(path) as file:
        shard = _ShardFile(path, file, schema, config, clock)
        try:
            for row in rows:
                with clock("encode"):
                    encoded = encode_row(row, config, schema, label_bits)
                shard.add(encoded)
            shard.finish()
        except BaseException:
            file.discard()
            shard.abandon()
            raise
        record = ShardRecord(
            name=path.name, rows=shard.row_count, bytes=file.size, blake2b=file.hexdigest()
        )
        if note is not None:
            note(record)
    return record


class _Clock:
    """Adds the seconds of a block to a named sum."""

    def __init__(self, seconds: MutableMapping[str, float]) -> None:
        self._seconds = seconds
        self._name = ""
        self._start = 0.0

    def __call__(self, name: str) -> "_Clock":
        self._name = name
        return self

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        spent = time.perf_counter() - self._start
        self._seconds[self._name] = self._seconds.get(self._name, 0.0) + spent


class _ShardFile:
    """A Parquet file in the making, one row group after the other."""

    def __init__(
        self,
        path: Path,
        file: HashingFile,
        schema: pa.Schema,
        config: OutputConfig,
        clock: _Clock,
    ) -> None:
        self._path = path
        self._schema = schema
        self._config = config
        self._clock = clock
        self._group: list[EncodedRow] = []
        self._group_bytes = 0
        self._keys: set[str] = set()
        with write_errors(path):
            self._writer = _parquet_writer(file, schema, config)

    @property
    def row_count(self) -> int:
        return len(self._keys)

    def add(self, row: EncodedRow) -> None:
        if row.row_id in self._keys:
            raise WriteError(f"{self._path}: two rows have the key {row.row_id}.")
        self._keys.add(row.row_id)
        full = len(self._group) >= self._config.row_group_rows
        heavy = self._group_bytes + row.nbytes > self._config.row_group_mb * 1_000_000
        if self._group and (full or heavy):
            self._write_group()
        self._group.append(row)
        self._group_bytes += row.nbytes

    def finish(self) -> None:
        if self._group:
            self._write_group()
        with self._clock("write"), write_errors(self._path):
            self._writer.close()

    def abandon(self) -> None:
        """Let go of the Parquet writer, whose closing would write a footer."""
        with write_errors(self._path):
            self._writer.close()

    def _write_group(self) -> None:
        with self._clock("write"):
            table = rows_table(self._group, self._schema)
            with write_errors(self._path):
                self._writer.write_table(table, row_group_size=table.num_rows)
        self._group = []
        self._group_bytes = 0


def _parquet_writer(file: HashingFile, schema: pa.Schema, config: OutputConfig) -> pq.ParquetWriter:
    leaves: dict[Layout, list[str]] = {"plain": [], "picture": [], "floats": []}
    measured: list[str] = []
    for column in COLUMNS:
        if column.name in schema.names:
            found = leaf_paths(schema.field(column.name))
            layout = column.kind.layout
            leaves[layout] += found
            measured += found if layout == "plain" and column.statistics else []
    compressed = [*leaves["floats"], *leaves["plain"]]
    # pyarrow's stubs know only the forms without column paths.
    return pq.ParquetWriter(
        file,
        schema,
        version="2.6",
        data_page_version="1.0",
        use_dictionary=leaves["plain"],  # pyright: ignore[reportArgumentType]
        column_encoding=dict.fromkeys(leaves["floats"], "BYTE_STREAM_SPLIT"),
        compression={  # pyright: ignore[reportArgumentType]
            **dict.fromkeys(leaves["picture"], "none"),
            **dict.fromkeys(compressed, "zstd"),
        },
        compression_level=dict.fromkeys(compressed, config.zstd_level),
        write_statistics=measured,  # pyright: ignore[reportArgumentType]
        write_page_index=True,
        store_schema=True,
    )
