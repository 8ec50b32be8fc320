"""What is probably wrong with colours, textures and lights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datagen.audit.diagnose.brightness import change
from datagen.audit.diagnose.findings import Finding
from datagen.audit.diagnose.light_fit import LightScale
from datagen.audit.diagnose.textures import (
    TURNS,
    fit_turn,
    plain_turn,
    texture_coordinates,
    texture_file,
    turned_colors,
)
from datagen.audit.diagnose.tone import (
    channel_order,
    chroma_exponent,
    development_exponent,
    level_exponent,
)
from datagen.audit.measure.similarity import box_mean, interior
from datagen.audit.view import ViewPair

Mask = NDArray[np.bool_]
Picture = NDArray[np.float32]
Colors = NDArray[np.float64]

_GAMMA_RANGE = (0.75, 1.45)
"""Exponents of a path-traced picture without a wrong curve: bounce light tints a little."""
_DOUBLE_RANGE = (0.62, 1.7)
_ALBEDO_GAMMA_RANGE = (0.87, 1.15)
_DEVELOPED_RANGE = (0.95, 1.05)
"""Exponents between a picture and its own radiance."""
_SWAP_MARGIN = 0.15
_SCALE_OFF = 0.05
_DEVIATIONS = 1.75
_DEVIATIONS_OFF = 1.25
"""The same where the sum of all lights is wrong, so that one of them must be."""
_SUM_OFF = 0.01
_SHARE_MIN = 0.05
_GAIN_MIN = 0.05
"""Part of the picture's error that a light's other strength must explain."""
_MISSING, _DOUBLED = 0.3, 1.6
_OBJECT_PIXELS_MIN = 100
_PLAIN_SHARE = 0.35
"""Contrast of an albedo, as part of the other side's, below which its texture is missing."""
_CONTRAST_MIN = 0.08
_PLAIN_DEVIATION = 0.04
"""Deviation of display values about a pixel up to which a surface counts as plain."""
_TURN_MARGIN = 0.15
_TURN_FIT_MIN = 0.35
_POINTS_MAX = 600
_ALIKE = 0.85
"""Correlation of an object's two albedos from which its texture lies alike in both."""
_UNSEEN = 0.025
"""Difference of two albedos, in display units, that no turned texture is looked for behind."""


@dataclass(frozen=True)
class Looks:
    """Display pictures of a view, where both sides have them."""

    same: Mask
    """Pixels that show one part in both, [h, w]."""
    inside: Mask
    """Those of them whose neighbours show it too, [h, w]."""
    rgb: tuple[Picture, Picture] | None
    """Reference and candidate, [h, w, 3]."""
    albedo: tuple[Picture, Picture] | None


def diagnose_picture(pair: ViewPair, looks: Looks) -> list[Finding]:
    """Name what is wrong with all colours of the candidate."""
    found: list[Finding] = []
    for name, pictures in (("picture", looks.rgb), ("albedo", looks.albedo)):
        if pictures is None:
            continue
        order = channel_order(*(picture[looks.inside] for picture in pictures))
        if order is not None and order.order != "rgb" and order.margin > _SWAP_MARGIN:
            found.append(
                Finding(
                    "channels_swapped",
                    "picture",
                    1.0,
                    "",
                    f"The {name} of {pair.candidate.backend} fits {pair.reference.backend}'s when "
                    f"its channels are read as {order.order}: probably RGB and BGR are mixed up.",
                )
            )
    if found:
        return found[:1]
    curve = _gamma(pair, looks)
    return [] if curve is None else [curve]


def diagnose_lights(
    pair: ViewPair, scales: tuple[LightScale, ...], ratio: float | None = None
) -> list[Finding]:
    """Name lights of the stage that shine otherwise in MuJoCo's picture.

    Args:
        pair: The view.
        scales: How each light shines there.
        ratio: Luminance of the stage's lights over that of MuJoCo's picture.
    """
    found: list[Finding] = []
    wrong = ratio is not None and abs(ratio - 1.0) > _SUM_OFF
    deviations = _DEVIATIONS_OFF if wrong else _DEVIATIONS
    for light in scales:
        off = light.scale - light.expected
        if light.share < _SHARE_MIN or abs(off) < max(_SCALE_OFF, deviations * light.deviation):
            continue
        if light.gain < _GAIN_MIN:
            continue
        subject = f"light {light.name}"
        if light.expected == 0.0 or light.scale < _MISSING:
            side = "stage" if light.expected == 0.0 else f"{pair.reference.backend}'s picture"
            found.append(
                Finding(
                    "light_missing",
                    subject,
                    100.0 * max(light.scale, light.expected),
                    "%",
                    f"Light {light.name} ({light.path}) does not shine in the {side} but does "
                    "in the other: probably it is inactive or was lost.",
                )
            )
            continue
        strength = 1.0 / light.scale
        cause = "it is there twice" if strength > _DOUBLED else "its colour, intensity or unit"
        found.append(
            Finding(
                "light_intensity",
                subject,
                100.0 * (strength - 1.0),
                "%",
                f"Light {light.name} ({light.path}) is {change(strength)} in the stage than in "
                f"{pair.reference.backend}'s picture: probably {cause}.",
            )
        )
    return found


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


def _gamma(pair: ViewPair, looks: Looks) -> Finding | None:
    if looks.albedo is not None:
        plain = looks.inside & _plain(looks.albedo[0]) & _plain(looks.albedo[1])
        exponent = level_exponent(*(albedo[plain] for albedo in looks.albedo))
        if exponent is not None and not _within(exponent, _ALBEDO_GAMMA_RANGE):
            return _curve(pair, exponent, "albedo")
    albedo, hdr = pair.candidate.buffers.albedo, pair.candidate.buffers.hdr
    if albedo is None:
        albedo = pair.reference.buffers.albedo
    if looks.rgb is None or albedo is None:
        return None
    if hdr is not None:
        # Colours may be pale by reflections of the sky, so the radiance itself is asked.
        exponent = development_exponent(hdr[looks.inside], looks.rgb[1][looks.inside])
        if exponent is None or _within(exponent, _DEVELOPED_RANGE):
            return None
        return _curve(pair, exponent, "picture", "its own radiance")
    exponent = chroma_exponent(looks.rgb[1], albedo, looks.inside)
    if exponent is None or _within(exponent, _GAMMA_RANGE):
        return None
    return _curve(pair, exponent, "picture")


def _curve(
    pair: ViewPair, exponent: float, name: str, source: str = "its surfaces' colours"
) -> Finding:
    double = not _within(exponent, _DOUBLE_RANGE)
    way = "encoded" if exponent < 1.0 else "decoded"
    cause = f"it is {way} twice" if double else "its colours pass a tone curve"
    return Finding(
        "double_gamma" if double else "gamma",
        "picture",
        exponent,
        "",
        f"The {name} of {pair.candidate.backend} follows {source} with an exponent of "
        f"{exponent:.2f} instead of 1: probably {cause}.",
    )


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


def _plain(albedo: Picture) -> Mask:
    """Pixels around which a picture varies little, so that no filter matters, [h, w]."""
    variance = box_mean(albedo**2, 3) - box_mean(albedo, 3) ** 2
    return np.asarray(variance.max(axis=2) < _PLAIN_DEVIATION**2)


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


def _within(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= value <= limits[1]
