"""What rays meet, as arrays that do not depend on how they were traced."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scenes import Pinhole


class Hits(NamedTuple):
    """First hits of the rays through all pixels' centres; without meaning where nothing is hit."""

    position: NDArray[Any]
    """World position [m], [h, w, 3]."""
    normal: NDArray[Any]
    """Shading normal on the mesh's own side, [h, w, 3]."""
    face: NDArray[Any]
    """Normal of the triangle on its own side, [h, w, 3]."""
    albedo: NDArray[Any]
    """Diffuse reflectance, [h, w, 3]."""
    triangle: NDArray[Any]
    """Triangle of the part's mesh, [h, w]."""


def facing(
    normal: NDArray[Any], face: NDArray[Any], direction: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Turn shading normals to the side from which they are seen.

    A smooth normal may lean away from the viewer although its triangle does not; it is then bent
    back until it is seen edge on.

    Args:
        normal: Shading normals, [..., 3].
        face: Normals of the triangles, [..., 3].
        direction: Directions from the viewer to the surface, of any length, [..., 3].
    """
    view = direction / np.maximum(np.linalg.norm(direction, axis=-1, keepdims=True), 1e-12)
    behind = (face * view).sum(axis=-1, keepdims=True) > 0
    found = np.where(behind, -normal, normal).astype(np.float64)
    away = np.maximum((found * view).sum(axis=-1, keepdims=True), 0.0)
    found -= away * view
    length = np.linalg.norm(found, axis=-1, keepdims=True)
    return np.divide(found, length, out=np.zeros_like(found), where=length > 0).astype(np.float32)


def toward_viewer(normal: NDArray[np.float32], view: Pinhole) -> NDArray[np.float32]:
    """Turn means of normals over pixels, [h, w, 3], to the side of the camera."""
    v, u = np.mgrid[0 : view.height, 0 : view.width] + 0.5
    pixels = np.stack([u, v, np.ones_like(u)], axis=-1)
    rays = pixels @ np.linalg.inv(view.K).T @ view.T_world_camera[:3, :3].T
    behind = (normal * rays).sum(axis=-1, keepdims=True) > 0
    return np.where(behind, -normal, normal)


def upward(uv: NDArray[Any]) -> NDArray[np.float32]:
    """Turn Mitsuba's texture coordinates with their changes, v down, into st, [h, w, 3, 2]."""
    st = uv * np.array([1.0, -1.0], np.float32)
    st[..., 0, 1] += 1.0
    return st
