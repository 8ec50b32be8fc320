"""How errors end a command: one sentence on stderr and an exit code.

Errors of this project's packages, and of those that plug in, state their `exit_code`.
"""

from __future__ import annotations

import functools
import os
import signal
import traceback
from collections.abc import Callable
from typing import Any

import typer

from datagen.interrupts import Stopped, ended_by_signals, ending


def reports_errors(command: Callable[..., None]) -> Callable[..., None]:
    """End a command with one sentence on stderr and the right exit code, whatever happens."""

    @functools.wraps(command)
    def reporting(context: typer.Context, **arguments: Any) -> None:
        try:
            with ended_by_signals():
                command(context, **arguments)
        except (typer.Exit, BrokenPipeError):
            raise
        except (Exception, KeyboardInterrupt) as error:
            if context.obj:
                traceback.print_exception(error)
            sentence, code = describe(error)
            typer.echo(sentence, err=True)
            raise typer.Exit(code) from None

    return reporting


def describe(error: BaseException) -> tuple[str, int]:
    """Give the sentence and the exit code for an error that ends a command.

    What a terminal would not show as letters is spelled out.
    """
    sentence, code = _described(error)
    letters = (c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in sentence)
    return "".join(letters), code


def _described(error: BaseException) -> tuple[str, int]:
    if isinstance(error, KeyboardInterrupt):
        return ending(error.number if isinstance(error, Stopped) else signal.SIGINT)
    code = getattr(error, "exit_code", None)
    if isinstance(code, int):
        return str(error), code
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}.", 4
    message = " ".join(str(error).split())
    start = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return f"Unexpected error: {start} (datagen --traceback ... shows where)", 4
