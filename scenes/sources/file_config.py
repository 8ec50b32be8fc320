"""What the settings of all sources that are a file have in common."""

from __future__ import annotations

from pathlib import Path

from scenes.convert.settings import Settings


class FileConfig(Settings):
    """Settings of a source that is a file."""

    path: Path
    """The file, from the current folder."""
