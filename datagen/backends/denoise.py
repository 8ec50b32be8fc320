"""Intel Open Image Denoise on the lighting alone, so that texture stays sharp."""

from __future__ import annotations

import numpy as np
import pyoidn
from numpy.typing import NDArray

from datagen.backends.errors import BackendError

# Keeps the division by a black albedo finite; multiplied back exactly.
_ALBEDO_FLOOR = 0.02


class Denoiser:
    """Denoises pictures of one process.

    The albedo is divided out before and multiplied in after: what is denoised is light, which is
    smooth, and not texture, which a denoiser takes for noise.
    """

    def __init__(self, threads: int | None) -> None:
        self._device = pyoidn.Device()
        if threads is not None:
            self._device.set_int("numThreads", threads)
        self._device.set_bool("setAffinity", False)
        self._device.commit()
        self._prepared: dict[tuple[int, int], _Prepared] = {}

    def __call__(
        self,
        radiance: NDArray[np.float32],
        albedo: NDArray[np.float32],
        normal: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """Denoise scene-linear radiance, [h, w, 3], with its guides, [h, w, 3] each."""
        reflectance = albedo + np.float32(_ALBEDO_FLOOR)
        light = (radiance / reflectance).astype(np.float32)
        return (self._filter(light, normal) * reflectance).astype(np.float32)

    def _filter(
        self,
        light: NDArray[np.float32],
        normal: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        height, width = light.shape[:2]
        if (height, width) not in self._prepared:
            self._prepared[height, width] = _Prepared(self._device, height, width)
        prepared = self._prepared[height, width]
        prepared.images["color"][:] = light
        prepared.images["normal"][:] = normal
        prepared.filter.execute()
        if error := self._device.get_error():
            raise BackendError(f"denoiser: {error}")
        return prepared.images["output"].copy()


class _Prepared:
    """A filter for one picture size; making one costs more than running it."""

    def __init__(self, device: pyoidn.Device, height: int, width: int) -> None:
        names = ("color", "albedo", "normal", "output")
        self.images = {name: np.zeros((height, width, 3), dtype=np.float32) for name in names}
        # Light has no albedo left; a textured guide would bring the texture back into it.
        self.images["albedo"][:] = 1.0
        self.filter = pyoidn.Filter(device, pyoidn.OIDN_FILTER_TYPE_RT)
        for name, image in self.images.items():
            self.filter.set_image(name, image, pyoidn.OIDN_FORMAT_FLOAT3, width, height)
        self.filter.set_bool("hdr", True)
        self.filter.set_bool("cleanAux", True)
        # The larger network of the highest quality costs 2.4 times as much.
        self.filter.set_quality(pyoidn.OIDN_QUALITY_BALANCED)
        self.filter.commit()
