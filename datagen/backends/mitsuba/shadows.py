"""Which lights the surfaces of a view do not see."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scenes import Scene
from scenes.stage.lights import Distant, read_lights

_OFF = 1e-4
"""Distance from the surface at which a ray starts, relative to the size of its coordinates."""


def shadowed(
    mitsuba: ModuleType,
    traced: Any,
    scene: Scene,
    position: NDArray[np.float32],
    normal: NDArray[np.float32],
) -> NDArray[np.bool_]:
    """Look from surfaces to the middle of every light, [h, w, lights].

    Args:
        mitsuba: The module, in the variant that renders.
        traced: Mitsuba scene.
        scene: The scene, with the sample over it.
        position: World points [m], inf = nothing, [h, w, 3].
        normal: World normals on the camera's side, [h, w, 3].
    """
    lights = read_lights(scene)
    found = np.zeros((*position.shape[:2], len(lights)), dtype=np.bool_)
    seen = np.isfinite(position).all(axis=2)
    points, normals = position[seen].astype(np.float64), normal[seen].astype(np.float64)
    if not len(points):
        return found
    off = _OFF * np.maximum(np.abs(points).max(axis=1, keepdims=True), 1.0)
    for index, light in enumerate(lights):
        pose = light.T_world_light
        if isinstance(light.shape, Distant):
            toward = np.broadcast_to(pose[:3, 2], points.shape)
            reach = np.full(len(points), np.inf)
        else:
            toward = pose[:3, 3] - points
            reach = np.linalg.norm(toward, axis=1) * (1.0 - _OFF)
        toward = toward / np.maximum(np.linalg.norm(toward, axis=1, keepdims=True), 1e-12)
        # A surface that looks away from a light is dark whatever stands between.
        sides = np.where((normals * toward).sum(axis=1, keepdims=True) >= 0, off, -off)
        found[seen, index] = _blocked(mitsuba, traced, points + sides * normals, toward, reach)
    return found


def _blocked(
    mitsuba: ModuleType,
    traced: Any,
    origins: NDArray[np.float64],
    directions: NDArray[np.float64],
    reach: NDArray[np.float64],
) -> NDArray[np.bool_]:
    if mitsuba.variant().startswith("scalar"):
        rays = zip(origins.tolist(), directions.tolist(), reach.tolist(), strict=True)
        return np.array([traced.ray_test(mitsuba.Ray3f(o, d, r, 0.0, [])) for o, d, r in rays])
    ray = mitsuba.Ray3f(
        mitsuba.Point3f(origins.T.astype(np.float32)),
        mitsuba.Vector3f(directions.T.astype(np.float32)),
    )
    ray.maxt = mitsuba.Float(reach.astype(np.float32))
    return np.array(traced.ray_test(ray), dtype=np.bool_)
