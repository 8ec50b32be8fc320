"""Cameras that the two sides state, or that explain what they render."""

from __future__ import annotations

import numpy as np

from datagen.audit.diagnose.findings import Finding
from datagen.audit.diagnose.geometry.camera_fit import CameraFit
from datagen.audit.diagnose.geometry.reported_camera import lens_finding, pose_finding
from datagen.audit.diagnose.geometry.resection import resect
from datagen.audit.measure.surfaces import Surface
from datagen.audit.view import ViewPair
from datagen.backends import Buffers


def stated_camera(pair: ViewPair) -> list[Finding]:
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


def rendered_camera(pair: ViewPair, fitted: CameraFit) -> list[Finding]:
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


def resected_camera(pair: ViewPair, buffers: Buffers) -> list[Finding]:
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


def camera_elsewhere(pair: ViewPair, reference: Surface, candidate: Surface) -> list[Finding]:
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
