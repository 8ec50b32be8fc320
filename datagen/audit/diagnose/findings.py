"""What an audit says: numbers by metric, and what is probably wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class Finding:
    """A probable cause of a difference, with its size."""

    kind: str
    """Name of the culprit, such as `field_of_view` or `rows_flipped`."""
    subject: str
    """`camera <name>`, `object <name>`, `light <name>` or `picture`."""
    size: float
    unit: str
    """Unit of `size`: px, deg, mm, %, or empty for a yes."""
    sentence: str
    """What is wrong, how much, and the likely cause."""


@dataclass(frozen=True)
class Comparison:
    """One family of measurements of one view."""

    metrics: Mapping[str, float]
    """Numbers by dotted name, such as `ids.agreement`; a measurement that cannot be made for
    these two backends is left out."""
    objects: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Numbers by object name, then metric."""
    maps: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Pictures for the page by name: uint8 [h, w, 3], float32 or bool [h, w]."""
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    """Caveats that belong beside these numbers."""
