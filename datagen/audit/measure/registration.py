"""Whether a picture shows what its own labels say, edge by edge.

Ids of one ray per pixel and the picture come from different passes. What the labels predict is a
picture in which every part keeps the colours of its own inside up to its very edge; the shift and
the stretch that carry the picture onto that prediction are fitted along the edges (Lucas and
Kanade 1981, coarse to fine, robust by Geman and McClure's weight).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates, minimum_filter

from datagen.audit.diagnose.findings import Comparison, Finding
from datagen.audit.measure.edges import Floats, Ids, Mask, interior, smooth
from datagen.audit.measure.steepest_place import steepest_place
from datagen.audit.view import Side, ViewPair

_FINE_STEPS = 4
_NOISE = 0.04
"""Scale of robust weights, display values."""
_CONTRAST = 0.02
"""Least slope of the prediction that counts as an edge, display values per pixel."""
_FEWEST_PIXELS = 100
_UNSURE = 0.1
"""Standard error from which nothing is said [pixel]."""
_NAMED = 1.5
"""Displacement from which a finding names it [pixel]."""
_REACH = 3
"""Pixels that colours are carried to an edge."""
_CREASE = 0.35
"""Change of slope that counts as a crease [rad]."""


@dataclass(frozen=True)
class Registration:
    """How far a picture lies from its own labels."""

    displacement: float
    """What 95 % of the edge pixels stay below [pixel]."""
    shift: tuple[float, float]
    """Displacement of the picture's middle to the right and down [pixel]."""
    stretch: tuple[float, float]
    """Relative stretch across and down."""


def compare_registration(pair: ViewPair) -> Comparison:
    """Hold the picture of each side against its own part map."""
    metrics: dict[str, float] = {}
    findings: list[Finding] = []
    sides = (("registration.reference_px", pair.reference), ("registration.px", pair.candidate))
    for metric, side in sides:
        found = _of(side)
        if found is None:
            continue
        metrics[metric] = found.displacement
        if found.displacement >= _NAMED:
            findings.append(_finding(side.backend, found))
    return Comparison(metrics, findings=tuple(findings))


def _of(side: Side) -> Registration | None:
    rgb, part, depth = side.buffers.rgb, side.buffers.part, side.buffers.depth
    if rgb is None or part is None or depth is None:
        return None
    return registration(rgb, part, creases(part, depth, side.labels.camera.K))


def _finding(backend: str, found: Registration) -> Finding:
    right, down = found.shift
    across, along = (100.0 * each for each in found.stretch)
    return Finding(
        "picture_registration",
        f"picture of {backend}",
        found.displacement,
        "px",
        f"The picture of {backend} does not lie on its own labels: edges are up to "
        f"{found.displacement:.2g} px off (moved {right:+.2f} px right and {down:+.2f} px down, "
        f"stretched {across:+.2f} % across and {along:+.2f} % down). The picture and the ids were "
        "made through different lenses, or one of them was resampled.",
    )


def creases(part: Ids, depth: NDArray[np.float32], K: Floats) -> Mask:
    """Pixels where a part bends sharply: its colour may change beside its own edge, [h, w].

    Args:
        part: Part numbers, [h, w].
        depth: Planar depth [m], inf = nothing, [h, w].
        K: Intrinsics [pixel].
    """
    nearness = 1.0 / np.maximum(depth.astype(np.float64), 1e-6)
    bent = np.zeros(part.shape, dtype=np.bool_)
    for axis, focal in ((1, K[0, 0]), (0, K[1, 1])):
        middle, before, after = (_strip(axis, *ends) for ends in ((1, -1), (0, -2), (2, None)))
        # On a plane the inverse of the depth is linear in the pixels.
        scale = focal / np.maximum(nearness[middle], 1e-9)
        first = np.arctan(scale * (nearness[middle] - nearness[before]))
        second = np.arctan(scale * (nearness[after] - nearness[middle]))
        one = (part[middle] == part[before]) & (part[middle] == part[after])
        bent[middle] |= one & (np.abs(second - first) > _CREASE)
    return bent


def _strip(axis: int, start: int, stop: int | None) -> tuple[slice, ...]:
    return tuple(slice(start, stop) if each == axis else slice(None) for each in range(2))


def registration(rgb: NDArray[np.uint8], part: Ids, bent: Mask) -> Registration | None:
    """Fit the shift and stretch of a picture against its own part map.

    Args:
        rgb: Display picture, [h, w, 3].
        part: Part numbers, [h, w].
        bent: Pixels where a part bends sharply, [h, w].

    Returns:
        None where too few edges have enough contrast to tell.
    """
    picture = rgb.astype(np.float64) / 255.0
    found = _refined(picture, part, bent, steepest_place(picture, part))
    if found is None or found.error > _UNSURE:
        return None
    height, width = part.shape
    right, down, across, along = (-float(each) for each in found.warp)
    return Registration(
        found.displacement, (right, down), (across / (width / 2), along / (height / 2))
    )


