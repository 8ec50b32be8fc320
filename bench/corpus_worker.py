"""A process that looks at models, replaced when it dies, hangs or has grown old."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_MOST = 60
"""Models after which a process is replaced: renderers keep some of each."""


class Worker:
    """Looks at one model after the other, whatever happens.

    Args:
        pictures: Folder for maps of the models below the bar, None for none.
        patience: Longest time without a sign of progress [s].
    """

    def __init__(self, pictures: Path | None, patience: float) -> None:
        self._pictures = pictures
        self._patience = patience
        self._process: multiprocessing.process.BaseProcess | None = None
        self._line: Any = None
        self._looked = 0

    def look(self, path: Path, root: Path) -> dict[str, Any]:
        """Say what becomes of a model of a package folder."""
        if self._process is None or self._looked >= _MOST:
            self.stop()
            self._start()
        self._looked += 1
        self._line.send((str(path), str(root)))
        step = "start"
        while True:
            if not self._line.poll(self._patience):
                self.stop()
                return {"status": "hangs", "step": step, "message": f"no end in {self._patience} s"}
            try:
                answer = self._line.recv()
            except EOFError:
                code = self._ended()
                return {"status": "dies", "step": step, "message": f"exit code {code}"}
            if isinstance(answer, dict):
                return answer
            step = answer

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
        self._process = context.Process(target=_serve, args=(theirs, self._pictures), daemon=True)
        self._process.start()
        theirs.close()
        self._looked = 0


def _serve(line: Connection, pictures: Path | None) -> None:
    from bench.corpus_scene import Sweeper

    with tempfile.TemporaryDirectory() as scratch:
        # MuJoCo writes its log where it stands.
        os.chdir(scratch)
        sweeper = Sweeper(Path(scratch), pictures)
        while True:
            try:
                path, root = line.recv()
            except EOFError:
                return
            try:
                answer = sweeper.look(Path(path), Path(root), line.send)
            except Exception as error:
                answer = {"status": "fails", "message": f"{type(error).__name__}: {error}"}
            line.send(answer)
