"""The one ray generator of the path tracer: rays through pixels, from the camera's K."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import numpy as np

from scenes import Pinhole


def pinhole_sensor(mitsuba: ModuleType, view: Pinhole, sampler: str, count: int) -> Any:
    """Mitsuba sensor of a camera, exact for any K, with a film of the camera's size.

    A ray starts on the near plane and ends on the far plane. Mitsuba's own `perspective` knows
    square pixels only.

    Args:
        mitsuba: The module, in the variant that renders.
        view: The camera.
        sampler: Name of the sampler; `stratified` looks through the pixels' centres.
        count: Samples per pixel.
    """
    description: dict[str, Any] = {"type": sampler, "sample_count": count}
    if sampler == "stratified":
        description["jitter"] = False
    film: dict[str, Any] = {
        "type": "hdrfilm",
        "width": view.width,
        "height": view.height,
        "rfilter": {"type": "box"},
        "pixel_format": "rgba",
        "component_format": "float32",
    }
    if mitsuba.variant().startswith("scalar") and view.K[0, 0] == view.K[1, 1]:
        # The same rays; a sensor in Python costs the scalar variant 40 us for each of them.
        return mitsuba.load_dict(
            _square_pixels(mitsuba, view) | {"film": film, "sampler": description}
        )
    properties = mitsuba.Properties()
    properties["film"] = mitsuba.load_dict(film)
    properties["sampler"] = mitsuba.load_dict(description)
    sensor = _sensor_class(mitsuba, mitsuba.variant())(properties)
    sensor.look(view)
    return sensor


def _square_pixels(mitsuba: ModuleType, view: Pinhole) -> dict[str, Any]:
    return {
        "type": "perspective",
        "to_world": mitsuba.ScalarTransform4f(
            view.T_world_camera @ np.diag([-1.0, -1.0, 1.0, 1.0])
        ),
        "fov": float(np.degrees(2.0 * np.arctan(view.height / (2.0 * view.K[1, 1])))),
        "fov_axis": "y",
        "near_clip": view.near,
        "far_clip": view.far,
        "principal_point_offset_x": float(0.5 - view.K[0, 2] / view.width),
        "principal_point_offset_y": float(0.5 - view.K[1, 2] / view.height),
    }


@functools.cache
def _sensor_class(mitsuba: ModuleType, variant: str) -> Any:
    jit = not variant.startswith("scalar")

    def number(value: float) -> Any:
        # A literal would be compiled into the kernel, and each new camera compile it again.
        found = mitsuba.Float(float(value))
        if jit:
            import drjit

            drjit.make_opaque(found)
        return found

    class PinholeSensor(mitsuba.Sensor):
        """Rays through points of the picture plane."""

        def look(self, view: Pinhole) -> None:
            """Take the camera's lens and pose."""
            self._size = mitsuba.Vector2f(number(view.width), number(view.height))
            self._focal = mitsuba.Vector2f(number(view.K[0, 0]), number(view.K[1, 1]))
            self._center = mitsuba.Vector2f(number(view.K[0, 2]), number(view.K[1, 2]))
            pose = view.T_world_camera
            self._axes = [mitsuba.Vector3f(*map(number, pose[:3, axis])) for axis in range(3)]
            self._origin = mitsuba.Point3f(*map(number, pose[:3, 3]))
            self._near, self._reach = number(view.near), number(view.far - view.near)

        def sample_ray(
            self, time: Any, wavelength: Any, position: Any, aperture: Any, active: Any = True
        ) -> tuple[Any, Any]:
            ray = mitsuba.Ray3f()
            ray.time = time
            ray.o, ray.d, ray.maxt = self._through(mitsuba.Vector2f(position) * self._size)
            return ray, mitsuba.Color3f(1.0)

        def sample_ray_differential(
            self, time: Any, wavelength: Any, position: Any, aperture: Any, active: Any = True
        ) -> tuple[Any, Any]:
            pixel = mitsuba.Vector2f(position) * self._size
            ray = mitsuba.RayDifferential3f()
            ray.time = time
            ray.o, ray.d, ray.maxt = self._through(pixel)
            ray.o_x, ray.d_x, _ = self._through(pixel + mitsuba.Vector2f(1.0, 0.0))
            ray.o_y, ray.d_y, _ = self._through(pixel + mitsuba.Vector2f(0.0, 1.0))
            ray.has_differentials = True
            return ray, mitsuba.Color3f(1.0)

        def _through(self, pixel: Any) -> tuple[Any, Any, Any]:
            """Origin, unit direction and length of the ray through a point of the picture."""
            import drjit

            slope = (pixel - self._center) / self._focal
            x, y, z = self._axes
            direction = x * slope.x + y * slope.y + z
            length = drjit.norm(direction)
            return self._origin + direction * self._near, direction / length, self._reach * length

        def to_string(self) -> str:
            return "PinholeSensor[]"

    return PinholeSensor
