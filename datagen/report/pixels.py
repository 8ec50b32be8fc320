"""What the pixels of one view say: brightness and depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from writers import Row

_LUMA = np.array([2126.0, 7152.0, 722.0])
"""Weights of luma (Rec. 709) in ten-thousandths, taken on display values as the flags do."""


@dataclass(frozen=True, slots=True)
class PixelFacts:
    """Numbers of one view, over the pixels that show something; None where none does."""

    brightness: float | None
    """Mean luma, 0 to 255."""
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
    depth = row.depth[shown]
    if not depth.size:
        return PixelFacts(None, None, None, None)
    # Whole numbers below 2^53, so that the sums are exact.
    sums = shown.reshape(-1).astype(np.float64) @ row.rgb.reshape(-1, 3).astype(np.float64)
    return PixelFacts(
        brightness=float(sums @ _LUMA) / (10000 * depth.size),
        near=float(depth.min()),
        middle=float(np.median(depth)),
        far=float(depth.max()),
    )


def white_share(row: Row) -> float:
    """Give the share of pure white pixels among those that show something; 0 without any."""
    assert row.rgb is not None and row.depth is not None
    white = (row.rgb[np.isfinite(row.depth)] == 255).all(axis=-1)
    return float(white.mean()) if white.size else 0.0
