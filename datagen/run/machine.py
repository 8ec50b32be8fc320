"""What of the machine decides the bytes of a picture."""

from __future__ import annotations

import platform
from pathlib import Path


def processor() -> str:
    """Model of the processor: renderers and denoisers choose their instructions by it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
