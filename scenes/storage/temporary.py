"""Files and folders under construction, named after the process that fills them."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import socket
import tempfile
import time
from pathlib import Path

_PREFIX = ".datagen-"
_ABANDONED = 86400.0


def temporary_folder(parent: Path) -> Path:
    """Make a folder for a scene under construction; `parent` is made too.

    Raises:
        OSError: It cannot be made.
    """
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=_prefix(os.getpid()), dir=parent))


def temporary_file(target: Path) -> Path:
    """Name a file beside another one that is to replace it; what processes left there goes."""
    remove_leftovers(target.parent)
    return target.with_name(f"{_prefix(os.getpid())}{secrets.token_hex(4)}{target.suffix}")


def remove_temporaries(parent: Path, process: int) -> None:
    """Remove what an ended process of this machine had under construction in a folder."""
    for each in _named(parent, _prefix(process)):
        _remove(each)


def remove_leftovers(parent: Path) -> None:
    """Remove what was left under construction by processes that have ended.

    Those of other machines, which cannot be asked, count as ended a day after the last change.
    """
    for each in _named(parent, _PREFIX):
        host, _, number = each.name.removeprefix(_PREFIX).rpartition("-")[0].rpartition("-")
        try:
            if host == _host() and number.isdecimal():
                ended = not _runs(int(number))
            else:
                ended = time.time() - each.stat().st_mtime > _ABANDONED
        except OSError:
            continue
        if ended:
            _remove(each)


def _remove(each: Path) -> None:
    if each.is_dir():
        shutil.rmtree(each, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        each.unlink()


def _named(parent: Path, prefix: str) -> list[Path]:
    try:
        return [each for each in parent.iterdir() if each.name.startswith(prefix)]
    except OSError:
        return []


def _prefix(process: int) -> str:
    return f"{_PREFIX}{_host()}-{process}-"


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())[:64]


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
