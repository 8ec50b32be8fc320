"""What became of every element of a source: the `SceneReport` beside the stage."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class SceneReport:
    """Counts of elements in and out, and what a reader must know about the pictures."""

    source: str
    counts_in: dict[str, int] = field(default_factory=dict)
    counts_out: dict[str, int] = field(default_factory=dict)
    approximated: list[str] = field(default_factory=list)
    """Elements that are shown differently, and how."""
    left_out: list[str] = field(default_factory=list)
    """Elements that are not in the stage, and why."""
    caveats: list[str] = field(default_factory=list)
    """What makes pictures of different backends not comparable."""
    warnings: list[str] = field(default_factory=list)
    """What MuJoCo warned about while it compiled the model."""

    def write(self, path: Path) -> None:
        """Write the report as JSON."""
        text = json.dumps(vars(self), indent=1, ensure_ascii=False)
        path.write_text(text, encoding="utf-8")
