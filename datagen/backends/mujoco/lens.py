"""A pinhole as MuJoCo's frustum, and its depth buffer as metres."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from scenes import Pinhole

_FRUSTUM_TOLERANCE = 1e-6
"""Relative difference that the 32-bit floats of a camera prim explain."""


def set_frustum(eye: mujoco.MjvGLCamera, lens: Pinhole, near: float, far: float) -> None:
    """Give MuJoCo's camera a pinhole; where it has it already, its own numbers stay.

    Near, edges and far are distances in the near plane [m], as `glFrustum` takes them.
    """
    fx, fy = lens.K[0, 0], lens.K[1, 1]
    cx, cy = lens.K[0, 2], lens.K[1, 2]
    half = 0.5 * lens.width / fx
    wanted = np.array([(0.5 * lens.width - cx) / fx, half, -(lens.height - cy) / fy, cy / fy])
    own_half = eye.frustum_width or 0.5 * lens.width / lens.height * (
        eye.frustum_top - eye.frustum_bottom
    )
    own = np.array([eye.frustum_center, own_half, eye.frustum_bottom, eye.frustum_top])
    same = np.abs(own / eye.frustum_near - wanted).max() <= _FRUSTUM_TOLERANCE * max(
        1.0, half
    ) and np.allclose(
        [near, far], [eye.frustum_near, eye.frustum_far], rtol=_FRUSTUM_TOLERANCE, atol=0.0
    )
    if same:
        return
    edges = wanted * near
    eye.frustum_center, eye.frustum_width = edges[0], edges[1]
    eye.frustum_bottom, eye.frustum_top = edges[2], edges[3]
    eye.frustum_near, eye.frustum_far = near, far


def planar_depth(buffer: NDArray[np.float32], near: float, far: float) -> NDArray[np.float64]:
    """Distance to the image plane [m] of MuJoCo's reversed depth buffer.

    Inverts `glFrustum` (OpenGL 2.1 reference) followed by MuJoCo's z' = (1 - z) / 2, with the
    matrix elements rounded to 32 bits as OpenGL holds them.
    """
    n, f = np.float32(near), np.float32(far)
    scale = np.float32(0.5) * ((f + n) / (f - n)) - np.float32(0.5)
    shift = (f * n) / (f - n)
    with np.errstate(divide="ignore"):
        return np.float64(shift) / (buffer.astype(np.float64) + np.float64(scale))


def ray_directions(lens: Pinhole) -> NDArray[np.float64]:
    """Rays through the pixel centres in the camera's axes, z = 1, [h, w, 3]."""
    u = (np.arange(lens.width) + 0.5 - lens.K[0, 2]) / lens.K[0, 0]
    v = (np.arange(lens.height) + 0.5 - lens.K[1, 2]) / lens.K[1, 1]
    x, y = np.meshgrid(u, v)
    return np.stack([x, y, np.ones_like(x)], axis=2)


def hit_points(
    depth: NDArray[np.float64], rays: NDArray[np.float64], lens: Pinhole
) -> NDArray[np.float32]:
    """World point seen by each pixel [m], [h, w, 3]; inf where the depth is.

    Args:
        depth: Planar depth [m], [h, w].
        rays: Directions with z = 1 in the camera's axes, [h, w, 3].
        lens: The view's pinhole.
    """
    hit = np.isfinite(depth)
    world = np.full((*depth.shape, 3), np.inf, np.float32)
    x, y, z = (rays[hit] * depth[hit][:, None]).T[:, :, None]
    T = lens.T_world_camera
    # Element by element: a matrix product's rounding may depend on how BLAS splits the work.
    world[hit] = x * T[:3, 0] + y * T[:3, 1] + z * T[:3, 2] + T[:3, 3]
    return world
