"""Pixels that show something through something else, where colours say little."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation

from datagen.audit.view import ViewPair
from scenes import Scene
from scenes.stage.looks import read_looks

_OPAQUE = 0.995
"""MuJoCo draws what has less alpha after everything else, and blends it."""


def transparent_parts(scene: Scene) -> tuple[int, ...]:
    """Numbers of the parts that things are seen through, in the sample shown."""
    parts = scene.info.parts
    looks = read_looks(scene, [each.path for each in parts])
    return tuple(
        each.part for each, look in zip(parts, looks, strict=True) if look.opacity < _OPAQUE
    )


def transparent_pixels(pair: ViewPair) -> NDArray[np.bool_] | None:
    """Pixels that show a transparent part on either side, and their neighbours, [h, w].

    The ids are those of the part in front, while MuJoCo's unlit picture blends it with what is
    behind and a path tracer's albedo does not.

    Returns:
        None where there are none, or no ids.
    """
    numbers = transparent_parts(pair.scene)
    shown = [side.buffers.part for side in (pair.reference, pair.candidate)]
    found = [np.isin(part, numbers) for part in shown if part is not None]
    if not numbers or not found or not np.any(found):
        return None
    around = binary_dilation(np.any(found, axis=0), np.ones((3, 3)))
    return np.asarray(around, dtype=np.bool_)
