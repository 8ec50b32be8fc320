"""Depth that was decoded wrongly: near and far, an offset, or distance taken for depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datagen.audit.measure.edges import Floats, Mask
from datagen.audit.measure.surfaces import Surface, rays_of

_SAME_IDS = 0.98
_FEWEST_PIXELS = 50
_OFF = 5e-4
"""Median relative depth error from which a cause is looked for."""
_LEFT = 0.05
"""Share of it that a cause may leave."""
_CLIPPED = 20


@dataclass(frozen=True)
class DepthFit:
    """How the candidate's depth follows from the right one."""

    cause: str
    """Words for the sentence."""
    percent: float
    """Median relative error [%]."""
    corrected: Floats
    """The candidate's depth put right [m], [h, w]."""


def fit_depth(K: Floats, reference: Surface, candidate: Surface) -> DepthFit | None:
    """Fit the usual ways to decode depth wrongly; None where the depth is right or ids differ."""
    if (reference.part == candidate.part).mean() < _SAME_IDS:
        return None
    both = reference.inner & candidate.inner & (reference.part == candidate.part)
    if both.sum() < _FEWEST_PIXELS:
        return None
    true, seen = reference.depth[both], candidate.depth[both]
    error = np.abs(seen - true) / true
    before = float(np.median(error))
    if before < _OFF or np.percentile(error, 10) < 0.1 * _OFF:
        return None
    rows, columns = np.nonzero(both)
    stretch = np.linalg.norm(rays_of(K, rows + 0.5, columns + 0.5), axis=1)
    height, width = reference.part.shape
    all_rows, all_columns = np.mgrid[0:height, 0:width] + 0.5
    whole = np.linalg.norm(rays_of(K, all_rows, all_columns), axis=-1)
    factor = float(np.median(true / seen))
    offset = float(np.median(true - seen))
    a, b = _line(1.0 / seen, 1.0 / true)
    with np.errstate(divide="ignore", invalid="ignore"):
        trials = [
            (
                f"it is {100 / factor:.4g} % of the true depth (a unit or a scale of the depth)",
                seen * factor,
                candidate.depth * factor,
            ),
            (
                f"it is {-1000 * offset:+.2f} mm off everywhere "
                "(depth counted from the near plane)",
                seen + offset,
                candidate.depth + offset,
            ),
            (
                "it is the distance to the camera's centre, not to its plane",
                seen / stretch,
                candidate.depth / whole,
            ),
            (
                "its inverse is a linear function of the true one "
                "(decoded with another near or far distance)",
                1.0 / (a + b / seen),
                1.0 / (a + b / candidate.depth),
            ),
        ]
    for cause, values, corrected in trials:
        left = np.abs(values - true) / true
        if np.median(left) <= _LEFT * before and np.percentile(left, 95) <= 0.25 * before + 1e-5:
            corrected = np.where(np.isfinite(candidate.depth), corrected, np.inf)
            return DepthFit(cause, 100.0 * before, corrected)
    return None


def _line(x: Floats, y: Floats) -> tuple[float, float]:
    """Robust straight line y = a + b x by weighted least squares that forget outliers."""
    weights = np.ones_like(x)
    a, b = 0.0, 1.0
    for _ in range(8):
        design = np.stack([np.ones_like(x), x], axis=1)
        solution, *_ = np.linalg.lstsq(design * weights[:, None], y * weights, rcond=None)
        a, b = (float(each) for each in solution)
        left = np.abs(y - a - b * x)
        weights = 1.0 / (1.0 + (left / (3.0 * np.median(left) + 1e-12)) ** 2)
    return a, b


@dataclass(frozen=True)
class ClipFit:
    """A near or far plane that cuts the candidate's picture only."""

    plane: str
    """near or far."""
    distance: float
    """Where it cuts [m]."""
    lost: Mask
    """Pixels cut away, [h, w]."""


def fit_clipping(reference: Surface, candidate: Surface) -> ClipFit | None:
    """Find surfaces that the candidate lost because they are too near or too far."""
    differs = reference.part != candidate.part
    lost = differs & np.isfinite(reference.depth)
    behind = lost & (candidate.depth > reference.depth * 1.001)
    finite = np.isfinite(candidate.depth)
    if behind.sum() < _CLIPPED or not finite.any():
        return None
    nearest, farthest = candidate.depth[finite].min(), candidate.depth[finite].max()
    for plane, limit, beyond in (
        ("near", nearest, reference.depth < nearest * (1 - 1e-4)),
        (
            "far",
            farthest,
            np.isfinite(reference.depth) & (reference.depth > farthest * (1 + 1e-4)) & ~finite,
        ),
    ):
        cut = beyond & behind
        # A part that lost only some of its pixels at that depth was cut, not left out.
        halved = np.intersect1d(reference.part[cut], candidate.part[candidate.part > 0])
        enough = cut.sum() >= max(_CLIPPED, 0.8 * behind.sum())
        if enough and cut.sum() >= 0.95 * beyond.sum() and halved.size:
            return ClipFit(plane, float(limit), cut)
    return None
