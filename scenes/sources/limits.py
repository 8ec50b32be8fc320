"""What reading and converting a source may take."""

from __future__ import annotations

import os

from pydantic import Field

from scenes.convert.settings import Settings


def _usual_memory() -> float:
    """8 GiB, or half of the machine's memory where that is less."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return max(0.5, min(8.0, round(machine / 2, 1)))


class ConversionLimits(Settings):
    """What the process that reads sources and converts them may take for one scene."""

    timeout: float = Field(default=300.0, gt=0, le=1e6, allow_inf_nan=False)
    """Longest time [s]."""

    memory: float = Field(default_factory=_usual_memory, ge=0.5, le=1e6, allow_inf_nan=False)
    """Most memory [GiB]; by default 8, or half of the machine's where that is less."""
