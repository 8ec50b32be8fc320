"""Labels of a view as two backends' buffers give them."""

from __future__ import annotations

import numpy as np

from datagen.audit.diagnose.findings import Comparison
from datagen.audit.view import ViewPair

_FEWEST_PIXELS = 50
"""Pixels an object needs on both sides for its box and occlusion to be compared."""


def compare_labels(pair: ViewPair) -> Comparison:
    """Compare which objects are seen, their tight boxes and how far they are hidden.

    `labels.count_difference` counts objects with at least 50 pixels that only one side shows at
    all; boxes and occlusion are compared for objects with as many pixels on both sides.
    """
    first = {each.instance: each for each in pair.reference.labels.objects}
    second = {each.instance: each for each in pair.candidate.labels.objects}
    objects: dict[str, dict[str, float]] = {}
    lost = 0
    for instance in sorted(first.keys() | second.keys()):
        one, other = first.get(instance), second.get(instance)
        pixels = [0 if each is None else each.pixels_visible for each in (one, other)]
        if max(pixels) >= _FEWEST_PIXELS and min(pixels) == 0:
            lost += 1
        if one is None or other is None or min(pixels) < _FEWEST_PIXELS:
            continue
        row: dict[str, float] = {}
        if one.tight_box is not None and other.tight_box is not None:
            row["tight_box_px"] = float(np.abs(np.subtract(one.tight_box, other.tight_box)).max())
        if one.occlusion is not None and other.occlusion is not None:
            row["occlusion_difference"] = abs(one.occlusion - other.occlusion)
        objects[one.name] = row
    metrics = {"labels.count_difference": float(lost)}
    for name in ("tight_box_px", "occlusion_difference"):
        values = [row[name] for row in objects.values() if name in row]
        if values:
            metrics[f"labels.{name}"] = max(values)
    return Comparison(metrics, objects)
