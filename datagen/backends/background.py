"""The skybox behind a picture."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from scenes import Pinhole, Scene, srgb_decode
from scenes.stage.skybox import Skybox


class Background:
    """What a camera sees where nothing is hit: MuJoCo's skybox, which lights nothing."""

    def __init__(self, sky: Skybox) -> None:
        self._sky = sky

    @classmethod
    def of(cls, scene: Scene) -> Self | None:
        """Background of a scene; None where it is black, as MuJoCo's is without a skybox."""
        sky = Skybox.read(scene)
        return None if sky is None else cls(sky)

    def behind(
        self, hdr: NDArray[np.float32], coverage: NDArray[np.float32], view: Pinhole
    ) -> NDArray[np.float32]:
        """Put the sky behind a picture, along the rays through the pixels' centres.

        The sky's display values are decoded and no exposure is applied, so that the displayed
        picture shows them as they are.

        Args:
            hdr: Linear radiance after exposure, black where nothing is hit, [h, w, 3].
            coverage: Share of each pixel in which something is hit, [h, w].
            view: The camera.
        """
        v, u = np.nonzero(coverage < 1.0)
        pixels = np.stack([u + 0.5, v + 0.5, np.ones(len(u))], axis=1)
        rays = pixels @ np.linalg.inv(view.K).T @ view.T_world_camera[:3, :3].T
        shown = srgb_decode(self._sky.display(rays, spacing=1.0 / float(view.K[1, 1])))
        empty = 1.0 - np.clip(coverage[v, u, None], 0.0, 1.0)
        result = hdr.copy()
        result[v, u] += (empty * shown).astype(np.float32)
        return result
