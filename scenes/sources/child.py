"""Convert foreign files in a process that may die; `converter` runs it with `python -m`.

Libraries that read foreign files can hang, grow without end or abort on a damaged one. Requests
are pickles on stdin, from the process that started this one; answers are JSON lines on stdout.
What the libraries print goes to stderr.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pickle
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from pxr import Work

from scenes.errors import ANSWERS, AssetError, ConversionFault, SceneError
from scenes.sources.request import Answer, Failure, Request
from scenes.stage.scene import Scene

_DIE_WITH_PARENT = 1
"""prctl's PR_SET_PDEATHSIG."""


def main() -> None:
    """Answer requests until stdin ends."""
    _die_with_parent(os.getppid())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):  # Where memory runs out, this process goes first.
        Path("/proc/self/oom_score_adj").write_text("1000")
    # More threads take more time in all: a stage that is written changes prim by prim.
    Work.SetConcurrencyLimit(1)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(
        *,
        alive: bool = False,
        folder: str = "",
        failure: Failure | None = None,
        out_of_memory: bool = False,
    ) -> None:
        answer = Answer(alive=alive, folder=folder, failure=failure, out_of_memory=out_of_memory)
        print(json.dumps(answer), file=answers, flush=True)

    while request := _next_request():
        say(alive=True)
        try:
            folder = _converted(request, lambda: say(alive=True)).folder
        except MemoryError:
            say(out_of_memory=True)
        except SceneError as error:
            say(failure=_failure(error))
        except OSError as error:
            say(failure=_failure(_unreadable(request, error)))
        except Exception as error:
            say(failure=_failure(_fault(request, error)))
        else:
            say(folder=str(folder))


def _next_request() -> Request | None:
    with contextlib.suppress(EOFError):
        return pickle.load(sys.stdin.buffer)
    return None


def _converted(request: Request, waiting: Callable[[], None]) -> Scene:
    if request.cache is not None:
        return request.source.scene(request.cache, waiting)
    assert request.out is not None
    return request.source.convert(request.out)


def _unreadable(request: Request, error: OSError) -> SceneError:
    """Say that the system refused a file, as one whose name is too long."""
    path = request.source.path
    where = f"{path}: " if error.filename in (None, str(path)) else f"{path}: {error.filename}: "
    refusal = AssetError(f"{where}cannot be read: {error.strerror or error}.")
    refusal.__cause__ = error
    return refusal


def _fault(request: Request, error: Exception) -> SceneError:
    reason = " ".join(str(error).split())[:200]
    fault = ConversionFault(
        f"{request.source.path}: the conversion failed where it should not: "
        f"{type(error).__name__}{': ' if reason else ''}{reason} "
        "(datagen --traceback ... shows where)."
    )
    fault.__cause__ = error
    return fault


def _failure(error: SceneError) -> Failure:
    trace = "".join(traceback.format_exception(error))
    kind = next(each.__name__ for each in ANSWERS if isinstance(error, each))
    return Failure(kind=kind, lines=[str(each) for each in error.args], trace=trace)


def _die_with_parent(parent: int) -> None:
    """Have the system end this process when the one that started it is gone, however it went."""
    with contextlib.suppress(AttributeError, OSError):  # Linux only.
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


if __name__ == "__main__":
    main()
