"""A renderer in a child process, told of scenes and samples through pipes.

Requests are JSON lines on the child's stdin. Answers are a JSON line each on its stdout, and after
it the arrays that the line announces, as they lie in memory. The child may be of another Python,
as long as it has this package and the renderer.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, fields
from pathlib import Path
from typing import IO, Any

import numpy as np

from datagen.backends.base import Buffers, Pass, Size
from datagen.backends.errors import BackendError
from datagen.backends.frames import LocalRenderer, Plain, SampleTable, View


class PipeRenderer:
    """A backend that lives in a child process; see `datagen.backends.frames.Renderer`.

    Args:
        name: Name of the backend.
        options: Keyword arguments of its class: numbers, texts and truth values.
        python: Python of the child; none: that of this process.

    Raises:
        BackendError: The child cannot start, or its renderer cannot be used there.
    """

    def __init__(
        self, name: str, options: Mapping[str, object] | None = None, python: Path | None = None
    ) -> None:
        self.name = name
        root = str(Path(__file__).parents[2])
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        try:
            self._child = subprocess.Popen(
                [str(python or sys.executable), "-P", "-m", "datagen.backends.pipe"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
                start_new_session=True,  # A signal from the terminal is for us alone.
            )
        except OSError as error:
            raise BackendError(f"backend {name}: its process cannot start: {error}.") from error
        try:
            self._ask("make", name=name, options=dict(options or {}))
        except BaseException:
            self.close()
            raise

    def open(self, folder: Path) -> None:
        """Load the scene of a folder."""
        self._ask("open", folder=str(folder.absolute()))

    def render(
        self, sample: SampleTable, views: Sequence[View], passes: Set[Pass]
    ) -> Iterator[Buffers]:
        """Show a sample of the open scene and render views of it, in their order."""
        wanted = [(view.camera, *view.size) for view in views]
        self._send("render", sample=asdict(sample), views=wanted, passes=sorted(passes))
        for taken in range(1, len(wanted) + 1):
            try:
                yield self._buffers()
            except GeneratorExit:
                # What nobody takes must not be read as the answer to another request.
                for _ in wanted[taken:]:
                    self._buffers()
                raise

    def describe(self) -> dict[str, str]:
        """State what decides the bytes."""
        return self._ask("describe")["described"]

    def close(self) -> None:
        """End the child."""
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._child.terminate()
        self._child.wait()

    @property
    def _output(self) -> IO[bytes]:
        assert self._child.stdout is not None
        return self._child.stdout

    def _buffers(self) -> Buffers:
        announced = self._answer()["arrays"]
        return Buffers(**dict(_arrays(self._output, announced)))

    def _ask(self, request: str, **values: Any) -> dict[str, Any]:
        self._send(request, **values)
        return self._answer()

    def _send(self, request: str, **values: Any) -> None:
        assert self._child.stdin is not None
        line = json.dumps({"request": request, **values}, allow_nan=False)
        with contextlib.suppress(BrokenPipeError):  # The answer will say what happened.
            self._child.stdin.write(f"{line}\n".encode())
            self._child.stdin.flush()

    def _answer(self) -> dict[str, Any]:
        line = self._output.readline()
        if not line:
            code = self._child.wait()
            raise BackendError(f"backend {self.name}: its process ended with exit code {code}.")
        answer: dict[str, Any] = json.loads(line)
        if "failure" in answer:
            raise BackendError(answer["failure"])
        return answer


def _arrays(stream: IO[bytes], announced: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    for each in announced:
        kind = np.dtype(each["dtype"])
        size = int(np.prod(each["shape"])) * kind.itemsize
        data = stream.read(size)
        if len(data) != size:
            raise BackendError("a renderer's process ended in the middle of an array.")
        yield each["name"], np.frombuffer(bytearray(data), kind).reshape(each["shape"])


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until there are no more; what fails is answered by its sentence."""
    renderer: LocalRenderer | None = None
    for line in requests:
        asked: dict[str, Any] = json.loads(line)
        try:
            if asked["request"] == "make":
                from datagen.backends.registry import open_backend

                renderer = LocalRenderer(open_backend(asked["name"], asked["options"]))
                _say(answers)
                continue
            assert renderer is not None
            if asked["request"] == "open":
                renderer.open(Path(asked["folder"]))
                _say(answers)
            elif asked["request"] == "render":
                _render(renderer, asked, answers)
            else:
                _say(answers, described=renderer.describe())
        except Exception as error:  # Whatever it is, the other side must be told.
            _say(answers, failure=" ".join(str(error).split()) or type(error).__name__)
    if renderer is not None:
        renderer.close()


def _render(renderer: LocalRenderer, asked: dict[str, Any], answers: IO[bytes]) -> None:
    given = asked["sample"]
    values = tuple((path, _tuples(value)) for path, value in given["values"])
    sample = SampleTable(given["state"], values, given["noise_seed"])
    views = [View(camera, Size(width, height)) for camera, width, height in asked["views"]]
    for buffers in renderer.render(sample, views, set(asked["passes"])):
        arrays = {
            field.name: np.ascontiguousarray(array)
            for field in fields(buffers)
            if (array := getattr(buffers, field.name)) is not None
        }
        _say(
            answers,
            arrays=[
                {"name": name, "dtype": array.dtype.str, "shape": array.shape}
                for name, array in arrays.items()
            ],
        )
        for array in arrays.values():
            answers.write(array.tobytes())
        answers.flush()


def _tuples(value: Any) -> Plain:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _say(answers: IO[bytes], **values: Any) -> None:
    answers.write(f"{json.dumps(values)}\n".encode())
    answers.flush()


if __name__ == "__main__":
    # What libraries print goes to stderr, not among the answers.
    own = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, own)
