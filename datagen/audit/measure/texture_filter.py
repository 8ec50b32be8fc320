"""The diffuse colours of a stage through the texture filter that MuJoCo has.

MuJoCo looks textures up once per pixel, between levels of half the size each (OpenGL's trilinear
filter), while a path tracer averages many sharp samples. With the filter done to the stage's own
textures at the other renderer's coordinates, what is left between the two pictures is a wrong
texture, colour or coordinate, not the filter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from datagen.backends import Buffers
from scenes import Scene, srgb_decode, srgb_encode
from scenes.stage.looks import read_look

Floats = NDArray[np.float64]
Levels = tuple[NDArray[np.uint8], ...]
_SMOOTH = 1.0
_KEPT = 12
"""Textures kept between views; large ones take 70 MB."""


@dataclass(frozen=True)
class FilteredAlbedo:
    """Display colours of a view, textures filtered as MuJoCo does."""

    colors: NDArray[np.float32]
    """Display colours in [0, 1], [h, w, 3]; without a texture the buffer's own albedo."""
    smooth: NDArray[np.bool_]
    """Pixels whose eight neighbours lie on the texture where the pixel's own triangle foretells
    them, within one pixel's step; false at seams and at edges inside a part, [h, w]."""


def filtered_albedo(scene: Scene, buffers: Buffers) -> FilteredAlbedo | None:
    """Filter the textures of the sample shown as OpenGL does; None without the passes it needs.

    Args:
        scene: The scene.
        buffers: Passes part, albedo and st of a view.
    """
    part, albedo, st = buffers.part, buffers.albedo, buffers.st
    if part is None or albedo is None or st is None:
        return None
    shown = np.clip(srgb_encode(albedo.astype(np.float64)), 0.0, 1.0)
    textured = np.zeros(part.shape, dtype=np.bool_)
    for each in scene.info.parts:
        mine = part == each.part
        look = read_look(scene, each.path) if mine.any() else None
        if look is None or look.picture is None:
            continue
        display = _filtered(_levels(_TextureFile.of(look.picture)), st[mine].astype(np.float64))
        linear = srgb_decode(display) * look.tint
        shown[mine] = np.clip(srgb_encode(linear), 0.0, 1.0)
        textured |= mine
    return FilteredAlbedo(shown.astype(np.float32), ~textured | _smooth(st.astype(np.float64)))


def _smooth(st: Floats) -> NDArray[np.bool_]:
    """Pixels whose neighbours are where the steps to the next column and row say, [h, w]."""
    here, right, down = (st[..., k, :] for k in range(3))
    step = _SMOOTH * np.maximum(_length(right), _length(down))
    height, width = step.shape
    padded = np.pad(here, ((1, 1), (1, 1), (0, 0)), mode="constant", constant_values=np.nan)
    smooth = np.ones(step.shape, dtype=np.bool_)
    for y in (-1, 0, 1):
        for x in (-1, 0, 1):
            there = padded[1 + y : 1 + y + height, 1 + x : 1 + x + width]
            smooth &= _length(there - here - x * right - y * down) <= step
    return smooth


def _filtered(levels: Levels, st: Floats) -> Floats:
    """Look texture coordinates with their steps, [n, 3, 2], up; display colours, [n, 3].

    OpenGL 4.6 core, 8.14.1: the level is log2 of the longer step, in texels of the whole texture.
    """
    height, width = levels[0].shape[:2]
    steps = _length(st[:, 1:] * (width, height)).max(axis=1)
    last = len(levels) - 1
    level = np.clip(np.log2(np.maximum(steps, 1e-9)), 0.0, last)
    lower = np.floor(level).astype(np.int64)
    colors = np.zeros((len(st), 3))
    for number in np.unique(lower):
        mine = lower == number
        share = (level[mine] - number)[:, None]
        fine = _bilinear(levels[number], st[mine, 0])
        coarse = _bilinear(levels[min(number + 1, last)], st[mine, 0])
        colors[mine] = fine * (1.0 - share) + coarse * share
    return colors


def _bilinear(texels: NDArray[np.uint8], st: Floats) -> Floats:
    height, width = texels.shape[:2]
    x, y = st[:, 0] * width - 0.5, (1.0 - st[:, 1]) * height - 0.5
    column, row = (np.floor(place).astype(np.int64) for place in (x, y))
    right, down = (x - column)[:, None], (y - row)[:, None]
    left, top = column % width, row % height
    next_left, next_top = (column + 1) % width, (row + 1) % height
    upper = texels[top, left] * (1.0 - right) + texels[top, next_left] * right
    under = texels[next_top, left] * (1.0 - right) + texels[next_top, next_left] * right
    return (upper * (1.0 - down) + under * down) / 255.0


@dataclass(frozen=True)
class _TextureFile:
    """A texture's file, the same for all scenes that share it by links."""

    path: Path = field(compare=False)
    device: int
    inode: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> _TextureFile:
        status = path.stat()
        return cls(path, status.st_dev, status.st_ino, status.st_mtime_ns)


@lru_cache(maxsize=_KEPT)
def _levels(file: _TextureFile) -> Levels:
    """Display picture and its halvings."""
    with Image.open(file.path) as opened:
        picture = opened.convert("RGB")
    levels = [np.asarray(picture)]
    while max(picture.size) > 1:
        if picture.width % 2 or picture.height % 2:
            halved = _halved(_halved(levels[-1].astype(np.float32), 0), 1)
            picture = Image.fromarray(np.rint(halved).astype(np.uint8))
        else:
            picture = picture.reduce(2)
        levels.append(np.asarray(picture))
    return tuple(levels)


def _halved(texels: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """Half as many texels along an axis, rounded down, each between the two nearest."""
    count = texels.shape[axis]
    half = max(count // 2, 1)
    if half == count:
        return texels
    place = (np.arange(half) + 0.5) * count / half - 0.5
    first = np.floor(place).astype(np.int64)
    share = np.expand_dims((place - first).astype(np.float32), tuple({0, 1, 2} - {axis}))
    second = np.take(texels, np.minimum(first + 1, count - 1), axis)
    return np.take(texels, first, axis) * (1.0 - share) + second * share


def _length(vectors: Floats) -> Floats:
    return np.hypot(vectors[..., 0], vectors[..., 1])
