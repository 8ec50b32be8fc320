"""Colours for numbers: label maps and depth."""

from __future__ import annotations

import colorsys

import numpy as np
from numpy.typing import NDArray

NOTHING = (16, 18, 22)
"""Colour of pixels that show nothing."""
_GOLDEN = 0.6180339887498949
_LIGHTNESS = (0.62, 0.76, 0.5)
_DEPTH_STOPS = np.array(
    [
        (255, 246, 200),
        (252, 196, 112),
        (236, 122, 94),
        (176, 70, 128),
        (96, 62, 160),
        (36, 52, 140),
    ],
    np.float64,
)
"""From near to far, ever darker, so that order can be read without telling hues apart."""


def label_color(number: int) -> tuple[int, int, int]:
    """Give the colour of a label number: neighbours differ, and it never changes."""
    if number <= 0:
        return NOTHING
    hue = number * _GOLDEN % 1.0
    red, green, blue = colorsys.hls_to_rgb(hue, _LIGHTNESS[number % 3], 0.75)
    return round(red * 255), round(green * 255), round(blue * 255)


def lighter(color: tuple[int, int, int]) -> tuple[int, int, int]:
    """Mix a colour with white, so that letters in it can be read on any picture."""
    red, green, blue = ((each + 255) // 2 for each in color)
    return red, green, blue


def hex_color(color: tuple[int, int, int]) -> str:
    """Write a colour as `#rrggbb`."""
    return "#{:02x}{:02x}{:02x}".format(*color)


def label_picture(labels: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Colour a label map [h, w] as a picture [h, w, 3]."""
    counts = np.bincount(labels.reshape(-1))
    palette = np.zeros((len(counts), 3), np.uint8)
    for number in np.flatnonzero(counts).tolist():
        palette[number] = label_color(number)
    return palette[labels]


def depth_picture(depth: NDArray[np.float32], near: float, far: float) -> NDArray[np.uint8]:
    """Colour depth [h, w] [m] on a logarithmic scale from `near` to `far`, as [h, w, 3]."""
    shown = np.isfinite(depth)
    scale = np.log(far / near) if far > near else 1.0
    place = np.clip(np.log(np.where(shown, depth, near) / near) / scale, 0.0, 1.0)
    steps = np.linspace(0.0, 1.0, len(_DEPTH_STOPS))
    channels = [np.interp(place, steps, _DEPTH_STOPS[:, channel]) for channel in range(3)]
    picture = np.rint(np.stack(channels, axis=-1)).astype(np.uint8)
    picture[~shown] = NOTHING
    return picture


def depth_stops() -> list[tuple[float, str]]:
    """Give the stops of the depth scale: place from 0 (near) to 1 (far), and colour."""
    places = np.linspace(0.0, 1.0, len(_DEPTH_STOPS)).tolist()
    colors = [(int(r), int(g), int(b)) for r, g, b in _DEPTH_STOPS]
    return [(place, hex_color(color)) for place, color in zip(places, colors, strict=True)]
