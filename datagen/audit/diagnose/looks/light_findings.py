"""Lights of the stage that shine otherwise in MuJoCo's picture."""

from __future__ import annotations

from datagen.audit.diagnose.findings import Finding
from datagen.audit.diagnose.looks.brightness import change
from datagen.audit.diagnose.looks.light_fit import LightScale
from datagen.audit.view import ViewPair

_SCALE_OFF = 0.05
_DEVIATIONS = 1.75
_DEVIATIONS_OFF = 1.25
"""The same where the sum of all lights is wrong, so that one of them must be."""
_SUM_OFF = 0.01
_SHARE_MIN = 0.05
_GAIN_MIN = 0.05
"""Part of the picture's error that a light's other strength must explain."""
_MISSING, _DOUBLED = 0.3, 1.6


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
