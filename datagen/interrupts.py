"""When Ctrl-C may strike."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def interrupts_held() -> Generator[None]:
    """Let Ctrl-C wait until the block ends; threads and processes started in it never get it.

    For what an interruption would leave half made, such as the import of a C++ library, or would
    answer with a traceback, such as a worker process. Only the main thread is ever interrupted;
    in others this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    # The mask is for what is started here; another thread that runs already may take the signal.
    handler = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if held and callable(handler):
            handler(signal.SIGINT, None)
