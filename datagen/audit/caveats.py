"""Caveats of a scene's report, sorted by the numbers they touch."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from datagen.audit.results import SceneCaveats

_FAMILIES = {
    "light": ("light", "rgb"),
    "headlight": ("light", "rgb"),
    "material": ("albedo", "rgb"),
    "texture": ("albedo", "rgb"),
    "skybox": ("rgb",),
}
"""Families of metrics that a kind of element touches, by the word a sentence names it with."""


def read_caveats(scene_id: str, folder: Path, objects: Iterable[str]) -> SceneCaveats:
    """Read the caveats and approximations in the report of a scene folder.

    A sentence that names an object belongs to this object, one that starts with a kind of element
    to the metrics that depend on it, and every other one to the whole scene.

    Args:
        scene_id: Name of the scene in the audit.
        folder: Scene folder.
        objects: Names of the scene's objects.
    """
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return sort_caveats(scene_id, report, objects)


def sort_caveats(scene_id: str, report: Mapping[str, Any], objects: Iterable[str]) -> SceneCaveats:
    """Sort the caveats of a report that is read already."""
    by_object: defaultdict[str, list[str]] = defaultdict(list)
    by_family: defaultdict[str, list[str]] = defaultdict(list)
    whole: list[str] = []
    names = tuple(objects)
    shown = [line for line in report.get("left_out", ()) if line.startswith("skybox")]
    for line in [*report.get("caveats", ()), *report.get("approximated", ()), *shown]:
        named = [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line)]
        word = re.match(r"\w*", line.lower())
        families = _FAMILIES.get(word.group().removesuffix("s") if word else "", ())
        for name in named:
            by_object[name].append(line)
        for family in () if named else families:
            by_family[family].append(line)
        if not named and not families:
            whole.append(line)
    return SceneCaveats(scene_id, _tuples(by_object), _tuples(by_family), tuple(whole))


def _tuples(lists: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(lines) for name, lines in lists.items()}
