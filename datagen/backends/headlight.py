"""MuJoCo's headlight as a term of the picture, which no emitter stands for.

It shines along the camera's axis from everywhere: a wall behind the camera must not block it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scenes import Matrix, Pinhole
from scenes.stage.looks import Look

Floats = NDArray[np.float64]


def white_headlight(
    albedo: NDArray[np.float32], normal: NDArray[np.float32], T_world_camera: Matrix
) -> NDArray[np.float32]:
    """Linear radiance that a white headlight adds, [h, w, 3].

    Args:
        albedo: Diffuse reflectance, [h, w, 3].
        normal: World normals on the camera's side, [h, w, 3].
        T_world_camera: Pose of the camera, OpenCV axes, [4, 4].
    """
    cosine = np.maximum(-(normal @ T_world_camera[:3, 2].astype(np.float32)), 0.0)
    return albedo * cosine[..., None]


class HeadlightShine:
    """Reflectance and roughness of all parts under the headlight.

    Args:
        looks: Look of each part.
        least_roughness: Roughness below which none is shown, 0 to 1.
    """

    def __init__(self, looks: Sequence[Look], least_roughness: float) -> None:
        count = len(looks) + 1
        self._reflectance, self._alpha = np.zeros(count), np.ones(count)
        for number, look in enumerate(looks, start=1):
            if "opacity" in look.textures:
                continue  # What a texture hides does not shine.
            self._reflectance[number] = look.opacity * look.headlight_reflectance
            self._alpha[number] = max(look.roughness, least_roughness) ** 2

    def light(
        self, part: NDArray[np.int32], normal: NDArray[np.float32], view: Pinhole
    ) -> NDArray[np.float32]:
        """Radiance per unit of headlight, as a factor of what a white surface across shows, [h, w].

        GGX distribution with Smith's shadowing (Walter et al. 2007) and Schlick's Fresnel term.

        Args:
            part: Part numbers, [h, w].
            normal: World normals on the camera's side, [h, w, 3].
            view: The camera.
        """
        shown = np.zeros(part.shape, dtype=np.float32)
        seen = self._reflectance[part] > 0
        if not seen.any():
            return shown
        rows, columns = np.nonzero(seen)
        pixels = np.stack([columns + 0.5, rows + 0.5, np.ones(len(rows))], axis=1)
        rays = pixels @ np.linalg.inv(view.K).T @ view.T_world_camera[:3, :3].T
        toward = -rays / np.linalg.norm(rays, axis=1, keepdims=True)
        light = -view.T_world_camera[:3, 2]
        half = toward + light
        half /= np.linalg.norm(half, axis=1, keepdims=True)
        facing = normal[seen].astype(np.float64)
        facing /= np.maximum(np.linalg.norm(facing, axis=1, keepdims=True), 1e-12)
        cos_half, cos_view, cos_light, between = (
            np.clip(each, 0.0, 1.0)
            for each in (
                (facing * half).sum(axis=1),
                (facing * toward).sum(axis=1),
                facing @ light,
                (toward * half).sum(axis=1),
            )
        )
        squared = self._alpha[part[seen]] ** 2
        spread = squared / (cos_half**2 * (squared - 1.0) + 1.0) ** 2
        normal_part = self._reflectance[part[seen]]
        fresnel = normal_part + (1.0 - normal_part) * (1.0 - between) ** 5
        # pi E D F G / (4 cos cos) times cos of the light: pi of the irradiance leaves D's 1 / pi.
        masking = _smith(cos_view, squared) * _smith(cos_light, squared)
        value = spread * fresnel * masking * cos_light
        shown[seen] = np.where(cos_light > 0, value, 0.0)
        return shown


def _smith(cosine: Floats, squared: Floats) -> Floats:
    """Smith's term of one direction over twice its cosine."""
    return 1.0 / np.maximum(cosine + np.sqrt(squared + (1.0 - squared) * cosine**2), 1e-6)
