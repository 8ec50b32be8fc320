"""From geometric differences to their probable cause."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from datagen.audit.diagnose.alignment import Warp, costs, gather, identity
from datagen.audit.diagnose.camera_fit import EXPLAINED_AT_LEAST, CameraFit, fit_camera
from datagen.audit.diagnose.depth_fit import fit_clipping, fit_depth
from datagen.audit.diagnose.findings import Finding
from datagen.audit.diagnose.object_fit import BodyFit, BodyView, fit_body
from datagen.audit.diagnose.orientation import upright
from datagen.audit.diagnose.reported_camera import POSITION_MM, lens_finding, pose_finding
from datagen.audit.diagnose.resection import resect
from datagen.audit.measure.edges import Floats, Mask, interior
from datagen.audit.measure.surfaces import Planes, Surface, planes, surface
from datagen.audit.view import ViewPair
from datagen.backends import Buffers

_FEWEST_PIXELS = 50
"""Pixels an object needs to be missed."""
_QUIET_SHARE = 0.002
"""Share of pixels on another part that edges and ties explain."""
_QUIET_DEPTH = 2e-5
"""Relative depth difference that rounding explains."""
_FITTED_NOISE = 0.03
"""Distance from the planes that a fitted camera leaves at least, on curved surfaces [pixel]."""
_TURN_DEG = 0.5
_RESIZE = 0.01
_LOST_SHARE = 0.5
"""Share of pixels on another part from which the picture may show something else altogether."""


def diagnose_geometry(pair: ViewPair) -> tuple[Finding, ...]:
    """Name what makes the two sides see different geometry, largest cause first.

    Flips are undone and a wrong camera is taken into account before objects are judged, so that
    one cause gives one finding.
    """
    right = upright(pair.reference.buffers, pair.candidate.buffers, pair.candidate.backend)
    found = [*right.findings, *_stated(pair)]
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
    seen = _rendered(pair, fitted)
    if not seen and (reference.part != candidate.part).mean() > _LOST_SHARE:
        seen = _resected(pair, right.buffers) or _elsewhere(pair, reference, candidate)
        if seen:
            return tuple(_merged(found, seen))
    lost = None if clipping is None else clipping.lost

    def moved(fit: CameraFit) -> list[Finding]:
        base, noise = identity(), 0.0
        if fit.kind != "none":
            base, noise = fit.warp, max(_FITTED_NOISE, costs(whole, fit.warp).noise())
        return _moved(pair, reference, tangents, candidate, base, noise, codes, lost)

    objects = moved(fitted)
    if len(objects) > 1 and fitted.kind == "none":
        # One weak cause for all is likelier than one for each.
        shared = fit_camera(whole, reference, candidate, EXPLAINED_AT_LEAST)
        if shown := _rendered(pair, shared):
            seen, objects = shown, moved(shared)
    found = _merged(found, seen) + objects
    if clipping is None:
        found += _missing(pair, reference, candidate)
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
        if np.percentile(off, 99) > _QUIET_DEPTH:
            return False
    # An object that slides along a plane shows at its borders alone.
    differing = np.unique(
        np.concatenate([reference.part[~same], candidate.part[~same]]), return_counts=True
    )[1]
    return bool((~same).mean() <= _QUIET_SHARE and (differing.size == 0 or differing.max() <= 6))


def _stated(pair: ViewPair) -> list[Finding]:
    """Differences between the cameras that the two sides state."""
    reference, candidate = pair.reference.labels.camera, pair.candidate.labels.camera
    verb = f"{pair.candidate.backend} states"
    return [
        *lens_finding(pair.camera, verb, reference, candidate.K),
        *pose_finding(
            pair.camera,
            verb,
            reference.T_world_camera,
            candidate.T_world_camera,
            _distance(pair.reference.buffers),
        ),
    ]


def _distance(buffers: Buffers) -> float:
    if buffers.depth is None or not np.isfinite(buffers.depth).any():
        return 1.0
    return float(np.median(buffers.depth[np.isfinite(buffers.depth)]))


def _rendered(pair: ViewPair, fitted: CameraFit) -> list[Finding]:
    """Findings of the camera that explains the candidate's buffers."""
    if fitted.kind == "none":
        return []
    camera, warp = pair.reference.labels.camera, fitted.warp
    verb = f"{pair.candidate.backend} renders"
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = warp.R, warp.t
    pose = camera.T_world_camera
    return [
        *lens_finding(pair.camera, verb, camera, warp.lens(camera.K)),
        *pose_finding(pair.camera, verb, pose, pose @ T, _distance(pair.reference.buffers)),
    ]


