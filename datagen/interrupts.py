"""What signals do: the first ends a command with one sentence, another one ends it at once."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_WORDS = {
    signal.SIGINT: "Interrupted",
    signal.SIGTERM: "Terminated",
    signal.SIGHUP: "Terminal closed",
}


class Stopped(KeyboardInterrupt):
    """A signal ended the command.

    Args:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = signal.Signals(number)


def ending(number: int) -> tuple[str, int]:
    """Give the sentence and the exit code of a command that a signal ended."""
    word = _WORDS[signal.Signals(number)]
    return (
        f"{word}; what is finished is kept. Give the same command again to go on.",
        128 + number,
    )


def end_at_once_on_signals() -> None:
    """From now on a signal ends this process and its children at once, with one sentence.

    For the time before a command has begun and after it has ended.
    """
    for number in _heard():
        signal.signal(number, _end_at_once)


@contextmanager
def ended_by_signals() -> Generator[None]:
    """Raise `Stopped` in the block on the first signal; end everything at once on another.

    Only the main thread hears signals; in others this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    first: list[int] = []

    def strike(number: int, frame: FrameType | None) -> None:
        if first:
            _end_at_once(first[0], frame)
        first.append(number)
        raise Stopped(number)

    before = {number: signal.signal(number, strike) for number in _heard()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def interrupts_held() -> Generator[None]:
    """Let signals wait until the block ends; what is started in it gets none from the terminal.

    For what an interruption would leave half made, such as the import of a C++ library, or would
    answer with a traceback, such as a worker process. Only the main thread is ever interrupted;
    in others this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: held.append(number)) for number in _heard()
    }
    # The mask is for what is started here; another thread that runs already may take the signal.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
        if held and callable(handler := before[held[0]]):
            handler(held[0], None)
        elif held and before[held[0]] == signal.SIG_DFL:
            signal.raise_signal(held[0])


def _heard() -> list[int]:
    """Signals that this process does not ignore, as one started with `nohup` does."""
    return [number for number in _WORDS if signal.getsignal(number) != signal.SIG_IGN]


def _end_at_once(number: int, _: FrameType | None) -> None:
    sentence, code = ending(number)
    for child in _children(os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.write(2, f"{sentence}\n".encode())
    os._exit(code)


def _children(process: int) -> list[int]:
    """Give all that a process has started, and what that has; none where the system is silent."""
    found: list[int] = []
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, file.read_text().split()):
                found += [*_children(child), child]
    return found
