"""MuJoCo's skybox: the picture behind everything, which gives no light."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from scenes.errors import AssetError
from scenes.stage.attributes import CUBE
from scenes.stage.scene import Scene

SKYBOX = "/World/lights/skybox"
"""Path of the dome. Its attribute `CUBE` is the cube's picture; `inputs:texture:file` the same as a
map of longitude and latitude, for other viewers. Diffuse and specular are 0: it lights nothing."""

SIDES = 6
T_WORLD_CUBE = np.array(
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
)
"""Pose of OpenGL's cube, which stands on its side: its y is the world's z."""

CUBE_FACES = (
    (0, 1, (2, -1), (1, -1)),
    (0, -1, (2, 1), (1, -1)),
    (1, 1, (0, 1), (2, 1)),
    (1, -1, (0, 1), (2, -1)),
    (2, 1, (0, 1), (1, -1)),
    (2, -1, (0, -1), (1, -1)),
)
"""OpenGL's cube map: for each face the major axis, its sign, and the rows that give s and t."""


@dataclass(frozen=True)
class Skybox:
    """The six sides of a skybox, in OpenGL's order +x -x +y -y +z -z of its cube."""

    sides: NDArray[np.uint8]
    """Display values, [6, n, n, 3], row 0 at the top."""

    @classmethod
    def of_picture(cls, picture: NDArray[np.uint8]) -> Skybox:
        """Take the picture of a cube texture apart, [6 n, n, 3]; a square one serves all sides."""
        height, width = picture.shape[:2]
        if height == width:
            return cls(np.broadcast_to(picture, (SIDES, *picture.shape)))
        return cls(picture.reshape(SIDES, width, width, 3))

    @classmethod
    def read(cls, scene: Scene) -> Skybox | None:
        """Skybox of a scene, with the sample over it; None where the scene has none.

        Raises:
            AssetError: Its picture is missing.
        """
        if not scene.has(f"{SKYBOX}.{CUBE}"):
            return None
        asset = scene.value(f"{SKYBOX}.{CUBE}")
        if not asset.resolvedPath:
            raise AssetError(f"{scene.info.scene_id}: {SKYBOX}: no such file: {asset.path}.")
        with Image.open(Path(asset.resolvedPath)) as image:
            return cls.of_picture(np.asarray(image.convert("RGB")))

    def display(self, directions: ArrayLike, spacing: float = 0.0) -> NDArray[np.float32]:
        """Display values, 0 to 1, seen along world directions.

        Args:
            directions: Directions of any length, [..., 3].
            spacing: Angle between neighbouring directions [rad]; where it spans more than a
                pixel of the sides, these are averaged first, as MuJoCo's filter does.

        Returns:
            Values, bilinear also across the sides' edges, [..., 3].
        """
        sides = self._reduced(spacing)
        local = np.asarray(directions, dtype=np.float64) @ T_WORLD_CUBE[:3, :3]
        return _bilinear(sides, *_on_cube(local))

    @cached_property
    def _levels(self) -> list[NDArray[np.float32]]:
        levels = [self.sides.astype(np.float32) / np.float32(255)]
        while levels[-1].shape[1] > 1 and levels[-1].shape[1] % 2 == 0:
            last = levels[-1]
            half = last.shape[1] // 2
            levels.append(last.reshape(SIDES, half, 2, half, 2, 3).mean(axis=(2, 4)))
        return [_padded(level) for level in levels]

    def _reduced(self, spacing: float) -> NDArray[np.float32]:
        pixels = spacing * self.sides.shape[1] / 2
        level = int(np.floor(np.log2(pixels) + 0.5)) if pixels > 1 else 0
        return self._levels[min(level, len(self._levels) - 1)]


def _on_cube(
    d: NDArray[np.float64],
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Side, and coordinates on it from 0 to 1, t down, of directions in the cube's frame."""
    axis = np.abs(d).argmax(axis=-1)
    largest = np.take_along_axis(d, axis[..., None], axis=-1)[..., 0]
    side = axis * 2 + (largest < 0)
    s, t = np.empty_like(largest), np.empty_like(largest)
    for number, (_, _, s_row, t_row) in enumerate(CUBE_FACES):
        here = side == number
        major = np.abs(largest[here])
        s[here] = s_row[1] * d[here][:, s_row[0]] / major
        t[here] = t_row[1] * d[here][:, t_row[0]] / major
    return side, (s + 1) / 2, (t + 1) / 2


def _padded(sides: NDArray[np.float32]) -> NDArray[np.float32]:
    """Give each side a rim of its neighbours' nearest pixels, [6, n + 2, n + 2, 3]."""
    size = sides.shape[1]
    padded = np.pad(sides, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
    along = (2 * np.arange(size) + 1) / size - 1
    beyond = 1 + 1e-6
    rims = [
        (np.s_[1:-1, 0], -beyond, along), (np.s_[1:-1, -1], beyond, along),
        (np.s_[0, 1:-1], along, -beyond), (np.s_[-1, 1:-1], along, beyond),
    ]  # fmt: skip
    for number, (axis, sign, s_row, t_row) in enumerate(CUBE_FACES):
        for rim, s, t in rims:
            d = np.zeros((size, 3))
            d[:, axis] = sign
            d[:, s_row[0]] = s_row[1] * s
            d[:, t_row[0]] = t_row[1] * t
            side, *place = _on_cube(d)
            column, row = (np.clip((c * size).astype(np.intp), 0, size - 1) for c in place)
            padded[number][rim] = sides[side, row, column]
    return padded


def _bilinear(
    padded: NDArray[np.float32],
    side: NDArray[np.intp],
    s: NDArray[np.float64],
    t: NDArray[np.float64],
) -> NDArray[np.float32]:
    """Look up sides that have a rim, at coordinates from 0 to 1."""
    size = padded.shape[1] - 2
    x, y = s * size + 0.5, t * size + 0.5
    x0, y0 = np.floor(x).astype(np.intp), np.floor(y).astype(np.intp)
    wx, wy = ((c - np.floor(c)).astype(np.float32)[..., None] for c in (x, y))
    x1, y1 = np.minimum(x0 + 1, size + 1), np.minimum(y0 + 1, size + 1)
    top = padded[side, y0, x0] * (1 - wx) + padded[side, y0, x1] * wx
    bottom = padded[side, y1, x0] * (1 - wx) + padded[side, y1, x1] * wx
    return top * (1 - wy) + bottom * wy
