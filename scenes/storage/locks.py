"""Locks between processes that leave no file behind."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

_PAUSE_SECONDS = 0.1

Waiting = Callable[[], None]
"""Called again and again while another process holds a lock."""


def patiently() -> None:
    """Wait for another process without telling anybody."""


@contextmanager
def held_lock(file: Path, waiting: Waiting = patiently) -> Generator[None]:
    """Hold a lock while the block runs; the system frees that of a process that dies.

    Args:
        file: The lock's file; its folder is made, and the file removed in the end.
        waiting: Told while another process holds the lock.

    Raises:
        OSError: The file cannot be made.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    while (number := _taken(file)) is None:
        waiting()
        time.sleep(_PAUSE_SECONDS)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
        os.close(number)


def _taken(file: Path) -> int | None:
    """Take a lock; None where another process has it, or has just removed its file."""
    number = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(number).st_ino == file.stat().st_ino:
            return number
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:
        os.close(number)
        raise
    os.close(number)
    return None


def remove_idle_locks(folder: Path) -> None:
    """Remove the locks in a folder that no process holds."""
    for file in folder.glob("*.lock"):
        try:
            number = _taken(file)
            if number is not None:
                file.unlink(missing_ok=True)
                os.close(number)
        except OSError:
            continue
