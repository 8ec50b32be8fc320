"""Objects that one side does not draw although nothing hides them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from datagen.audit.diagnose.findings import Finding
from datagen.audit.measure.surfaces import Surface
from datagen.audit.view import ViewPair

_FEWEST_PIXELS = 50
"""Pixels an object needs to be missed."""


def missing_objects(pair: ViewPair, reference: Surface, candidate: Surface) -> list[Finding]:
    """Findings on objects and parts that one side does not draw although nothing hides them."""
    found: list[Finding] = []
    sides = (
        (pair.candidate.backend, reference, candidate),
        (pair.reference.backend, candidate, reference),
    )
    names = {each.instance: each.name for each in pair.scene.info.objects}
    members: dict[int, list[int]] = {}
    for part in pair.scene.info.parts:
        members.setdefault(part.instance, []).append(part.part)
    for backend, has, lacks in sides:
        for instance, numbers in members.items():
            gone = [each for each in numbers if _unseen(np.array([each]), has, lacks)]
            whole = _unseen(np.array(numbers), has, lacks)
            if not gone and not whole:
                continue
            shown = np.isin(has.part, numbers if whole else gone)
            what = "" if whole or len(gone) == len(numbers) else f"{len(gone)} parts of "
            found.append(
                Finding(
                    "object_missing",
                    f"object {names[instance]}",
                    float(np.count_nonzero(shown)),
                    "px",
                    f"{backend} does not draw {what}{names[instance]}, which fills "
                    f"{np.count_nonzero(shown)} pixels on the other side: hidden, not converted, "
                    "or moved out of the picture.",
                )
            )
    return found


def _unseen(numbers: NDArray[np.intp], has: Surface, lacks: Surface) -> bool:
    """Tell whether parts fill pixels on one side and none on the other, which sees through."""
    shown = np.isin(has.part, numbers)
    if shown.sum() < _FEWEST_PIXELS or np.isin(lacks.part, numbers).any():
        return False
    through = lacks.depth[shown] >= has.depth[shown] * (1.0 - 1e-3)
    return bool(through.mean() > 0.9)
