"""Digests of a scene folder's files, so that a damaged one is never shown.

The table is written with the scene and holds its own digest. A file is hashed once per process:
of files that several scenes share by links, one reading serves all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from scenes.errors import AssetError
from scenes.storage.locks import held_lock
from scenes.storage.temporary import temporary_file

TABLE = "digests.json"
_LOCK = ".digests.lock"
_DIGEST_BYTES = 32
_READERS = 4

_known: dict[tuple[int, int, int, int], str] = {}


class DigestTable(BaseModel):
    """The content of `digests.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    files: dict[str, str]
    """BLAKE2b of each file of the folder, by its path from there."""
    seal: str
    """BLAKE2b of `files`."""


def content_digest(data: bytes) -> str:
    """BLAKE2b of bytes."""
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def file_digest(path: Path) -> str:
    """BLAKE2b of a file, read once per process as long as it is not written.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as stream:
        status = os.fstat(stream.fileno())
        key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        if key not in _known:
            digest = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=_DIGEST_BYTES))
            _known[key] = digest.hexdigest()
    return _known[key]


def write_digests(folder: Path) -> None:
    """Write the table of a folder that is complete."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != TABLE)
    _write(folder, {path.relative_to(folder).as_posix(): file_digest(path) for path in files})


def add_digest(folder: Path, name: str) -> None:
    """Take a file that has joined a folder into its table; a folder without one is let be.

    Raises:
        AssetError: The table is damaged.
    """
    if not (folder / TABLE).exists():
        return
    with held_lock(folder / _LOCK):
        _write(folder, {**read_digests(folder), name: file_digest(folder / name)})


def read_digests(folder: Path) -> Mapping[str, str]:
    """Read the table of a folder.

    Raises:
        AssetError: It is missing or damaged.
    """
    path = folder / TABLE
    try:
        data = path.read_bytes()
        table = DigestTable.model_validate_json(data)
    except OSError as error:
        raise AssetError(f"{path}: the table of the scene's files is missing.") from error
    except ValidationError as error:
        raise AssetError(f"{path}: damaged or edited.") from error
    if data != _table_bytes(table.files):
        raise AssetError(f"{path}: damaged or edited.")
    return table.files


def check_digests(folder: Path) -> Mapping[str, str]:
    """Check every file of a folder that its table lists, and give the table.

    Raises:
        AssetError: Names a file that is missing or holds something else.
    """
    files = read_digests(folder)
    check_files(folder, files)
    return files


def check_files(folder: Path, files: Mapping[str, str]) -> None:
    """Check that files hold what they should.

    Args:
        folder: Where they lie.
        files: BLAKE2b of each, by its path from there.

    Raises:
        AssetError: Names a file that is missing or holds something else.
    """

    def whole(name: str) -> bool:
        try:
            return file_digest(folder / name) == files[name]
        except OSError as error:
            raise AssetError(f"{folder / name}: the file is missing.") from error

    with ThreadPoolExecutor(_READERS) as readers:
        for name, same in zip(files, readers.map(whole, files), strict=True):
            if not same:
                raise AssetError(
                    f"{folder / name}: damaged or edited: it does not hold what was written."
                )


def _write(folder: Path, files: Mapping[str, str]) -> None:
    temporary = temporary_file(folder / TABLE)
    temporary.write_bytes(_table_bytes(files))
    temporary.replace(folder / TABLE)


def _table_bytes(files: Mapping[str, str]) -> bytes:
    listed = dict(sorted(files.items()))
    seal = content_digest(json.dumps(listed).encode())
    return DigestTable(files=listed, seal=seal).model_dump_json(indent=1).encode()
