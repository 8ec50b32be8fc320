"""Where a picture is steepest across the borders of its labels; registration starts there."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import map_coordinates

from datagen.audit.measure.edges import Floats, Ids, interior, smooth

_GAIN, _GAIN_NEAR = 2.5, 1.3
"""How much steeper across borders than in place the picture must be elsewhere, and close by."""
_APART, _AMBIGUOUS = 12.0, 0.8
"""Distance of other places [pixel], and the part of the steepness from which they compete."""
_STARTS, _CLIMBS, _BORDER_PIXELS, _APART_STEP = 6, 20, 1500, 1.5
_FARTHEST = 0.35
"""Shift, and stretch at the border, that are looked for, as part of the picture's side."""


def steepest_place(picture: Floats, part: Ids) -> Floats:
    """Displacement at which the picture is steepest across the borders of its labels.

    Shift right and down, then stretch across and down as pixels at the picture's border.
    """
    tensor = _tensor(smooth(picture))
    strongest = np.quantile(tensor[..., 0] + tensor[..., 1], 0.98)
    scale = np.minimum(strongest / np.maximum(tensor[..., 0] + tensor[..., 1], 1e-12), 1.0)
    tensor = np.moveaxis(tensor * scale[..., None], 2, 0)
    rows, columns = np.nonzero(~interior(part))
    chosen = np.linspace(0, len(rows) - 1, min(len(rows), _BORDER_PIXELS)).astype(np.intp)
    rows, columns = rows[chosen], columns[chosen]
    height, width = part.shape
    x, y = (columns + 0.5) / (width / 2) - 1.0, (rows + 0.5) / (height / 2) - 1.0
    across = _across_borders(part)[rows, columns]
    cos, sin = np.cos(across), np.sin(across)

    def score(warp: Floats) -> float:
        """Mean slope across the borders less that along them, which texture has as much of."""
        if np.abs(warp).max() > _FARTHEST * min(height, width):
            return 0.0
        at = rows - warp[1] - warp[3] * y, columns - warp[0] - warp[2] * x
        inside = (at[0] >= 0) & (at[0] <= height - 1) & (at[1] >= 0) & (at[1] <= width - 1)
        if np.count_nonzero(inside) < max(0.3 * len(rows), 1):
            return 0.0
        places = [each[inside] for each in at]
        xx, yy, xy = (map_coordinates(each, places, order=1) for each in tensor)
        c, s = cos[inside], sin[inside]
        over = xx * c * c + 2.0 * xy * c * s + yy * s * s
        along = xx * s * s - 2.0 * xy * c * s + yy * c * c
        slope = np.sqrt(np.maximum(over, 0.0)) - np.sqrt(np.maximum(along, 0.0))
        return float(slope.mean())

    def climbed(warp: Floats) -> Floats:
        best = score(warp)
        for length in (2.0, 1.0, 0.5):
            for _ in range(_CLIMBS):
                steps = [sign * length * each for each in np.eye(4) for sign in (-1.0, 1.0)]
                scores = [score(warp + step) for step in steps]
                if max(scores) <= best:
                    break
                best = max(scores)
                warp = warp + steps[int(np.argmax(scores))]
        return warp

    reach = _FARTHEST * min(height, width)
    amounts = np.arange(-reach, reach + 1.0, _APART_STEP)
    ways = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 1]])
    starts = [amount * way for way in ways for amount in amounts]
    scores = [score(start) for start in starts]
    ranked = [starts[index] for index in np.argsort(scores)[: -_STARTS - 1 : -1]]
    best = max((climbed(start) for start in ranked), key=score)
    far = [np.abs(start - best).max() > _APART for start in starts]
    rival = max((each for each, apart in zip(scores, far, strict=True) if apart), default=0.0)
    in_place = score(np.zeros(4))
    if rival < _AMBIGUOUS * score(best) and score(best) > _GAIN * in_place:
        return best
    # Lines of a texture may lie along borders elsewhere; close by, a better place is believed.
    near = climbed(np.zeros(4))
    return near if score(near) > _GAIN_NEAR * in_place else np.zeros(4)


def _tensor(picture: Floats) -> Floats:
    """Structure tensor: xx, yy and xy of the slopes, summed over channels, [h, w, 3]."""
    down, right = (np.gradient(picture, axis=axis) for axis in (0, 1))
    return np.stack(
        [(right**2).sum(axis=2), (down**2).sum(axis=2), (right * down).sum(axis=2)], axis=2
    )


def _across_borders(part: Ids) -> Floats:
    """Direction across the nearest border of parts [rad], [h, w]."""
    kinds, places = np.unique(part, return_inverse=True)
    codes = np.random.default_rng(0).random((len(kinds), 3))
    tensor = smooth(_tensor(smooth(codes[places.reshape(part.shape)])))
    return 0.5 * np.arctan2(2.0 * tensor[..., 2], tensor[..., 0] - tensor[..., 1])
