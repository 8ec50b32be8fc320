"""One process at a time in a run folder."""

import errno
import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from writers.errors import WriteError
from writers.store.atomic import write_errors

_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EINVAL, errno.EBADF}


@contextmanager
def held_folder(folder: Path) -> Generator[None]:
    """Keep other processes that ask the same out of a folder while the block runs.

    The folder is made if need be. The hold leaves no file and ends with the process, however that
    ends. Where the file system has no locks, nobody is kept out.

    Raises:
        WriteError: Another process holds the folder, or it cannot be made.
    """
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _lock(folder, descriptor)
        yield
    finally:
        os.close(descriptor)


def _lock(folder: Path, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise WriteError(
            f"{folder}: another process is making this run. Wait for it, stop it, or choose "
            "another output folder."
        ) from error
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            with write_errors(folder):
                raise
