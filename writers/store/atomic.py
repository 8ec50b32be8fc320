"""Files that appear whole or not at all."""

import errno
import hashlib
import io
import os
import re
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from writers.errors import WriteError

DIGEST_BYTES = 32
"""Length of the BLAKE2b digests of files."""

_LEFTOVER = re.compile(r".+\.(parquet|json|md|html)(\.[0-9a-f]{12})?\.tmp")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_UNSUPPORTED = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EPERM}


class HashingFile(io.RawIOBase):
    """A file open for writing that keeps the BLAKE2b digest of what was written."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "wb")
        self._digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
        self._discarding = False
        self.size = 0

    def writable(self) -> bool:
        """Say that the file takes data."""
        return True

    def tell(self) -> int:
        """Give the number of bytes written so far."""
        return self.size

    def write(self, data: bytes | memoryview, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Append data to the file and the digest; give its length in bytes."""
        view = memoryview(data).cast("B")
        if not self._discarding:
            self._file.write(view)
            self._digest.update(view)
        self.size += view.nbytes
        return view.nbytes

    def discard(self) -> None:
        """Drop all that is written from now on, so that a failed writer can close in peace."""
        self._discarding = True

    def hexdigest(self) -> str:
        """Give the digest of all data written so far."""
        return self._digest.hexdigest()

    def sync(self) -> None:
        """Bring the data to the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            try:
                self._file.close()
            except OSError:
                # A full disk fails again on the flush that closing implies; when the data
                # matters, sync has reported it before.
                if not self._discarding:
                    raise
            finally:
                super().close()


@contextmanager
def atomic_file(path: Path) -> Generator[HashingFile]:
    """Open a temporary file beside `path` that takes its place once the block ends well.

    The file is synced, renamed over `path`, and its folder synced. If the block fails, the
    temporary file is removed and nothing appears; a killed process leaves `*.tmp` behind, see
    `remove_leftovers`.

    Raises:
        WriteError: The folder or the file cannot be written, or the disk is full.
    """
    with write_errors(path):
        temporary, file = _create_temporary(path)
    try:
        yield file
        with write_errors(path):
            file.sync()
            file.close()
            temporary.replace(path)
            sync_folder(path.parent)
    except BaseException:
        file.discard()
        file.close()
        temporary.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file, or leave what was there.

    Raises:
        WriteError: The folder or the file cannot be written, or the disk is full.
    """
    with atomic_file(path) as file, write_errors(path):
        file.write(data)


def create_exclusively(path: Path, data: bytes) -> bool:
    """Write a file that must not exist yet; give False if it does.

    The file appears with its whole content, so that a second process never reads half of it.

    Raises:
        WriteError: The folder or the file cannot be written, or the disk is full.
    """
    with write_errors(path):
        temporary, file = _create_temporary(path)
        try:
            file.write(data)
            file.sync()
            file.close()
            created = _link_or_create(temporary, path, data)
        finally:
            file.discard()
            file.close()
            temporary.unlink(missing_ok=True)
        if created:
            sync_folder(path.parent)
    return created


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove the temporary files that a killed run left in a folder, and give their paths.

    Only for a time when nobody writes into the folder. Other files, whatever their names, and
    subfolders stay.

    Raises:
        WriteError: A leftover cannot be removed.
    """
    if not folder.is_dir():
        return []
    leftovers = sorted(path for path in folder.iterdir() if _LEFTOVER.fullmatch(path.name))
    removed: list[Path] = []
    for path in leftovers:
        if path.is_file() or path.is_symlink():
            with write_errors(path):
                path.unlink(missing_ok=True)
            removed.append(path)
    return removed


def sync_folder(folder: Path) -> None:
    """Bring a folder's entries to the disk, where its file system can."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)


def write_error(path: Path, error: OSError) -> WriteError:
    """Say in one sentence why a file could not be written."""
    reason = error.strerror or str(error)
    if error.errno in _FULL:
        return WriteError(
            f"{path}: the file could not be written, there is no space left ({reason}). "
            "Free some space and run again; finished shards are kept."
        )
    if error.errno in _FORBIDDEN:
        return WriteError(
            f"{path}: the folder is not writable ({reason}). Choose another output folder."
        )
    return WriteError(f"{path}: the file could not be written ({reason}).")


@contextmanager
def write_errors(path: Path) -> Generator[None]:
    """Turn an operating system error of the block into a `WriteError` that names `path`."""
    try:
        yield
    except OSError as error:
        raise write_error(path, error) from error


def _create_temporary(path: Path) -> tuple[Path, HashingFile]:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    return temporary, HashingFile(os.open(temporary, flags, 0o666))


def _link_or_create(temporary: Path, path: Path, data: bytes) -> bool:
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    else:
        return True
    # Without hard links the name is still taken exclusively, only the content comes after it.
    try:
        with path.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        return False
    return True