@dataclass(frozen=True)
class _Fit:
    warp: Floats
    displacement: float
    error: float


def _refined(picture: Floats, part: Ids, bent: Mask, warp: Floats) -> _Fit | None:
    """Fit against the colours beside each edge, which leaves light and texture out."""
    found = None
    for _ in range(_FINE_STEPS):
        moved = _moved(picture, warp)
        predicted, known = _predicted(moved, part, bent)
        known = _shrunk(known, 5)
        found = _step(smooth(moved), smooth(predicted), known, _CONTRAST)
        if found is None:
            return None
        warp = warp + found[0]
    assert found is not None
    _, normal, residuals, basis = found
    weight = 1.0 / (1.0 + (residuals / _NOISE) ** 2) ** 2
    spread = float((weight * residuals**2).sum() / max(weight.sum() - 4.0, 1.0))
    # Neighbours share their blur, so about one pixel in eight is news.
    covariance = np.linalg.pinv(normal) * spread * 8.0
    across = np.hypot(*(basis @ warp).T)
    errors = np.einsum("nij,jk,nik->n", basis, covariance, basis)
    return _Fit(
        warp,
        float(np.quantile(across, 0.95)),
        float(np.sqrt(np.quantile(errors, 0.95))),
    )


def _step(
    shown: Floats, predicted: Floats, used: Mask, contrast: float
) -> tuple[Floats, Floats, Floats, Floats] | None:
    """Displacement that the picture still has.

    Returns:
        The step, the normal matrix, residuals [n, c] and displacements per parameter [n, 2, 4];
        None where too few pixels tell.
    """
    down, right = (np.gradient(predicted, axis=axis) for axis in (0, 1))
    steep = used & (np.sqrt((down**2 + right**2).sum(axis=2)) > contrast)
    rows, columns = np.nonzero(steep)
    if len(rows) < _FEWEST_PIXELS:
        return None
    height, width = steep.shape
    basis = np.zeros((len(rows), 2, 4))
    basis[:, 0, 0] = basis[:, 1, 1] = 1.0
    basis[:, 0, 2] = (columns + 0.5) / (width / 2) - 1.0
    basis[:, 1, 3] = (rows + 0.5) / (height / 2) - 1.0
    slopes = np.stack([right[rows, columns], down[rows, columns]], axis=1)
    J = np.einsum("nic,nip->ncp", slopes, basis)
    residuals = shown[rows, columns] - predicted[rows, columns]
    step = np.zeros(4)
    normal = np.eye(4)
    for _ in range(4):
        left = residuals - J @ step
        weight = 1.0 / (1.0 + (left / _NOISE) ** 2) ** 2
        normal = np.einsum("ncp,nc,ncq->pq", J, weight, J)
        damped = normal + np.diag(1e-3 * np.diag(normal) + 1e-9)
        step = np.linalg.solve(damped, np.einsum("ncp,nc,nc->p", J, weight, residuals))
    return step, normal, residuals - J @ step, basis


def _moved(picture: Floats, warp: Floats) -> Floats:
    """The picture drawn from where its pixels were displaced to."""
    if not warp.any():
        return picture
    height, width = picture.shape[:2]
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float64)
    x = columns - warp[0] - warp[2] * ((columns + 0.5) / (width / 2) - 1.0)
    y = rows - warp[1] - warp[3] * ((rows + 0.5) / (height / 2) - 1.0)
    channels = [map_coordinates(picture[..., c], [y, x], order=1, mode="nearest") for c in range(3)]
    return np.stack(channels, axis=2)


def _shrunk(mask: Mask, size: int) -> Mask:
    return np.asarray(minimum_filter(mask, size), dtype=np.bool_)


def _predicted(picture: Floats, part: Ids, bent: Mask) -> tuple[Floats, Mask]:
    """The picture with the colours of each part's inside carried to its edges, and where known."""
    known = _shrunk(interior(part) & ~bent, 3)
    colors = np.where(known[..., None], picture, 0.0)
    height, width = part.shape
    neighbours = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)]
    for _ in range(_REACH):
        total = np.zeros_like(picture)
        count = np.zeros(part.shape)
        padded = [np.pad(each, 1, constant_values=c) for each, c in ((part, -1), (known, False))]
        filled = np.pad(colors, ((1, 1), (1, 1), (0, 0)))
        for dy, dx in neighbours:
            window = (slice(1 + dy, 1 + dy + height), slice(1 + dx, 1 + dx + width))
            same = padded[1][window] & (padded[0][window] == part)
            total += np.where(same[..., None], filled[window], 0.0)
            count += same
        new = ~known & ~bent & (count > 0)
        colors[new] = total[new] / count[new][:, None]
        known = known | new
    return colors, known
