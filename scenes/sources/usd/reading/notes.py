"""What the report tells of a USD stage."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Notes:
    """What the report tells of a stage, each sentence once."""

    approximated: dict[str, None] = field(default_factory=dict)
    left_out: dict[str, None] = field(default_factory=dict)

    def differs(self, sentence: str) -> None:
        """Note what is shown differently, and how."""
        self.approximated[sentence] = None

    def lacks(self, sentence: str) -> None:
        """Note what is not shown, and why."""
        self.left_out[sentence] = None