def _resected(pair: ViewPair, buffers: Buffers) -> list[Finding]:
    """Findings from the candidate's world points, where the pictures have too little in common."""
    camera = resect(buffers)
    if camera is None:
        return []
    K, T = camera
    reference = pair.reference.labels.camera
    verb = f"{pair.candidate.backend} renders"
    return [
        *lens_finding(pair.camera, verb, reference, K),
        *pose_finding(
            pair.camera, verb, reference.T_world_camera, T, _distance(pair.reference.buffers)
        ),
    ]


def _elsewhere(pair: ViewPair, reference: Surface, candidate: Surface) -> list[Finding]:
    """A finding where the candidate shows nothing of what the reference shows."""
    shown = np.unique(reference.part[reference.part > 0])
    if not shown.size or np.isin(candidate.part, shown).any():
        return []
    return [
        Finding(
            "camera_pose",
            f"camera {pair.camera}",
            100.0,
            "%",
            f"{pair.candidate.backend} shows none of the {shown.size} parts that should be in "
            "view: the camera looks elsewhere, as with OpenGL's axes (z backward) taken for "
            "OpenCV's (z forward).",
        )
    ]


def _merged(stated: list[Finding], seen: list[Finding]) -> list[Finding]:
    """One finding per cause: what the picture shows counts before what a backend states."""
    kinds = {each.kind for each in seen}
    return [each for each in stated if each.kind not in kinds or each.kind == "near_far"] + seen


def _moved(
    pair: ViewPair,
    reference: Surface,
    tangents: Planes,
    candidate: Surface,
    base: Warp,
    noise: float,
    codes: Floats,
    lost: Mask | None,
) -> list[Finding]:
    """Findings on objects that stand elsewhere or have another size."""
    info = pair.scene.info
    T_camera_world = np.linalg.inv(pair.reference.labels.camera.T_world_camera)
    parts: dict[str, list[int]] = {}
    for part in info.parts:
        parts.setdefault(part.body, []).append(part.part)
    poses = dict(zip(parts, pair.scene.world_transforms(parts), strict=True))
    owners = {each.path: each.instance for each in info.bodies}
    owners |= {each.body: each.instance for each in info.parts}
    by_object: dict[int, list[BodyFit]] = {}
    for body, numbers in parts.items():
        members = np.array(numbers, dtype=np.int32)
        if noise == 0.0 and _body_quiet(members, reference, candidate):
            continue
        own = np.isin(np.arange(len(codes)), members)[:, None]
        view = BodyView(
            body=body,
            here=np.isin(reference.part, members),
            there=np.isin(candidate.part, members),
            origin=T_camera_world[:3, :3] @ poses[body][:3, 3] + T_camera_world[:3, 3],
            up=T_camera_world[:3, 2],
            K=pair.reference.labels.camera.K,
            reference=reference,
            tangents=tangents,
            candidate=candidate,
            codes=np.where(own, codes, 0.0),
        )
        if lost is not None and np.any(lost & view.here):
            continue
        fitted = fit_body(view, base, noise)
        if fitted is not None:
            by_object.setdefault(owners[body], []).append(fitted)
    names = {each.instance: each.name for each in info.objects}
    found = [
        finding
        for instance, fits in by_object.items()
        if (finding := _object_finding(pair, names[instance], fits)) is not None
    ]
    return sorted(found, key=lambda each: -abs(each.size))


def _body_quiet(members: NDArray[np.int32], reference: Surface, candidate: Surface) -> bool:
    here, there = np.isin(reference.part, members), np.isin(candidate.part, members)
    if np.count_nonzero(here != there) > 6:
        return False
    both = here & there & reference.inner & candidate.inner
    if not both.any():
        return True
    off = np.abs(candidate.depth[both] / reference.depth[both] - 1.0)
    return bool(np.percentile(off, 90) <= _QUIET_DEPTH)


