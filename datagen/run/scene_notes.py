"""What the scenes of a run left out or show differently, told at the end of the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

_MOST_LINES = 12
_EXAMPLE = 100
"""Characters of the example that a line ends with."""


def scene_notes(folders: Mapping[str, Path]) -> list[str]:
    """Say in a line for each scene how much of it is missing or different, and where it is told.

    Args:
        folders: Scene folders with a `report.json`, by scene id.

    Returns:
        A heading and a line for each scene, those that left most out first and only the first
        dozen; nothing where all scenes are whole.
    """
    noted: list[tuple[int, str, str]] = []
    for scene_id, folder in folders.items():
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        left_out, different = report["left_out"], [*report["caveats"], *report["approximated"]]
        counts = [
            f"{len(lines)} {word}"
            for lines, word in ((left_out, "left out"), (different, "shown differently"))
            if lines
        ]
        if counts:
            first = (left_out or different)[0]
            shown = first if len(first) <= _EXAMPLE else first[: _EXAMPLE - 3] + "..."
            line = f"  {scene_id}: {', '.join(counts)}, such as {shown}"
            noted.append((-len(left_out), scene_id, line))
    if not noted:
        return []
    noted.sort()
    more = len(noted) - _MOST_LINES
    return [
        "Not all of each scene is shown as its file says; scenes/SCENE/report.json and the page "
        "tell everything:",
        *(line for _, _, line in noted[:_MOST_LINES]),
        *([f"  and {more} more"] if more > 0 else []),
    ]
