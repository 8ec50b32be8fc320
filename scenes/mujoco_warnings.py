"""What MuJoCo warns about, kept for the report instead of the terminal and a log file."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager

import mujoco


@contextmanager
def mujoco_warnings() -> Generator[list[str]]:
    """Collect MuJoCo's warnings while the block runs, each text once.

    MuJoCo itself would print them to stderr and append them to `MUJOCO_LOG.TXT` in the current
    folder. Not for several threads at once: both handlers belong to the process.
    """
    found: list[str] = []

    def note(text: str) -> None:
        line = " ".join(text.split())
        if line not in found:
            found.append(line)

    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(note)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            yield found
    finally:
        mujoco.set_mju_user_warning(before)
    for warning in caught:
        if warning.category is UserWarning:
            note(str(warning.message))
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
