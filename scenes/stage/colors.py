"""The sRGB transfer curve (IEC 61966-2-1), extended above 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def srgb_decode(display: ArrayLike) -> NDArray[np.float64]:
    """Linear value of a display value, element by element."""
    value = np.asarray(display, dtype=np.float64)
    return np.where(value <= 0.04045, value / 12.92, ((np.abs(value) + 0.055) / 1.055) ** 2.4)


def srgb_encode(linear: ArrayLike) -> NDArray[np.float64]:
    """Display value of a linear value, element by element."""
    value = np.asarray(linear, dtype=np.float64)
    curve = 1.055 * np.abs(value) ** (1 / 2.4) - 0.055
    return np.where(value <= 0.0031308, value * 12.92, curve)
