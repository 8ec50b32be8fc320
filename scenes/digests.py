"""Digests of a scene folder's files, so that a damaged one is never shown.

The table is written with the scene and holds its own digest. A file is hashed once per process:
of files that several scenes share by links, one reading serves all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from scenes.errors import AssetError
from scenes.locks import held_lock

TABLE = "digests.json"
_LOCK = ".digests.lock"
_DIGEST_BYTES = 32

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
        table = DigestTable.model_validate_json(path.read_bytes())
    except OSError as error:
        raise AssetError(f"{path}: the table of the scene's files is missing.") from error
    except ValidationError as error:
        raise AssetError(f"{path}: the table of the scene's files is damaged.") from error
    if table.seal != _seal(table.files):
        raise AssetError(f"{path}: the table of the scene's files is damaged.")
    return table.files


def check_digests(folder: Path) -> Mapping[str, str]:
    """Check every file of a folder that its table lists, and give the table.

    Raises:
        AssetError: Names a file that is missing or holds something else.
    """
    files = read_digests(folder)
    for name, digest in files.items():
        try:
            same = file_digest(folder / name) == digest
        except OSError as error:
            raise AssetError(f"{folder / name}: the scene's file is missing.") from error
        if not same:
            raise AssetError(
                f"{folder / name}: damaged or edited: it does not hold what was written."
            )
    return files


def _write(folder: Path, files: Mapping[str, str]) -> None:
    table = DigestTable(files=dict(sorted(files.items())), seal=_seal(files))
    temporary = folder / f".{TABLE}.{os.getpid()}"
    temporary.write_text(table.model_dump_json(indent=1), encoding="utf-8")
    temporary.replace(folder / TABLE)


def _seal(files: Mapping[str, str]) -> str:
    return content_digest(json.dumps(files, sort_keys=True).encode())
