"""Bar charts as shapes of a drawing of 100 by 100 units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar that stands on the lower edge."""

    x: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars side by side, the tallest 100 units high."""

    bars: tuple[Bar, ...]
    first: str
    """What stands below the left end."""
    last: str
    """What stands below the right end."""
    most: int
    """Value of the tallest bar."""


def bar_chart(values: Sequence[int], names: Sequence[str], ends: tuple[str, str]) -> Chart:
    """Lay out values as bars.

    Args:
        values: One value per bar, not negative.
        names: What each bar stands for.
        ends: Texts below the left and right end.
    """
    most = max(values, default=0)
    slot = 100 / max(len(values), 1)
    bars = tuple(
        Bar(
            x=index * slot + 0.08 * slot,
            width=0.84 * slot,
            height=100 * value / most if most else 0.0,
            title=f"{name}: {value} row{'' if value == 1 else 's'}",
        )
        for index, (value, name) in enumerate(zip(values, names, strict=True))
    )
    return Chart(bars, *ends, most)
