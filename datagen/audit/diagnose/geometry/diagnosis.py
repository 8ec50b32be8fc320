"""From geometric differences to their probable cause."""

from __future__ import annotations

import numpy as np

from datagen.audit.diagnose.findings import Finding
from datagen.audit.diagnose.geometry.alignment import costs, gather
from datagen.audit.diagnose.geometry.camera_findings import (
    camera_elsewhere,
    rendered_camera,
    resected_camera,
    stated_camera,
)
from datagen.audit.diagnose.geometry.camera_fit import EXPLAINED_AT_LEAST, CameraFit, fit_camera
from datagen.audit.diagnose.geometry.depth_fit import fit_clipping, fit_depth
from datagen.audit.diagnose.geometry.missing_objects import missing_objects
from datagen.audit.diagnose.geometry.moved_objects import QUIET_DEPTH, moved_objects
from datagen.audit.diagnose.geometry.orientation import upright
from datagen.audit.diagnose.geometry.warp import identity
from datagen.audit.measure.edges import Floats, interior
from datagen.audit.measure.surfaces import Surface, planes, surface
from datagen.audit.view import ViewPair
from datagen.backends import Buffers

_QUIET_SHARE = 0.002
"""Share of pixels on another part that edges and ties explain."""
_FITTED_NOISE = 0.03
"""Distance from the planes that a fitted camera leaves at least, on curved surfaces [pixel]."""
_LOST_SHARE = 0.5
"""Share of pixels on another part from which the picture may show something else altogether."""


def diagnose_geometry(pair: ViewPair) -> tuple[Finding, ...]:
    """Name what makes the two sides see different geometry, largest cause first.

    Flips are undone and a wrong camera is taken into account before objects are judged, so that
    one cause gives one finding.
    """
    right = upright(pair.reference.buffers, pair.candidate.buffers, pair.candidate.backend)
    found = [*right.findings, *stated_camera(pair)]
    reference, candidate = _surface(pair.reference.buffers), _surface(right.buffers)
    if reference is None or candidate is None:
        return tuple(found)
    camera = pair.reference.labels.camera
    depth = fit_depth(camera.K, reference, candidate)
    if depth is not None:
        found.append(
            Finding(
                "near_far",
                f"camera {pair.camera}",
                depth.percent,
                "%",
                f"The depth of {pair.candidate.backend} is {depth.percent:.3g} % off: "
                f"{depth.cause}.",
            )
        )
        candidate = surface(candidate.part, depth.corrected)
    if _quiet(reference, candidate):
        return tuple(found)
    clipping = fit_clipping(reference, candidate)
    if clipping is not None:
        found.append(
            Finding(
                "near_far",
                f"camera {pair.camera}",
                1000.0 * clipping.distance,
                "mm",
                f"{pair.candidate.backend} draws nothing "
                f"{'nearer' if clipping.plane == 'near' else 'farther'} than "
                f"{clipping.distance:.3f} m, and so loses "
                f"{np.count_nonzero(clipping.lost)} pixels: another "
                f"{clipping.plane} plane.",
            )
        )
    tangents = planes(reference, camera)
    codes = _codes(int(max(reference.part.max(), candidate.part.max())))
    whole = gather(camera.K, reference, tangents, candidate, codes)
    fitted = fit_camera(whole, reference, candidate)
    seen = rendered_camera(pair, fitted)
    if not seen and (reference.part != candidate.part).mean() > _LOST_SHARE:
        seen = resected_camera(pair, right.buffers) or camera_elsewhere(pair, reference, candidate)
        if seen:
            return tuple(_merged(found, seen))
    lost = None if clipping is None else clipping.lost

    def moved(fit: CameraFit) -> list[Finding]:
        base, noise = identity(), 0.0
        if fit.kind != "none":
            base, noise = fit.warp, max(_FITTED_NOISE, costs(whole, fit.warp).noise())
        return moved_objects(pair, reference, tangents, candidate, base, noise, codes, lost)

    objects = moved(fitted)
    if len(objects) > 1 and fitted.kind == "none":
        # One weak cause for all is likelier than one for each.
        shared = fit_camera(whole, reference, candidate, EXPLAINED_AT_LEAST)
        if shown := rendered_camera(pair, shared):
            seen, objects = shown, moved(shared)
    found = _merged(found, seen) + objects
    if clipping is None:
        found += missing_objects(pair, reference, candidate)
    return tuple(found)


def _surface(buffers: Buffers) -> Surface | None:
    if buffers.part is None or buffers.depth is None:
        return None
    return surface(np.ascontiguousarray(buffers.part), np.ascontiguousarray(buffers.depth))


def _codes(last: int) -> Floats:
    """Four grey values in [0.3, 1] for each part, far apart for neighbouring numbers; 0 for none.

    Multiples of irrational numbers fill the range evenly (Roberts 2018, R4 sequence).
    """
    steps = 1.1673039782614187 ** -np.arange(1, 5)
    codes = 0.3 + 0.7 * ((np.arange(last + 1)[:, None] * steps) % 1.0)
    codes[0] = 0.0
    return codes


def _quiet(reference: Surface, candidate: Surface) -> bool:
    """Tell whether nothing but rounding separates the two sides."""
    if reference.part.shape != candidate.part.shape:
        return True
    same = reference.part == candidate.part
    if np.count_nonzero(~same & interior(reference.part) & interior(candidate.part)):
        return False
    both = reference.inner & candidate.inner & same
    if both.any():
        off = np.abs(candidate.depth[both] / reference.depth[both] - 1.0)
        if np.percentile(off, 99) > QUIET_DEPTH:
            return False
    # An object that slides along a plane shows at its borders alone.
    differing = np.unique(
        np.concatenate([reference.part[~same], candidate.part[~same]]), return_counts=True
    )[1]
    return bool((~same).mean() <= _QUIET_SHARE and (differing.size == 0 or differing.max() <= 6))


def _merged(stated: list[Finding], seen: list[Finding]) -> list[Finding]:
    """One finding per cause: what the picture shows counts before what a backend states."""
    kinds = {each.kind for each in seen}
    return [each for each in stated if each.kind not in kinds or each.kind == "near_far"] + seen
