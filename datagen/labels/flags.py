"""Flags: what makes a view doubtful, by closed definitions.

* `object_out_of_view`: an object of interest has no visible pixel, for whatever reason. A scene
  that names none is out of view when no object on a free joint, or no object at all where nothing
  is free, has a visible pixel.
* `dark`: of the pixels that show something, the mean luma (Rec. 709 on display values) lies below
  `DARK_LUMA`.
* `blown`: of the pixels that show something, `BLOWN_SHARE` or more are pure white.

`dark` and `blown` need something to be shown. A run adds `unusual_exposure` to path-traced views of
a scene whose exposure lies outside `datagen.run.exposure.EXPOSURE_RANGE`, and `objects_overlap`
where two objects, one of them on a free joint, overlap by more than 5 mm in the state as it was
authored, before anything is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from datagen.labels.objects import ObjectLabel
from scenes import SceneInfo, State

DARK_LUMA = 10
"""Mean luma below which a view is dark, of 255."""
BLOWN_SHARE = 0.5
"""Share of pure white pixels from which a view is blown."""


def view_flags(
    info: SceneInfo,
    objects: Sequence[ObjectLabel],
    part: NDArray[np.int32],
    rgb: NDArray[np.uint8] | None,
) -> tuple[str, ...]:
    """Flags of a view, in alphabetical order.

    Args:
        info: The scene's tables.
        objects: Labels of the objects that could be seen.
        part: Part map, 0 = nothing, [h, w].
        rgb: Display picture, [h, w, 3]; without one, `dark` and `blown` are not judged.
    """
    shown = part > 0
    flags = {
        "blown": rgb is not None and _blown(rgb[shown]),
        "dark": rgb is not None and _dark(rgb[shown]),
        "object_out_of_view": _out_of_view(info, objects),
    }
    return tuple(name for name, raised in flags.items() if raised)


def _out_of_view(info: SceneInfo, objects: Sequence[ObjectLabel]) -> bool:
    seen = {label.name for label in objects if label.pixels_visible}
    if info.objects_of_interest:
        return not seen.issuperset(info.objects_of_interest)
    free = {body.instance for body in info.bodies if body.free}
    movable = {each.name for each in info.objects if each.instance in free}
    return seen.isdisjoint(movable or {each.name for each in info.objects})


def _dark(pixels: NDArray[np.uint8]) -> bool:
    """Tell whether the mean luma (Rec. 709 on display values) of pixels, [n, 3], is low."""
    # Integers, so that the sum does not depend on its order.
    luma = pixels.astype(np.int64) @ np.array([2126, 7152, 722])
    return bool(pixels.size and luma.sum() < DARK_LUMA * 10000 * luma.size)


def _blown(pixels: NDArray[np.uint8]) -> bool:
    """Tell whether too many of the pixels, [n, 3], are pure white."""
    return bool(pixels.size and (pixels == 255).all(axis=-1).sum() >= BLOWN_SHARE * len(pixels))


def state_flags(state: State) -> tuple[str, ...]:
    """Flags of all views of a state."""
    return ("objects_overlap",) if state.overlaps else ()
