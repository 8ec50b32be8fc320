"""Why one picture is brighter than the other: highlights, exposure or lights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datagen.audit.diagnose.findings import Finding
from datagen.audit.measure.light_import import LightImport
from datagen.audit.measure.similarity import luminance_ratio
from datagen.audit.view import ViewPair
from datagen.shading.formula import LUMA

Mask = NDArray[np.bool_]
Picture = NDArray[np.float32]

_WHOLE_RANGE = (0.87, 1.13)
"""Brightness of a path-traced picture over MuJoCo's with the right exposure and lights."""
_EVEN_RANGE = (0.87, 1.15)
"""The same where the lights agree, away from highlights; the median pixel must go the same way."""
_OTHER_CAMERA_RANGE = (0.83, 1.2)
"""The same of a camera that the exposure was not measured with: it shows other shares of bounce
light and shadow."""
_LIGHTS_RANGE = (0.95, 1.05)
"""Brightness of the stage's lights, by MuJoCo's formula, that no fault of all lights leaves."""
_SHARE_MIN = 0.25
"""Part of the picture that must be compared before its brightness says something."""
_HIGHLIGHT = 0.1
"""Light of a highlight in display values from which a pixel belongs to it."""
_HIGHLIGHT_PIXELS_MIN = 30
_HIGHLIGHT_RANGE = (0.95, 1.05)
_DARK = 0.05


@dataclass(frozen=True)
class Brightness:
    """What is said of a view's brightness."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def diagnose_brightness(
    pair: ViewPair, rgb: tuple[Picture, Picture], same: Mask, light: LightImport | None
) -> Brightness:
    """Name why the candidate's picture is brighter or darker than the reference's.

    Nothing is said about lights while the light check agrees: what is left are highlights, which a
    path tracer makes by a rule of its own, bounce light, shadows, or the exposure.

    Args:
        pair: The view.
        rgb: Display pictures of reference and candidate in [0, 1], [h, w, 3].
        same: Pixels that show one part in both, [h, w].
        light: The light check, if it could be made.
    """
    ratio = luminance_ratio(*rgb, same)
    if ratio is None:
        return Brightness()
    if light is None or _wrong_lights(light):
        if _within(ratio, _WHOLE_RANGE):
            return Brightness()
        cause = "its exposure or the strength of all lights"
        return Brightness((_finding("light_intensity", pair, ratio, f"probably {cause}"),))
    shining = same & (light.shine @ LUMA > _HIGHLIGHT)
    notes = _highlights(pair, rgb, same, shining)
    if _within(ratio, _WHOLE_RANGE):
        return Brightness(notes=notes)
    plain = same & light.compared & ~shining
    if np.count_nonzero(plain) < 0.5 * np.count_nonzero(same):
        plain = same & light.compared
    enough = plain.mean() >= _SHARE_MIN
    elsewhere = luminance_ratio(*rgb, plain) if enough else None
    usual = _usual_ratio(rgb, plain)
    if elsewhere is not None and usual is not None:
        main = pair.camera == pair.scene.info.main_camera
        darkest, brightest = _EVEN_RANGE if main else _OTHER_CAMERA_RANGE
        down = elsewhere < darkest and usual < 1.0
        up = elsewhere > brightest and usual > 1.0
        if down or up:
            cause = "probably its exposure, for the lights agree"
            return Brightness((_finding("exposure", pair, elsewhere, cause),), notes)
    return Brightness(
        notes=(
            *notes,
            f"{pair.candidate.backend}'s picture is {change(ratio)} as a whole, and no light that "
            "could be checked is wrong: bounce light, shadows, mirrors and highlights differ "
            "between the renderers.",
        )
    )


def _wrong_lights(light: LightImport) -> bool:
    """Tell whether the light check fails by how much light there is, not by a few pixels."""
    ratio = light.metrics.get("light.luminance_ratio")
    if light.agrees or light.compared.mean() < _SHARE_MIN:
        return False
    return ratio is None or not _within(ratio, _LIGHTS_RANGE)


def change(ratio: float) -> str:
    """Say a ratio of brightness in words."""
    word = "brighter" if ratio > 1.0 else "darker"
    return f"{abs(ratio - 1.0):.0%} {word}"


def _highlights(
    pair: ViewPair, rgb: tuple[Picture, Picture], same: Mask, shining: Mask
) -> tuple[str, ...]:
    if np.count_nonzero(shining) < _HIGHLIGHT_PIXELS_MIN:
        return ()
    ratio = luminance_ratio(*rgb, shining)
    if ratio is None or _within(ratio, _HIGHLIGHT_RANGE):
        return ()
    share = np.count_nonzero(shining) / max(np.count_nonzero(same), 1)
    return (
        f"Highlights stand on {share:.0%} of the compared pixels by MuJoCo's formula; "
        f"{pair.candidate.backend}'s picture is {change(ratio)} there.",
    )


def _usual_ratio(rgb: tuple[Picture, Picture], where: Mask) -> float | None:
    """Median over pixels of the candidate's luma over the reference's."""
    first, second = (picture[where] @ LUMA for picture in rgb)
    lit = first > _DARK
    return float(np.median(second[lit] / first[lit])) if lit.any() else None


def _finding(kind: str, pair: ViewPair, ratio: float, cause: str) -> Finding:
    return Finding(
        kind,
        "picture",
        100.0 * (ratio - 1.0),
        "%",
        f"{pair.candidate.backend}'s picture is {change(ratio)} as a whole: {cause}.",
    )


def _within(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= value <= limits[1]
