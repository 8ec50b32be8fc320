"""Cameras as two backends state them."""

from __future__ import annotations

import math

import numpy as np

from datagen.audit.diagnose.findings import Finding
from datagen.audit.measure.edges import Floats
from scenes import Pinhole

SHIFT_PX = 0.2
FIELD_DEG = 0.4
POSITION_MM = 1.0
ROTATION_DEG = 0.1
"""Smallest sizes that are reported."""

_CONVENTIONS = {
    "OpenGL's camera axes (y up, z backward) where OpenCV's are expected": np.diag(
        [1.0, -1.0, -1.0]
    ),
    "a camera turned by 180 degrees about its axis": np.diag([-1.0, -1.0, 1.0]),
    "a camera turned by 180 degrees about its upward axis": np.diag([-1.0, 1.0, -1.0]),
}


def rotation_deg(R: Floats) -> float:
    """Angle of a rotation matrix [deg]."""
    sine = np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return math.degrees(math.atan2(float(sine), float(np.trace(R)) - 1.0))


def vertical_field(K: Floats, height: int) -> float:
    """Vertical field of view [deg] of a picture `height` pixels high."""
    return math.degrees(2.0 * math.atan(0.5 * height / float(K[1, 1])))


def lens_finding(name: str, verb: str, reference: Pinhole, K: Floats) -> list[Finding]:
    """Findings on intrinsics that differ.

    Args:
        name: Name of the camera.
        verb: `states` or `renders`, with the backend's name before it.
        reference: The camera taken for right.
        K: The other intrinsics [pixel].
    """
    found: list[Finding] = []
    subject = f"camera {name}"
    right = reference.K
    degrees = vertical_field(K, reference.height) - vertical_field(right, reference.height)
    if abs(degrees) >= FIELD_DEG:
        found.append(
            Finding(
                "field_of_view",
                subject,
                degrees,
                "deg",
                f"{verb} a vertical field of view {degrees:+.2f} degrees off "
                f"({degrees + vertical_field(right, reference.height):.2f} for "
                f"{vertical_field(right, reference.height):.2f}): another fovy, or a horizontal "
                "angle taken for the vertical one.",
            )
        )
    # Adding zero turns -0.00 into 0.00.
    shift = np.round(K[:2, 2] - right[:2, 2], 2) + 0.0
    size = float(np.abs(shift).max())
    if size < SHIFT_PX:
        return found
    if transposed(reference, K):
        found.append(
            Finding(
                "principal_point_transposed",
                subject,
                size,
                "px",
                f"{verb} a principal point with x and y exchanged: ({K[0, 2]:.2f}, {K[1, 2]:.2f}) "
                f"for ({right[0, 2]:.2f}, {right[1, 2]:.2f}).",
            )
        )
    else:
        half = np.abs(np.abs(shift) - 0.5).min() < 0.1
        cause = (
            "pixel centres counted at whole numbers on one side"
            if half and size < 0.7
            else "another principal point, or a picture that was cropped or padded"
        )
        found.append(
            Finding(
                "pixel_shift",
                subject,
                size,
                "px",
                f"{verb} a picture shifted by ({shift[0]:+.2f}, {shift[1]:+.2f}) pixels: {cause}.",
            )
        )
    return found


def transposed(reference: Pinhole, K: Floats) -> bool:
    """Tell whether a principal point is the reference's with its offsets exchanged."""
    middle = np.array([reference.width, reference.height]) / 2
    right, seen = reference.K[:2, 2] - middle, K[:2, 2] - middle
    plain = reference.K[:2, 2][::-1] - middle
    if np.abs(right - right[::-1]).max() < SHIFT_PX:
        return False
    return bool(min(np.abs(seen - right[::-1]).max(), np.abs(seen - plain).max()) < SHIFT_PX)


def pose_finding(
    name: str, verb: str, reference: Floats, candidate: Floats, distance: float
) -> list[Finding]:
    """Findings on poses `T_world_camera` that differ, both [4, 4] [m].

    Args:
        name: Name of the camera.
        verb: `states` or `renders`, with the backend's name before it.
        reference: The pose taken for right.
        candidate: The other pose.
        distance: How far the scene is [m]: what makes an offset matter.
    """
    subject = f"camera {name}"
    between = np.linalg.inv(reference) @ candidate
    mm = 1000.0 * float(np.linalg.norm(between[:3, 3]))
    degrees = rotation_deg(between[:3, :3])
    if mm < POSITION_MM and degrees < ROTATION_DEG:
        return []
    if convention := _convention(reference, candidate, distance):
        return [
            Finding(
                "camera_pose",
                subject,
                degrees,
                "deg",
                f"{verb} {convention}.",
            )
        ]
    sideways = between[:3, 3]
    return [
        Finding(
            "camera_pose",
            subject,
            mm if mm >= POSITION_MM else degrees,
            "mm" if mm >= POSITION_MM else "deg",
            f"{verb} the camera {mm:.1f} mm away and turned by {degrees:.2f} degrees "
            f"(offset right {1000 * sideways[0]:+.1f}, down {1000 * sideways[1]:+.1f}, "
            f"forward {1000 * sideways[2]:+.1f} mm): another camera pose or body pose.",
        )
    ]


def _convention(reference: Floats, candidate: Floats, distance: float) -> str | None:
    between = np.linalg.inv(reference) @ candidate
    near = 0.02 * distance
    for words, R in _CONVENTIONS.items():
        if rotation_deg(R.T @ between[:3, :3]) < 2.0 and np.linalg.norm(between[:3, 3]) < near:
            return words
    if np.allclose(candidate, np.linalg.inv(reference), atol=2e-3):
        return "T_camera_world where T_world_camera is expected (the inverse pose)"
    if np.allclose(candidate[:3, :3], reference[:3, :3].T, atol=2e-3):
        return "a transposed rotation (row vectors taken for column vectors)"
    return None
