"""Objects that stand elsewhere, are turned or have another size."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from datagen.audit.diagnose.findings import Finding
from datagen.audit.diagnose.geometry.object_fit import BodyFit, BodyView, fit_body
from datagen.audit.diagnose.geometry.reported_camera import POSITION_MM
from datagen.audit.diagnose.geometry.warp import Warp
from datagen.audit.measure.edges import Floats, Mask
from datagen.audit.measure.surfaces import Planes, Surface
from datagen.audit.view import ViewPair

QUIET_DEPTH = 2e-5
"""Relative depth difference that rounding explains."""
_TURN_DEG = 0.5
_RESIZE = 0.01


def moved_objects(
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
    return bool(np.percentile(off, 90) <= QUIET_DEPTH)


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
