"""What the pixels of one view say: brightness and depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from writers import Row

_LUMA = np.array([2126, 7152, 722])
"""Weights of luma (Rec. 709) in ten-thousandths, taken on display values as the flags do."""


@dataclass(frozen=True, slots=True)
class PixelFacts:
    """Numbers of one view, over the pixels that show something; None where none does."""

    brightness: float | None
    """Mean luma, 0 to 255."""
    white: float | None
    """Share of pure white pixels."""
    near: float | None
    """Least depth [m]."""
    middle: float | None
    """Median depth [m]."""
    far: float | None
    """Greatest depth [m]."""


def pixel_facts(row: Row) -> PixelFacts:
    """Measure a row that was read with its `rgb` and `depth`."""
    assert row.rgb is not None and row.depth is not None
    shown = np.isfinite(row.depth)
    if not shown.any():
        return PixelFacts(None, None, None, None, None)
    pixels, depth = row.rgb[shown], row.depth[shown]
    return PixelFacts(
        brightness=float(pixels.sum(axis=0, dtype=np.int64) @ _LUMA) / (10000 * len(pixels)),
        white=float((pixels == 255).all(axis=-1).mean()),
        near=float(depth.min()),
        middle=float(np.median(depth)),
        far=float(depth.max()),
    )
