"""The geometric pass with MuJoCo's back-face rule."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from datagen.backends.mitsuba.hits import Hits, upward
from datagen.backends.mitsuba.sensor import pinhole_sensor
from scenes import Pinhole

# Step behind a culled face, relative to the distance from the camera: a spawned ray's usual offset
# would jump over thin walls, and a share of the way from face to face would not leave the second
# of two that coincide.
_STEP = 3e-7
_LIMIT = 256


class FirstHits(NamedTuple):
    """What the ray through each pixel's centre meets first."""

    shape: NDArray[Any]
    """Mitsuba's number of the shape, 0 = nothing, [h, w]."""
    hits: Hits
    st: NDArray[Any]
    """Texture coordinates, v up, and their change to the next column and row, [h, w, 3, 2]."""


def first_front_faces(
    mitsuba: ModuleType, scene: Any, view: Pinhole, seen_from_behind: frozenset[str]
) -> FirstHits:
    """Trace one ray through each pixel's centre to the first face that looks at the camera.

    Args:
        mitsuba: The module, in a just-in-time variant.
        scene: Mitsuba scene.
        view: The camera.
        seen_from_behind: Ids of shapes that are not culled (MuJoCo's planes).
    """
    import drjit as dr

    lens = _rays(mitsuba, view)
    start, direction, reach = lens.o, lens.d, lens.maxt
    shapes = scene.shapes_dr()
    open_shapes = [
        index for index, shape in enumerate(scene.shapes()) if shape.id() in seen_from_behind
    ]
    active = mitsuba.Bool(True)
    count = view.width * view.height
    passed = dr.zeros(mitsuba.Float, count)
    shape = dr.zeros(mitsuba.UInt32, count)
    position = dr.zeros(mitsuba.Point3f, count)
    normal, face = (dr.zeros(mitsuba.Normal3f, count) for _ in range(2))
    triangle = dr.zeros(mitsuba.UInt32, count)
    albedo = dr.zeros(mitsuba.Color3f, count)
    st, to_column, to_row = (dr.zeros(mitsuba.Point2f, count) for _ in range(3))
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
        face[kept] = hit.n
        triangle[kept] = hit.prim_index
        albedo[kept] = hit.bsdf().eval_diffuse_reflectance(hit, kept)
        st[kept] = hit.uv
        to_column[kept], to_row[kept] = _st_steps(mitsuba, hit, lens)
        active = found & ~front
        passed = dr.select(active, (passed + hit.t) * (1.0 + _STEP), passed)
        dr.eval(
            shape, position, normal, face, albedo, triangle, st, to_column, to_row, active, passed
        )
        if not dr.any(active):
            break
    size = (view.height, view.width)
    coordinates = np.stack([np.array(each).T for each in (st, to_column, to_row)], axis=1)
    return FirstHits(
        shape=np.array(shape).reshape(size),
        hits=Hits(
            *(np.array(each).T.reshape(*size, 3) for each in (position, normal, face, albedo)),
            triangle=np.array(triangle).reshape(size),
        ),
        st=upward(coordinates.reshape(*size, 3, 2)),
    )


def _st_steps(mitsuba: ModuleType, hit: Any, lens: Any) -> tuple[Any, Any]:
    """Change of the texture coordinates to where the rays of the next pixels meet the plane."""
    hit.compute_uv_partials(lens)
    return mitsuba.Point2f(hit.duv_dx), mitsuba.Point2f(hit.duv_dy)


def _rays(mitsuba: ModuleType, view: Pinhole) -> Any:
    """Rays through the centres of all pixels, row by row, and of their next ones."""
    v, u = np.mgrid[0 : view.height, 0 : view.width] + 0.5
    places = np.stack([u.ravel() / view.width, v.ravel() / view.height]).astype(np.float32)
    sensor = pinhole_sensor(mitsuba, view, "stratified", 1)
    position = mitsuba.Point2f(places)
    ray, _ = sensor.sample_ray_differential(0.0, 0.0, position, mitsuba.Point2f(0.0))
    return ray
