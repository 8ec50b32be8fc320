"""Geometry of a view through two backends, pixel by pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from datagen.audit.diagnose.findings import Comparison
from datagen.audit.diagnose.geometry.diagnosis import diagnose_geometry
from datagen.audit.diagnose.geometry.reported_camera import rotation_deg
from datagen.audit.measure.edges import Floats, Ids, interior
from datagen.audit.measure.misses import explained_share
from datagen.audit.view import Side, ViewPair

IOU_PIXELS = 50
"""Pixels an object needs on one side for its IoU to count."""
EXPLAINED_PIXELS = 100
"""Pixels that must differ before a share of them is judged: of few, one decides."""
_NO_DEPTH = "depth: no pixel shows the same part on both sides."


def compare_geometry(pair: ViewPair) -> Comparison:
    """Compare ids, depth, normals, boxes and cameras, and name the cause of what differs.

    Depth and normals are compared where both sides show the same part. A pixel is interior where
    its 3 x 3 neighbourhood holds one id on both sides.
    """
    reference, candidate = pair.reference, pair.candidate
    metrics: dict[str, float] = {}
    maps: dict[str, NDArray[Any]] = {}
    notes: list[str] = []
    first, second = reference.labels.part, candidate.labels.part
    same = first == second
    inside = interior(first) & interior(second)
    metrics["ids.agreement"] = float(same.mean())
    metrics["ids.interior_misses"] = float(np.count_nonzero(~same & inside))
    metrics["ids.boundary_misses"] = float(np.count_nonzero(~same & ~inside))
    share, explained = explained_share(pair.scene, reference.labels.camera, first, second)
    different = np.count_nonzero(~same)
    metrics["ids.unexplained"] = float(round((1.0 - share) * different))
    if different >= EXPLAINED_PIXELS:
        metrics["ids.explained"] = share
    metrics["instance.agreement"] = _agreement(reference.labels.instance, candidate.labels.instance)
    metrics["semantic.agreement"] = _agreement(reference.labels.semantic, candidate.labels.semantic)
    maps["ids.disagreement"] = _overlay(same, inside, explained)
    objects = _objects(pair)
    ious = [
        each["iou"]
        for each in objects.values()
        if max(each["pixels_reference"], each["pixels_candidate"]) >= IOU_PIXELS
    ]
    if ious:
        metrics["iou.min"] = min(ious)
    depth = _depth_error(reference, candidate, same)
    if depth is not None:
        maps["depth.difference"] = depth.astype(np.float32)
        errors = np.abs(depth[np.isfinite(depth)])
        if errors.size:
            metrics["depth.median"] = float(np.median(errors))
            metrics["depth.p99"] = float(np.percentile(errors, 99))
            metrics["depth.p999"] = float(np.percentile(errors, 99.9))
            metrics["depth.over_1mm"] = float(np.mean(errors > 1e-3))
            metrics["depth.over_1cm"] = float(np.mean(errors > 1e-2))
        else:
            notes.append(_NO_DEPTH)
    angles = _normal_angles(reference, candidate, same)
    if angles is not None:
        maps["normal.angle"] = angles.astype(np.float32)
        seen = angles[np.isfinite(angles)]
        if seen.size:
            metrics["normal.mean_deg"] = float(seen.mean())
            metrics["normal.p99_deg"] = float(np.percentile(seen, 99))
    metrics |= _cameras(pair)
    return Comparison(metrics, objects, maps, diagnose_geometry(pair), tuple(notes))


def _agreement(first: Ids, second: Ids) -> float:
    return float((first == second).mean())


def _overlay(
    same: NDArray[np.bool_], inside: NDArray[np.bool_], explained: NDArray[np.bool_]
) -> NDArray[np.uint8]:
    """Grey where ids agree, blue where rounding explains a miss, orange on a border, red inside."""
    picture = np.full((*same.shape, 3), 40, dtype=np.uint8)
    picture[~same] = (255, 160, 0)
    picture[~same & inside] = (230, 0, 40)
    picture[~same & explained] = (60, 130, 255)
    return picture


def _objects(pair: ViewPair) -> dict[str, dict[str, float]]:
    """Pixels, IoU and depth error of every object that one side shows."""
    first, second = pair.reference.labels.instance, pair.candidate.labels.instance
    depth = _depth_error(pair.reference, pair.candidate, first == second)
    found: dict[str, dict[str, float]] = {}
    for each in pair.scene.info.objects:
        here, there = first == each.instance, second == each.instance
        either, both = here | there, here & there
        if not either.any():
            continue
        row = {
            "pixels_reference": float(np.count_nonzero(here)),
            "pixels_candidate": float(np.count_nonzero(there)),
            "iou": float(np.count_nonzero(both) / np.count_nonzero(either)),
        }
        if depth is not None:
            errors = np.abs(depth[both & np.isfinite(depth)])
            if errors.size:
                row["depth_median"] = float(np.median(errors))
        found[each.name] = row
    return found


def _depth_error(reference: Side, candidate: Side, same: NDArray[np.bool_]) -> Floats | None:
    """Candidate minus reference [m] where ids agree and both are finite, else nan, [h, w]."""
    first, second = reference.buffers.depth, candidate.buffers.depth
    if first is None or second is None:
        return None
    both = same & np.isfinite(first) & np.isfinite(second)
    error = np.full(same.shape, np.nan)
    error[both] = second[both].astype(np.float64) - first[both]
    return error


def _normal_angles(reference: Side, candidate: Side, same: NDArray[np.bool_]) -> Floats | None:
    """Angle between the normals [deg] where ids agree, else nan, [h, w]."""
    first, second = reference.buffers.normal, candidate.buffers.normal
    if first is None or second is None:
        return None
    a, b = first.astype(np.float64), second.astype(np.float64)
    both = same & (np.linalg.norm(a, axis=2) > 0.5) & (np.linalg.norm(b, axis=2) > 0.5)
    # The arc cosine of a rounded product would turn equal normals into 0.02 degrees.
    across = np.linalg.norm(np.cross(a, b), axis=2)
    angle = np.degrees(np.arctan2(across, np.einsum("hwk,hwk->hw", a, b)))
    return np.where(both, angle, np.nan)


def _cameras(pair: ViewPair) -> dict[str, float]:
    """Differences of the stated cameras and of the boxes they project."""
    first, second = pair.reference.labels.camera, pair.candidate.labels.camera
    between = np.linalg.inv(first.T_world_camera) @ second.T_world_camera
    found = {
        "camera.k_px": float(np.abs(first.K - second.K).max()),
        "camera.position_mm": 1000.0 * float(np.linalg.norm(between[:3, 3])),
        "camera.rotation_deg": rotation_deg(between[:3, :3]),
    }
    corners = [_corners(side) for side in (pair.reference, pair.candidate)]
    shared = corners[0].keys() & corners[1].keys()
    if shared:
        found["box.max_corner_px"] = max(
            float(np.abs(corners[0][each] - corners[1][each]).max()) for each in shared
        )
    return found


def _corners(side: Side) -> dict[int, Floats]:
    """Picture positions of the 3D box corners [pixel], [8, 2], of objects seen and in front."""
    camera = side.labels.camera
    T_camera_world = np.linalg.inv(camera.T_world_camera)
    signs = np.array(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5])).reshape(3, 8)
    found: dict[int, Floats] = {}
    for each in side.labels.objects:
        if each.tight_box is None:
            continue
        local = each.box.center[:, None] + signs * each.box.size[:, None]
        T = T_camera_world @ each.T_world_object
        points = T[:3, :3] @ local + T[:3, 3:]
        if points[2].min() > camera.near:
            pixels = camera.K @ points
            found[each.instance] = (pixels[:2] / pixels[2]).T
    return found