def _object_finding(pair: ViewPair, name: str, fits: list[BodyFit]) -> Finding | None:
    resized = [each for each in fits if each.scale is not None and abs(each.scale - 1) >= _RESIZE]
    if resized:
        most = max(resized, key=lambda each: abs((each.scale or 1.0) - 1.0))
        percent = 100.0 * ((most.scale or 1.0) - 1.0)
        return Finding(
            "object_scale",
            f"object {name}",
            percent,
            "%",
            f"{pair.candidate.backend} shows {name} {percent:+.1f} % larger or smaller: a mesh "
            "scale or a unit that was applied twice or not at all.",
        )
    fits = [each for each in fits if each.scale is None]
    if not fits:
        return None
    most = max(fits, key=lambda each: float(np.linalg.norm(each.move)))
    mm, degrees = 1000.0 * float(np.linalg.norm(most.move)), math.degrees(most.angle)
    turned = max(math.degrees(each.angle) for each in fits)
    if mm < POSITION_MM and turned < _TURN_DEG and most.explained:
        return None
    if mm < POSITION_MM and most.explained:
        most = max(fits, key=lambda each: each.angle)
        degrees = turned
    if not most.explained:
        return Finding(
            "object_pose",
            f"object {name}",
            mm,
            "mm",
            f"{pair.candidate.backend} shows {name} elsewhere or in another shape (the middle of "
            f"what is visible lies {mm:.0f} mm away); no motion or scale explains it.",
        )
    R = pair.reference.labels.camera.T_world_camera[:3, :3]
    x, y, z = 1000.0 * (R @ most.move)
    body = most.body.rsplit("/", 1)[-1]
    part = f", body {body}," if len(fits) > 1 else ""
    return Finding(
        "object_pose",
        f"object {name}",
        mm if mm >= POSITION_MM else degrees,
        "mm" if mm >= POSITION_MM else "deg",
        f"{pair.candidate.backend} shows {name}{part} {mm:.1f} mm away and turned by "
        f"{degrees:.1f} degrees (world x {x:+.1f}, y {y:+.1f}, z {z:+.1f} mm): a stale or wrong "
        "body pose, or a mesh moved in its frame.",
    )


def _missing(pair: ViewPair, reference: Surface, candidate: Surface) -> list[Finding]:
    """Findings on objects and parts that one side does not draw although nothing hides them."""
    found: list[Finding] = []
    sides = (
        (pair.candidate.backend, reference, candidate),
        (pair.reference.backend, candidate, reference),
    )
    names = {each.instance: each.name for each in pair.scene.info.objects}
    members: dict[int, list[int]] = {}
    for part in pair.scene.info.parts:
        members.setdefault(part.instance, []).append(part.part)
    for backend, has, lacks in sides:
        for instance, numbers in members.items():
            gone = [each for each in numbers if _unseen(np.array([each]), has, lacks)]
            whole = _unseen(np.array(numbers), has, lacks)
            if not gone and not whole:
                continue
            shown = np.isin(has.part, numbers if whole else gone)
            what = "" if whole or len(gone) == len(numbers) else f"{len(gone)} parts of "
            found.append(
                Finding(
                    "object_missing",
                    f"object {names[instance]}",
                    float(np.count_nonzero(shown)),
                    "px",
                    f"{backend} does not draw {what}{names[instance]}, which fills "
                    f"{np.count_nonzero(shown)} pixels on the other side: hidden, not converted, "
                    "or moved out of the picture.",
                )
            )
    return found


def _unseen(numbers: NDArray[np.intp], has: Surface, lacks: Surface) -> bool:
    """Tell whether parts fill pixels on one side and none on the other, which sees through."""
    shown = np.isin(has.part, numbers)
    if shown.sum() < _FEWEST_PIXELS or np.isin(lacks.part, numbers).any():
        return False
    through = lacks.depth[shown] >= has.depth[shown] * (1.0 - 1e-3)
    return bool(through.mean() > 0.9)
