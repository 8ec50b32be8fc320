"""The rows of a run as its manifest lists them, one row group at a time."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from writers import (
    Manifest,
    ReadError,
    Row,
    ShardRecord,
    kept_records,
    read_draft,
    read_manifest,
    read_rows,
    verify_shard,
)

View = tuple[str, int, int, str]
"""Scene, episode, frame and camera: what all backends of one view share."""

_KEY = ("scene_id", "episode_index", "frame_index", "camera", "backend")


@dataclass(frozen=True, slots=True)
class RowKey:
    """Where a row lies, and its key."""

    shard: int
    """Index of the shard in the manifest."""
    row_id: str
    scene_id: str
    episode_index: int
    frame_index: int
    camera: str
    backend: str

    @property
    def view(self) -> View:
        """What all backends of one view share."""
        return self.scene_id, self.episode_index, self.frame_index, self.camera


class RunShards:
    """Reads the shards of a run; files that the manifest does not list are left alone."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.manifest = manifest
        self._paths = [folder / "data" / shard.name for shard in manifest.shards]
        self._ends = list(accumulate(shard.rows for shard in manifest.shards))

    @classmethod
    def open(cls, folder: Path) -> RunShards:
        """Open a run folder.

        Raises:
            ReadError: The run is not finished, or its manifest is broken.
        """
        return cls(folder, read_manifest(folder))

    @classmethod
    def open_unfinished(cls, folder: Path) -> RunShards:
        """Open the folder of a run that is not finished: the shards that are there and whole.

        Raises:
            ReadError: The run has not come to its first shard, or its draft is broken.
        """
        draft = read_draft(folder)
        records: list[ShardRecord] = []
        for name, record in sorted(kept_records(folder).items()):
            # What is missing or damaged is made again when the run goes on.
            with contextlib.suppress(ReadError):
                verify_shard(folder / "data" / name, record)
                records.append(record)
        return cls(folder, draft.model_copy(update={"shards": records}))

    def tables(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Read columns, or leaves of columns, of all rows.

        Raises:
            ReadError: A shard is missing, broken, or has another number of rows.
        """
        for index in range(len(self._paths)):
            yield from self._groups(index, columns)

    def verify(self) -> None:
        """Check that every shard is the one of the manifest, to the byte.

        Raises:
            ReadError: A shard is missing, broken, or was changed.
        """
        for path, record in zip(self._paths, self.manifest.shards, strict=True):
            verify_shard(path, record)

    def keys(self, positions: Iterable[int]) -> list[RowKey]:
        """Give the keys of rows by their places in the run, in the order of the rows."""
        found: list[RowKey] = []
        for shard, members in groupby(sorted(positions), lambda p: bisect_right(self._ends, p)):
            start = self._ends[shard - 1] if shard else 0
            keys = self._shard_keys(shard)
            found += [keys[position - start] for position in members]
        return found

    def siblings(self, keys: Iterable[RowKey]) -> list[list[RowKey]]:
        """Give, for each row, the rows of all backends that show the same view."""
        groups: list[list[RowKey]] = []
        for shard, members in groupby(keys, lambda key: key.shard):
            by_view: dict[View, list[RowKey]] = {}
            for key in self._shard_keys(shard):
                by_view.setdefault(key.view, []).append(key)
            groups += [by_view[key.view] for key in members]
        return groups

    def rows(self, keys: Iterable[RowKey], columns: Collection[str]) -> Iterator[Row]:
        """Read rows with the pictures among `columns`, in the order of the files."""
        for shard, members in groupby(sorted(keys, key=_shard), _shard):
            yield from read_rows(self._paths[shard], columns, {key.row_id for key in members})

    def _shard_keys(self, shard: int) -> list[RowKey]:
        return [
            RowKey(shard, *values)
            for table in self._groups(shard, ["row_id", *_KEY])
            for values in zip(
                *(table.column(name).to_pylist() for name in ("row_id", *_KEY)), strict=True
            )
        ]

    def _groups(self, shard: int, columns: Sequence[str]) -> Iterator[pa.Table]:
        path, listed = self._paths[shard], self.manifest.shards[shard].rows
        try:
            with pq.ParquetFile(path) as file:
                if file.metadata.num_rows != listed:
                    raise ReadError(
                        f"{path}: it has {file.metadata.num_rows} rows, the manifest says {listed}."
                    )
                absent = {name.partition(".")[0] for name in columns} - set(file.schema_arrow.names)
                if absent:
                    raise ReadError(f"{path}: not a shard of a run: no column '{min(absent)}'.")
                for group in range(file.num_row_groups):
                    yield file.read_row_group(group, list(columns)).combine_chunks()
        except FileNotFoundError as error:
            raise ReadError(f"{path}: the manifest lists this shard, but it is missing.") from error
        except ReadError:
            raise
        except Exception as error:  # Damaged bytes raise whatever their reader did not foresee.
            raise ReadError(f"{path}: cannot be read. Run again to make it anew.") from error


def _shard(key: RowKey) -> int:
    return key.shard
