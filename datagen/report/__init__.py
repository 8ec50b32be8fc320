"""What a run holds: a table for the terminal, and a page for the browser."""

from __future__ import annotations

from datagen.report.page import inspect, write_report
from datagen.report.statistics import (
    Brightness,
    ClassStatistics,
    DepthRange,
    RunStatistics,
    ViewStatistics,
    run_statistics,
)

__all__ = [
    "Brightness",
    "ClassStatistics",
    "DepthRange",
    "RunStatistics",
    "ViewStatistics",
    "inspect",
    "run_statistics",
    "write_report",
]
