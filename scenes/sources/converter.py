"""Sources converted in a process of its own, within limits of time and memory."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO

from scenes.errors import ANSWERS, AssetError, SceneError, StorageError
from scenes.sources.file_source import FileSource
from scenes.sources.limits import ConversionLimits
from scenes.sources.request import Answer, Failure, Request
from scenes.stage.scene import Scene
from scenes.storage.temporary import remove_temporaries

_GIB = 2**30
_LOOK_SECONDS = 0.03
_START_SECONDS = 300.0
_GROWN = 0.25
"""Share of the memory limit that a process may hold when it begins with another scene."""
_SHOWN_LOG_BYTES = 4000


class Converter:
    """Converts sources one after the other in one process, which is started anew when it dies.

    A context manager: in the end the process is gone. What a killed one had under construction is
    removed.

    Args:
        limits: What it may take for one scene.
    """

    def __init__(self, limits: ConversionLimits) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._folders = contextlib.ExitStack()
        self._scratch: Path | None = None
        self._pending = b""

    def __enter__(self) -> Converter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()
        self._folders.close()

    def start(self) -> None:
        """Start the process ahead of the first source, so that it loads its libraries."""
        if self._process is not None:
            return
        if self._scratch is None:
            # Libraries that die leave their last words in the folder of temporary files.
            scratch = tempfile.TemporaryDirectory(prefix="datagen-", ignore_cleanup_errors=True)
            self._scratch = Path(self._folders.enter_context(scratch))
        self._pending = b""
        with (self._scratch / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "scenes.sources.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(self._scratch),
                start_new_session=True,
            )

    def scene(self, source: FileSource, cache: Path) -> Scene:
        """Open the scene of a source, converted on first use.

        Raises:
            SceneError: The source is refused, or reading it took too much or ended the process.
            StorageError: The cache cannot be written.
        """
        return Scene.open(self._asked(Request(source, cache=cache), cache / "scenes"))

    def convert(self, source: FileSource, out: Path) -> Scene:
        """Convert a source into a scene folder.

        Raises:
            SceneError: `out` exists, or the source is refused, or reading it took too much or
                ended the process; nothing is left behind.
        """
        return Scene.open(self._asked(Request(source, out=out), out.parent))

    def _asked(self, request: Request, parent: Path) -> Path:
        """Have a request answered; `parent` is where the folder is put together."""
        self._end_if_grown()
        self.start()
        process = self._process
        assert process is not None and process.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(pickle.dumps(request))
                process.stdin.flush()
            answer = self._answer(process, request.source)
        except BaseException:
            self._end()
            remove_temporaries(parent, process.pid)
            raise
        if answer["out_of_memory"]:
            self._end()
            remove_temporaries(parent, process.pid)
            raise self._too_large(request.source)
        if answer["failure"] is not None:
            raise _raised(answer["failure"])
        return Path(answer["folder"])

    def _answer(self, process: subprocess.Popen[bytes], source: FileSource) -> Answer:
        """Wait for the answer to a request.

        Raises:
            AssetError: The process died, or took more than it may.
        """
        assert process.stdout is not None
        begun = False
        deadline = time.monotonic() + _START_SECONDS
        while True:
            line = self._line(process.stdout)
            if line == b"":
                raise self._died(process, source, begun)
            if line is not None:
                answer: Answer = json.loads(line)
                if not answer["alive"]:
                    return answer
                begun = True
                deadline = time.monotonic() + self._limits.timeout
            if _resident_bytes(process.pid) > self._limits.memory * _GIB:
                raise self._too_large(source)
            if time.monotonic() > deadline:
                raise AssetError(
                    f"{source.path}: reading it took longer than {self._limits.timeout:g} s; "
                    "if the file is meant to be so large, raise `conversion.timeout` (--timeout)."
                )

    def _line(self, stream: IO[bytes]) -> bytes | None:
        """Read a line of the process; None where none comes for a while, empty at the end."""
        if b"\n" not in self._pending:
            if not select.select([stream], [], [], _LOOK_SECONDS)[0]:
                return None
            data = os.read(stream.fileno(), 65536)
            if not data:
                return b""
            self._pending += data
        line, end, rest = self._pending.partition(b"\n")
        if not end:
            return None
        self._pending = rest
        return line

    def _too_large(self, source: FileSource) -> AssetError:
        return AssetError(
            f"{source.path}: reading it took more than {self._limits.memory:g} GiB; if "
            "the file is meant to be so large, raise `conversion.memory` (--memory)."
        )

    def _died(
        self, process: subprocess.Popen[bytes], source: FileSource, begun: bool
    ) -> SceneError:
        code = process.wait()
        assert self._scratch is not None
        printed = (self._scratch / "log").read_bytes()[-_SHOWN_LOG_BYTES:].decode(errors="replace")
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        if not begun:
            error: SceneError = StorageError(
                f"{source.path}: not read: the process for it did not start ({how})."
            )
        elif code == -signal.SIGKILL:
            error = AssetError(
                f"{source.path}: the process that read it was killed, most likely because the "
                "machine ran out of memory."
            )
        else:
            error = AssetError(
                f"{source.path}: not readable: the {source.library} library ended its process "
                f"over it ({how}); the file is damaged."
            )
        if printed.strip():
            error.add_note(f"It printed:\n{printed.strip()}")
        return error

    def _end_if_grown(self) -> None:
        """End a process whose memory the scenes before have filled; what is left is not theirs."""
        process = self._process
        if process is not None and process.poll() is None:
            if _resident_bytes(process.pid) > _GROWN * self._limits.memory * _GIB:
                self._end()
        elif process is not None:
            self._end()

    def _end(self) -> None:
        """End the process and all that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def _raised(failure: Failure) -> SceneError:
    kind = next(each for each in ANSWERS if each.__name__ == failure["kind"])
    error = kind(*failure["lines"])
    error.add_note(f"In the process that converts:\n{failure['trace'].rstrip()}")
    return error


def _resident_bytes(process: int) -> int:
    """Memory that a process has taken; 0 where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_bytes().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _environment(scratch: Path) -> dict[str, str]:
    sources = str(Path(__file__).resolve().parents[2])
    paths = [sources, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"TMPDIR": str(scratch), "PYTHONPATH": os.pathsep.join(paths)}
