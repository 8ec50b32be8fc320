"""Pictures that do not repeat beyond their edges, made into larger ones that need not.

MuJoCo repeats every picture. What a part sees of one that is clamped, mirrored or black outside is
put into a picture of its own, texel by texel, so that all renderers show the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from scenes.sources.usd.looks.looks import UsdLook
from scenes.sources.usd.looks.pictures import Picture
from scenes.sources.usd.reading.stage import UsdStage

LARGEST = 8192
"""Texels of a side up to which a picture is extended."""

_EDGE = 1e-3
_EXTENDED = ("clamp", "mirror", "black")
_OUTSIDE = -1
_Span = tuple[int, int]


@dataclass
class Wraps:
    """Extends the pictures of a stage, each to the same size once."""

    stage: UsdStage
    _made: dict[tuple[Picture, tuple[str, str], _Span, _Span], Picture] = field(
        default_factory=dict
    )

    def extended(
        self, look: UsdLook, st: NDArray[np.float64]
    ) -> tuple[UsdLook, NDArray[np.float64]]:
        """Give a look and coordinates with which a picture that repeats shows the right thing.

        Args:
            look: A look with a picture.
            st: Texture coordinates at the corners of a part, v up, [m, 3, 2].

        Returns:
            The look and the coordinates, changed where the part reaches beyond an edge at which
            the picture does not repeat.
        """
        picture = look.picture
        assert picture is not None
        height, width = picture.pixels.shape[:2]
        spans: list[_Span] = []
        for axis, size in enumerate((width, height)):
            low, high = float(st[..., axis].min()), float(st[..., axis].max())
            within = low >= -_EDGE and high <= 1.0 + _EDGE
            if within or look.wrap[axis] not in _EXTENDED:
                if not within and look.wrap[axis] != "repeat":
                    self._note(look, f"repeats; how it goes on is {look.wrap[axis]!r}")
                spans.append((0, size))
                continue
            # One texel more on both sides, for renderers blend neighbours.
            span = (int(np.floor(low * size)) - 1, int(np.ceil(high * size)) + 1)
            if span[1] - span[0] > LARGEST:
                self._note(
                    look,
                    f"repeats, though it should {look.wrap[axis]}: {span[1] - span[0]} texels are "
                    f"more than {LARGEST}",
                )
                span = (0, size)
            spans.append(span)
        if spans == [(0, width), (0, height)]:
            return look, st
        key = (picture, look.wrap, spans[0], spans[1])
        if key not in self._made:
            self._made[key] = _extended(picture, look.wrap, spans[0], spans[1])
        first = np.array([span[0] for span in spans], dtype=np.float64)
        count = np.array([span[1] - span[0] for span in spans], dtype=np.float64)
        moved = (st * [width, height] - first) / count
        return replace(look, picture=self._made[key], wrap=("repeat", "repeat")), moved

    def _note(self, look: UsdLook, how: str) -> None:
        self.stage.notes.differs(f"material {look.name}: beyond its edges the picture {how}")


def _extended(picture: Picture, wrap: tuple[str, str], across: _Span, up: _Span) -> Picture:
    height, width = picture.pixels.shape[:2]
    columns, rows = _texels(wrap[0], across, width), _texels(wrap[1], up, height)
    # Rows are stored from the top, coordinates go up from the bottom.
    rows = rows[::-1]
    pixels = picture.pixels[np.where(rows == _OUTSIDE, 0, height - 1 - rows)][:, columns]
    pixels[rows == _OUTSIDE] = picture.outside
    pixels[:, columns == _OUTSIDE] = picture.outside
    digest = blake2b(repr((wrap, across, up)).encode(), digest_size=4).hexdigest()
    return Picture(f"{picture.name}-{digest}", pixels, picture.outside)


def _texels(wrap: str, span: _Span, size: int) -> NDArray[np.int64]:
    """Texel that each texel of a span shows, or `_OUTSIDE`."""
    places = np.arange(*span, dtype=np.int64)
    match wrap:
        case "clamp":
            return np.clip(places, 0, size - 1)
        case "mirror":
            turned = places % (2 * size)
            return np.minimum(turned, 2 * size - 1 - turned)
        case "black":
            return np.where((places < 0) | (places >= size), _OUTSIDE, places)
        case _:
            return places % size
