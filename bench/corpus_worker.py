"""A process that looks at models, replaced when it dies, hangs or has grown old."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

_MOST = 60
"""Models after which a process is replaced: renderers keep some of each."""


class Looker(Protocol):
    """Says what becomes of a model."""

    def look(self, path: Path, root: Path, step: Callable[[str], None]) -> dict[str, Any]:
        """Look at a model of a package folder; `step` is told what is about to be done."""
        ...


class Worker:
    """Looks at one model after the other, whatever happens.

    Args:
        answer: Run by the process, with its end of the line.
        patience: Longest time without a sign of progress [s].
    """

    def __init__(self, answer: Callable[[Connection], None], patience: float) -> None:
        self.patience = patience
        self._answer = answer
        self._process: multiprocessing.process.BaseProcess | None = None
        self._line: Any = None
        self._looked = 0

    def look(self, path: Path, root: Path) -> dict[str, Any]:
        """Say what becomes of a model of a package folder.

        Raises:
            RuntimeError: No process can start.
        """
        if self._process is None or self._looked >= _MOST:
            self.stop()
            self._start()
        self._looked += 1
        self._line.send((str(path), str(root)))
        step = "begin"
        while True:
            if not self._line.poll(self.patience):
                self.stop()
                return {"status": "hangs", "step": step, "message": f"no end in {self.patience} s"}
            try:
                said = self._line.recv()
            except EOFError:
                code = self._ended()
                return {"status": "dies", "step": step, "message": f"exit code {code}"}
            if isinstance(said, dict):
                return said
            step = said

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._ended()

    def _ended(self) -> int | None:
        assert self._process is not None
        self._process.join()
        code, self._process = self._process.exitcode, None
        return code

    def _start(self) -> None:
        # A forked process could not draw.
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        process = context.Process(target=self._answer, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        self._process = process
        try:
            self._line.recv()
        except EOFError:
            raise RuntimeError(
                f"the process that looks at models cannot start: exit code {self._ended()}."
            ) from None
        self._looked = 0


def answer_with_renderers(line: Connection, pictures: Path | None) -> None:
    """Look at models with Mitsuba and MuJoCo; maps of those below the bar go to a folder."""
    from bench.corpus_scene import Sweeper

    with tempfile.TemporaryDirectory() as scratch:
        # MuJoCo writes its log where it stands.
        os.chdir(scratch)
        answer(line, Sweeper(Path(scratch), pictures))


def answer(line: Connection, looker: Looker) -> None:
    """Answer for one model after the other, until nobody asks any more."""
    line.send("ready")
    while True:
        try:
            path, root = line.recv()
        except EOFError:
            return
        try:
            said = looker.look(Path(path), Path(root), line.send)
        except Exception as error:
            said = {"status": "fails", "message": f"{type(error).__name__}: {error}"}
        line.send(said)
