"""The geometric pass with MuJoCo's back-face rule."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scenes import Pinhole

# Step behind a culled face, relative to the distance from the camera: a spawned ray's usual offset
# would jump over thin walls, and a share of the way from face to face would not leave the second
# of two that coincide.
_STEP = 3e-7
_LIMIT = 256


def first_front_faces(
    mitsuba: ModuleType, scene: Any, view: Pinhole, seen_from_behind: frozenset[str]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Trace one ray through each pixel's centre to the first face that looks at the camera.

    Args:
        mitsuba: The module, in a just-in-time variant.
        scene: Mitsuba scene.
        view: The camera.
        seen_from_behind: Ids of shapes that are not culled (MuJoCo's planes).

    Returns:
        Mitsuba's number of the shape (0 = nothing), [h, w]; world position [m], shading normal
        and diffuse reflectance, [h, w, 3] each.
    """
    import drjit as dr

    origins, directions = _rays(view)
    direction = mitsuba.Vector3f(directions.T)
    start = mitsuba.Point3f(origins.T)
    along = directions @ view.T_world_camera[:3, 2].astype(np.float32)
    reach = mitsuba.Float((view.far - view.near) / along)
    shapes = scene.shapes_dr()
    open_shapes = [
        index for index, shape in enumerate(scene.shapes()) if shape.id() in seen_from_behind
    ]
    active = mitsuba.Bool(True)
    count = len(directions)
    passed = dr.zeros(mitsuba.Float, count)
    shape = dr.zeros(mitsuba.UInt32, count)
    position = dr.zeros(mitsuba.Point3f, count)
    normal = dr.zeros(mitsuba.Normal3f, count)
    albedo = dr.zeros(mitsuba.Color3f, count)
    for _ in range(_LIMIT):
        ray = mitsuba.Ray3f(start + direction * passed, direction)
        ray.maxt = reach - passed
        hit = scene.ray_intersect(ray, mitsuba.RayFlags.All, True, active)
        found = active & hit.is_valid()
        front = dr.dot(hit.n, direction) <= 0
        for index in open_shapes:
            front |= hit.shape == shapes[index]
        kept = found & front
        shape[kept] = dr.reinterpret_array(mitsuba.UInt32, hit.shape)
        position[kept] = hit.p
        normal[kept] = mitsuba.Normal3f(hit.sh_frame.n)
        albedo[kept] = hit.bsdf().eval_diffuse_reflectance(hit, kept)
        active = found & ~front
        passed = dr.select(active, (passed + hit.t) * (1.0 + _STEP), passed)
        dr.eval(shape, position, normal, albedo, active, passed)
        if not dr.any(active):
            break
    size = (view.height, view.width)
    return (
        np.array(shape).reshape(size),
        np.array(position).T.reshape(*size, 3),
        np.array(normal).T.reshape(*size, 3),
        np.array(albedo).T.reshape(*size, 3),
    )


def _rays(view: Pinhole) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Origins on the near plane [m] and unit directions, [h * w, 3] each."""
    v, u = np.mgrid[0 : view.height, 0 : view.width] + 0.5
    pixels = np.stack([u.ravel(), v.ravel(), np.ones(u.size)])
    in_camera = np.linalg.inv(view.K) @ pixels
    rotation, center = view.T_world_camera[:3, :3], view.T_world_camera[:3, 3]
    origins = center + (rotation @ (in_camera * view.near)).T
    directions = (rotation @ (in_camera / np.linalg.norm(in_camera, axis=0))).T
    return origins.astype(np.float32), directions.astype(np.float32)
