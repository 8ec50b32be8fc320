from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from datagen.interrupts import interrupts_held

REPORT = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupt_waits_for_the_end_of_the_block() -> None:
    stop = threading.Event()
    # Without the block, a thread that runs before it would take the signal at once.
    threading.Thread(target=stop.wait).start()
    reached: list[str] = []
    with pytest.raises(KeyboardInterrupt), interrupts_held():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        reached.append("end")
    stop.set()
    assert reached == ["end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_what_ignores_interrupts_goes_on_to_ignore_them() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupts_held():
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_process_started_in_the_block_gets_no_interrupt() -> None:
    with interrupts_held():
        shown = subprocess.run(
            [sys.executable, "-c", REPORT], capture_output=True, text=True, check=True
        )
    assert shown.stdout.strip() == "True"
