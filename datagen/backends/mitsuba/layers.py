"""MuJoCo's headlight on surfaces that are transparent, here and there or all over."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scenes.stage.looks import Look

_LAYERS = 8


def lets_light_through(looks: Iterable[Look]) -> bool:
    """Tell whether a part is transparent, as a whole or by a texture."""
    return any(look.least_opacity < 1.0 for look in looks)


def hides_by_texture(looks: Iterable[Look]) -> bool:
    """Tell whether the opacity of a part comes from a texture."""
    return any("opacity" in look.textures for look in looks)


def seen_through(
    mitsuba: ModuleType, scene: Any, sensor: Any, axis: NDArray[np.float64], seed: Any
) -> NDArray[np.float32]:
    """Light of a white headlight on what is seen through transparent parts, linear, [h, w, 3].

    Every layer counts by the share of it that hides and by what the layers before let through.
    After eight layers nothing is added.

    Args:
        mitsuba: The module, in a just-in-time variant.
        scene: Mitsuba scene.
        sensor: Mitsuba sensor.
        axis: Direction in which the camera looks, world, [3].
        seed: Seed of the samples.
    """
    import drjit as dr

    toward = mitsuba.Vector3f(*(float(value) for value in axis))
    dr.make_opaque(toward)

    class Headlight(mitsuba.SamplingIntegrator):
        def sample(
            self, scene: Any, _sampler: Any, ray: Any, _medium: Any = None, active: Any = True
        ) -> tuple[Any, Any, list[Any]]:
            ray, share = mitsuba.Ray3f(ray), mitsuba.Float(1.0)
            lit = mitsuba.Color3f(0.0)
            active = mitsuba.Bool(active)
            for _ in range(_LAYERS):
                hit = scene.ray_intersect(ray, active)
                active &= hit.is_valid()
                bsdf = hit.bsdf(ray)
                through = dr.mean(bsdf.eval_null_transmission(hit, active))
                normal = mitsuba.Vector3f(hit.sh_frame.n)
                normal = dr.select(dr.dot(normal, ray.d) > 0, -normal, normal)
                weight = share * (1.0 - through) * dr.maximum(-dr.dot(normal, toward), 0.0)
                albedo = bsdf.eval_diffuse_reflectance(hit, active)
                lit += dr.select(active, albedo * weight, 0.0)
                share = dr.select(active, share * through, share)
                active &= share > 0
                ray = hit.spawn_ray(ray.d)
            return lit, mitsuba.Bool(True), []

    image = Headlight(mitsuba.Properties()).render(scene, sensor, seed)
    return np.array(image, dtype=np.float32)[..., :3]
