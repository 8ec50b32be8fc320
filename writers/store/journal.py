"""The journal of a run folder: the digest of each shard, on the disk before the shard appears.

One JSON object a line. A shard counts as finished while its bytes fit a line, so each order in
which a run can die is safe: a line without its shard, or a shard without its line, means that the
shard is made again.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from writers.errors import ReadError
from writers.shard_record import ShardRecord
from writers.store.atomic import sync_folder, write_atomically, write_errors

JOURNAL_NAME = "shards.jsonl"
"""File name of the journal in a run folder."""


def note_shard(folder: Path, basis: str, record: ShardRecord) -> None:
    """Append a shard that is about to appear; several processes may do so at once.

    Args:
        folder: The run folder.
        basis: Stands for all that decides the bytes of the shard.
        record: The shard.

    Raises:
        WriteError: The journal cannot be written.
    """
    path = folder / JOURNAL_NAME
    with write_errors(path):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o666)
        try:
            with suppress(OSError):  # Where there are no locks, an appended line is whole anyway.
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            # What a full disk left of an earlier line ends here.
            data = f"\n{_line(basis, record)}\n".encode()
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(folder)


def noted_shards(folder: Path, bases: Mapping[str, str]) -> dict[str, list[ShardRecord]]:
    """Give what the journal knows of shards, by name; lines that are damaged are left out.

    Args:
        folder: The run folder.
        bases: What decides the bytes of each shard, by name; lines of another basis do not count.

    Raises:
        ReadError: The journal is there but cannot be read.
    """
    found: dict[str, list[ShardRecord]] = {name: [] for name in bases}
    for basis, record in _lines(folder / JOURNAL_NAME):
        if bases.get(record.name) == basis:
            found[record.name].append(record)
    return found


def kept_records(folder: Path) -> dict[str, ShardRecord]:
    """Give the newest record of each shard that the journal of a run folder holds, by name.

    For a look at a run that is not finished, whose shards are not all there.

    Raises:
        ReadError: The journal is there but cannot be read.
    """
    return {record.name: record for _, record in _lines(folder / JOURNAL_NAME)}


def rewrite_journal(folder: Path, entries: Iterable[tuple[str, ShardRecord]]) -> None:
    """Write the journal anew, atomically, with one line for each basis and shard.

    Raises:
        WriteError: The journal cannot be written.
    """
    lines = "".join(f"{_line(basis, record)}\n" for basis, record in entries)
    write_atomically(folder / JOURNAL_NAME, lines.encode())


def _line(basis: str, record: ShardRecord) -> str:
    return json.dumps({"basis": basis, **record.model_dump()})


def _lines(path: Path) -> Sequence[tuple[str, ShardRecord]]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror}).") from error
    found: list[tuple[str, ShardRecord]] = []
    for line in lines:
        # A damaged line vouches for nothing.
        with suppress(ValueError, RecursionError, ValidationError):
            value = json.loads(line)
            if isinstance(value, dict) and isinstance(value.get("basis"), str):
                basis = value.pop("basis")
                found.append((basis, ShardRecord.model_validate(value)))
    return found
