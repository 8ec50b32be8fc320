"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Roots = Annotated[
    list[Path] | None,
    typer.Option(
        "--root",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Folder that the file may read from beside its own; may be repeated.",
    ),
]
Packages = Annotated[
    list[str] | None,
    typer.Option(
        "--package",
        metavar="NAME=DIR",
        help="URDF: folder of the package that package://NAME/ stands for; may be repeated.",
    ),
]
