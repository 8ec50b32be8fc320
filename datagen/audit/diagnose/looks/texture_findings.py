"""Textures that are missing or lie the wrong way."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datagen.audit.diagnose.findings import Finding
from datagen.audit.diagnose.looks.picture_findings import Looks
from datagen.audit.diagnose.looks.textures import (
    TURNS,
    fit_turn,
    plain_turn,
    texture_coordinates,
    texture_file,
    turned_colors,
)
from datagen.audit.measure.similarity import box_mean, interior
from datagen.audit.view import ViewPair

Mask = NDArray[np.bool_]
Colors = NDArray[np.float64]

_OBJECT_PIXELS_MIN = 100
_PLAIN_SHARE = 0.35
"""Contrast of an albedo, as part of the other side's, below which its texture is missing."""
_CONTRAST_MIN = 0.08
_TURN_MARGIN = 0.15
_TURN_FIT_MIN = 0.35
_POINTS_MAX = 600
_ALIKE = 0.85
"""Correlation of an object's two albedos from which its texture lies alike in both."""
_UNSEEN = 0.025
"""Difference of two albedos, in display units, that no turned texture is looked for behind."""


def diagnose_textures(pair: ViewPair, looks: Looks) -> list[Finding]:
    """Name objects whose texture is missing or lies the wrong way."""
    if looks.albedo is None:
        return []
    reference, candidate = (box_mean(albedo, 3) for albedo in looks.albedo)
    parts = pair.reference.buffers.part
    assert parts is not None
    names = {each.instance: each.name for each in pair.scene.info.objects}
    found: dict[str, Finding] = {}
    deep = looks.inside & interior(np.where(looks.inside, parts, 0))
    numbers, counts = np.unique(parts[deep], return_counts=True)
    for number in numbers[np.argsort(-counts)]:
        part = pair.scene.info.parts[number - 1]
        mine = deep & (parts == number)
        name = names[part.instance]
        if np.count_nonzero(mine) < _OBJECT_PIXELS_MIN or name in found:
            continue
        first, second = reference[mine], candidate[mine]
        finding = None
        # A texture that lies wrong may show a plain corner of it, so this is asked first.
        if _apart(first, second) > _UNSEEN and _correlated(first, second) < _ALIKE:
            finding = _turned(pair, part.path, name, mine)
        if finding is None:
            finding = _missing(pair, name, first, second)
            if finding is not None and _too_fine(pair, part.path, mine):
                finding = None
        if finding is not None:
            found[name] = finding
    return list(found.values())


def _missing(pair: ViewPair, name: str, first: Colors, second: Colors) -> Finding | None:
    contrasts = [_contrast(colors) for colors in (first, second)]
    sides = (pair.reference.backend, pair.candidate.backend)
    for own, other, side in zip(contrasts, contrasts[::-1], sides, strict=True):
        if other > _CONTRAST_MIN and own < _PLAIN_SHARE * other:
            difference = float(np.abs(first - second).mean())
            return Finding(
                "texture_missing",
                f"object {name}",
                100.0 * difference,
                "%",
                f"{name} is plain in {side} and textured in the other: probably its texture or "
                f"its texture coordinates are missing (mean difference {difference:.0%}).",
            )
    return None


def _too_fine(pair: ViewPair, path: str, mine: Mask) -> bool:
    """Tell whether the stage's texture is plain at the points seen but for lines finer than they.

    MuJoCo's filter widens such lines to a pixel, sharp samples miss them.
    """
    file = texture_file(pair.scene, path)
    points = _points(pair, path, mine)
    if file is None or points is None:
        return False
    return _contrast(turned_colors(file, points.st)[0, 0]) <= _CONTRAST_MIN


def _contrast(colors: Colors) -> float:
    """Range that holds four fifths of the colours, of the channel with the largest."""
    return float(np.subtract(*np.percentile(colors, (90, 10), axis=0)).max())


class _Points(NamedTuple):
    """Places of a part that a view shows."""

    rows: NDArray[np.intp]
    """Numbers of the pixels, rows of the picture one after the other, [n]."""
    st: Colors
    """Texture coordinates there, [n, 2]."""


def _points(pair: ViewPair, path: str, mine: Mask) -> _Points | None:
    """Texture coordinates of some of a part's pixels; None where too few are found."""
    position = pair.candidate.buffers.position
    if position is None:
        return None
    rows = np.flatnonzero(mine)
    rows = rows[:: max(1, len(rows) // _POINTS_MAX)]
    (pose,) = pair.scene.world_transforms([path])
    points = position.reshape(-1, 3)[rows].astype(np.float64) - pose[:3, 3]
    st, hit = texture_coordinates(pair.scene.triangles(path), points @ pose[:3, :3])
    if np.count_nonzero(hit) < _OBJECT_PIXELS_MIN // 2:
        return None
    return _Points(rows[hit], st[hit])


def _turned(pair: ViewPair, path: str, name: str, mine: Mask) -> Finding | None:
    file = texture_file(pair.scene, path)
    albedos = [side.buffers.albedo for side in (pair.reference, pair.candidate)]
    if file is None or any(albedo is None for albedo in albedos):
        return None
    points = _points(pair, path, mine)
    if points is None:
        return None
    colors = turned_colors(file, points.st)
    shown = [albedo.reshape(-1, 3)[points.rows] for albedo in albedos if albedo is not None]
    first, second = (fit_turn(colors, albedo) for albedo in shown)
    if (
        first.best != second.best
        and min(max(first.scores), max(second.scores)) >= _TURN_FIT_MIN
        and first.scores[first.best] - first.scores[second.best] >= _TURN_MARGIN
        and second.scores[second.best] - second.scores[first.best] >= _TURN_MARGIN
    ):
        wrong = pair.candidate.backend if first.best == 0 else pair.reference.backend
        turn = TURNS[second.best if first.best == 0 else first.best]
    else:
        right = int(second.scores[0] > first.scores[0])
        plain = plain_turn(colors, shown[right], shown[1 - right])
        if (first, second)[right].scores[0] < _TURN_FIT_MIN or plain is None:
            return None
        wrong = (pair.candidate.backend, pair.reference.backend)[right]
        turn = TURNS[plain]
    return Finding(
        "texture_flipped",
        f"object {name}",
        1.0,
        "",
        f"{name} shows its texture {turn} in {wrong}, against the other: probably the direction "
        "of v or u.",
    )


def _apart(first: Colors, second: Colors) -> float:
    """Root mean square difference of two albedos beyond an even one."""
    difference = first - second
    return float((difference - difference.mean(axis=0)).std())


def _correlated(first: Colors, second: Colors) -> float:
    """Correlation of two albedos; two plain ones agree, a plain one with any other does not."""
    a, b = first - first.mean(axis=0), second - second.mean(axis=0)
    plain = [float((each**2).sum()) <= 1e-6 * each.size for each in (a, b)]
    if any(plain):
        return float(all(plain))
    return float((a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum()))
