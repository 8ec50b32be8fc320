"""Shards as files: where they are, and opening one that may be damaged."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from writers.errors import ReadError


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


def shard_schema(file: pq.ParquetFile, path: Path) -> pa.Schema:
    """Give the Arrow schema of an open shard.

    Raises:
        ReadError: Its bytes are damaged.
    """
    try:
        schema = file.schema_arrow
        # Names that are no text raise when they are asked for.
        _ = (schema.names, str(schema))
    except Exception as error:  # Damaged bytes raise whatever their reader did not foresee.
        raise ReadError(f"{path}: not a shard: its schema cannot be read.") from error
    return schema


def open_shard(path: Path) -> pq.ParquetFile:
    """Open a shard.

    Raises:
        ReadError: The file is missing, or has no whole footer.
    """
    try:
        return pq.ParquetFile(path)
    except FileNotFoundError as error:
        raise ReadError(f"{path}: the shard is missing.") from error
    except Exception as error:  # Damaged bytes raise whatever their reader did not foresee.
        reason = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
        raise ReadError(
            f"{path}: not a whole Parquet file{reason}. Run again to make it anew."
        ) from error
