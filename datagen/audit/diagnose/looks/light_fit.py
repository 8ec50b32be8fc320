"""How strong each light is in a picture: MuJoCo's picture is a sum of one term per light."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datagen.shading.formula import Shading

_CLIPPED = 0.97
_DARK = 0.03
_PIXELS_MAX = 15_000
_NOISE = 0.003
"""Systematic error of a pixel that the fit allows for, in display units."""
_DOUBT = 0.5
"""How far a scale may be from its expected value before the picture is looked at."""
_ROUNDS = 4
_ERROR = 0.001
"""Error of the mean of many pixels, in display units: neighbours are wrong together, so that more
pixels do not make it smaller."""


@dataclass(frozen=True)
class LightScale:
    """How a light shines in the reference's picture."""

    name: str
    path: str
    """Prim path; `/World` for the headlight."""
    expected: float
    """1 for a light that shines in the stage, 0 for one that does not."""
    scale: float
    """Factor on the stage's light that the picture shows."""
    share: float
    """Part of the compared pixels' light that comes from this light, at its expected strength 1."""
    deviation: float
    """Uncertainty of `scale`."""
    gain: float
    """Part of the mean error over all compared pixels, clipped too, that `scale` takes away."""


def fit_scales(
    shading: Shading,
    albedo: NDArray[np.float32],
    picture: NDArray[np.float32],
    where: NDArray[np.bool_],
) -> tuple[LightScale, ...]:
    """Least squares for the strength of each light on pixels that are not clipped.

    Args:
        shading: Terms of all lights.
        albedo: Linear diffuse colour of each pixel, [h, w, 3].
        picture: MuJoCo's display picture in [0, 1], [h, w, 3].
        where: Pixels that may be used, [h, w].
    """
    texture = shading.texture(albedo)
    usable = where & (picture.max(axis=2) < _CLIPPED) & (picture.min(axis=2) > _DARK)
    # Light that was clipped before the texture leaves no trace in the picture.
    lit = picture / np.maximum(texture, 1e-3)
    usable &= lit.max(axis=2) < _CLIPPED
    rows = np.flatnonzero(usable)
    if not len(rows):
        return ()
    rows = rows[:: max(1, len(rows) // _PIXELS_MAX)]
    colors = texture.reshape(-1, 3)[rows]
    terms = shading.terms.reshape(len(shading.lights), -1, 3)[:, rows] * colors
    target = picture.reshape(-1, 3)[rows] - shading.emitted.reshape(-1, 3)[rows] * colors
    A = terms.reshape(len(shading.lights), -1).T.astype(np.float64)
    b = target.reshape(-1).astype(np.float64)
    expected = np.array([float(light.shines) for light in shading.lights])
    scales, covariance = _robust(A, b, expected)
    total = max(float(target.mean()), 1e-9)
    gains = _gains(shading, texture[where], picture[where], where, expected, scales)
    return tuple(
        LightScale(
            light.name,
            light.path,
            float(expected[k]),
            float(scales[k]),
            float(A[:, k].mean() / total),
            float(np.sqrt(covariance[k, k])),
            gains[k],
        )
        for k, light in enumerate(shading.lights)
    )


def _gains(
    shading: Shading,
    texture: NDArray[np.float32],
    picture: NDArray[np.float32],
    where: NDArray[np.bool_],
    expected: NDArray[np.float64],
    scales: NDArray[np.float64],
) -> list[float]:
    """Part of the error that each light's scale alone takes away, negative where it adds to it."""
    terms, emitted = shading.terms[:, where], shading.emitted[where]
    sum_of_all = np.einsum("l,lnc->nc", expected, terms) + emitted

    def error(lit: NDArray[np.float64]) -> float:
        return float(np.abs(np.clip(lit, 0.0, 1.0) * texture - picture).mean())

    now = max(error(sum_of_all), 1e-9)
    return [
        1.0 - error(sum_of_all + (scales[k] - expected[k]) * terms[k]) / now
        for k in range(len(expected))
    ]


def _robust(
    A: NDArray[np.float64], b: NDArray[np.float64], expected: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scales and their covariance; outlying pixels count less, weakly seen lights stay put."""
    count = len(b)
    weight = np.ones(count)
    prior = np.eye(A.shape[1]) * count * (_NOISE / _DOUBT) ** 2
    scales, normal = expected, prior
    for _ in range(_ROUNDS):
        normal = A.T @ (A * weight[:, None]) + prior
        scales = np.linalg.solve(normal, A.T @ (b * weight) + prior @ expected)
        residual = np.abs(b - A @ scales)
        limit = max(1.5 * float(np.median(residual)), 1e-4)
        weight = np.minimum(1.0, limit / np.maximum(residual, 1e-12))
    covariance = np.linalg.inv(normal / count) * _ERROR**2
    return scales.astype(np.float64), covariance.astype(np.float64)
