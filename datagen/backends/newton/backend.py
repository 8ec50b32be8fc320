"""Newton's ray-traced camera on CPU: a third view of the geometry, without OpenGL."""

from __future__ import annotations

import math
import platform
from collections.abc import Set
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from datagen.backends.base import Buffers, Pass, Size
from datagen.backends.errors import BackendError
from datagen.backends.mujoco.lens import hit_points, ray_directions
from datagen.backends.newton.model import PartModel
from datagen.backends.newton.rays import Hits, first_hits
from datagen.backends.newton.values import NEWTON_HONOURED
from datagen.shading.formula import mujoco_shading
from scenes import Pinhole, SampleLayer, Scene, pinhole

NEWTON_PASSES: frozenset[Pass] = frozenset(
    {"rgb", "part", "depth", "distance", "normal", "albedo", "position"}
)
"""Passes that the backend gives; it has no radiance."""

_SAMPLES = (1, 4, 9, 16)
_PIXELS_MAX = 2**26


class NewtonBackend:
    """Newton's `SensorCamera` behind the protocol.

    Parts are triangle meshes at the world poses of the stage. Geometric passes come from one ray
    through each pixel's centre; albedo is the material's colour times its texture, in floats.
    Newton's own lights (one directional light) cannot show those of a scene, so `rgb` is MuJoCo's
    shading formula on Newton's hits, normals and albedo. `NEWTON_HONOURED` lists the attributes
    shown, `NEWTON_MISSING` what pictures lack.

    The camera's kernels are compiled on first use (half a minute) and then kept in Warp's cache
    folder.

    Args:
        cull_back_faces: Look through faces seen from behind, as MuJoCo does; without it they hide
            what is behind them.
        samples: Samples per pixel of the picture, on a square grid: 1, 4, 9 or 16.

    Raises:
        BackendError: An option has a value that is not allowed.
    """

    name = "newton"

    def __init__(self, *, cull_back_faces: bool = True, samples: int = 4) -> None:
        if samples not in _SAMPLES:
            raise BackendError(
                f"backend newton: samples = {samples}; allowed are "
                f"{', '.join(str(count) for count in _SAMPLES)}."
            )
        self._cull = cull_back_faces
        self._samples = samples
        self._scene: Scene | None = None
        self._model: PartModel | None = None
        self._sample: SampleLayer | None = None

    def open(self, scene: Scene) -> None:
        """Load a scene.

        Raises:
            BackendError: A part has no material, or its texture or coordinates are missing.
        """
        self.close()
        self._model = PartModel(scene) if scene.info.parts else None
        self._scene = scene

    def apply(self, sample: SampleLayer) -> None:
        """Show a sample of the open scene; the picture does not depend on earlier samples.

        Raises:
            BackendError: The sample changes what is not shown; the message names it.
        """
        scene = self._require_open()
        self._sample = None
        if sample.scene is not scene:
            raise BackendError(
                f"backend newton: a sample of {sample.scene.info.scene_id} was given, the scene "
                f"open is {scene.info.scene_id}."
            )
        scene.show(sample)
        NEWTON_HONOURED.require(scene, sample)
        if self._model is not None:
            self._model.update()
        self._sample = sample

    def render(self, camera: str, size: Size, passes: Set[Pass]) -> Buffers:
        """Render the sample shown last from a camera of the scene, by its name.

        Raises:
            BackendError: A pass is not among `NEWTON_PASSES`, no sample is shown, or the size is
                impossible.
            SceneError: The scene has no such camera.
        """
        refused = sorted(set(passes) - NEWTON_PASSES)
        if refused:
            raise BackendError(
                f"backend newton: no pass {', '.join(refused)}. "
                f"Known: {', '.join(sorted(NEWTON_PASSES))}."
            )
        scene = self._require_open()
        if self._sample is None:
            raise BackendError(f"{scene.info.scene_id}: no sample is shown; apply one first.")
        width, height = size
        if width < 1 or height < 1 or width * height * self._samples > _PIXELS_MAX:
            raise BackendError(
                f"backend newton: a picture of {width} x {height} pixels with {self._samples} "
                f"samples each; allowed are 1 x 1 pixel to {_PIXELS_MAX} samples in all."
            )
        scene.show(self._sample)
        view = pinhole(scene, camera, width, height)
        seen = self._buffers(view, passes) if passes - {"rgb"} else Buffers()
        rgb = self._picture(scene, view) if "rgb" in passes else None
        return Buffers(
            rgb=rgb,
            part=seen.part,
            depth=seen.depth,
            distance=seen.distance,
            normal=seen.normal,
            albedo=seen.albedo,
            position=seen.position,
        )

    def describe(self) -> dict[str, str]:
        """State versions, device and settings that decide the bytes."""
        return {
            "newton": version("newton"),
            "warp": version("warp-lang"),
            "device": "cpu",
            "processor": platform.machine(),
            "cull_back_faces": str(self._cull).lower(),
            "samples": str(self._samples),
        }

    def close(self) -> None:
        """Forget the open scene."""
        self._scene = self._model = self._sample = None

    def _require_open(self) -> Scene:
        if self._scene is None:
            raise BackendError("backend newton: no scene is open.")
        return self._scene

    def _hits(self, view: Pinhole) -> Hits:
        if self._model is not None:
            return first_hits(self._model, view, cull=self._cull)
        count = view.width * view.height
        nothing = np.zeros((count, 3), np.float32)
        return Hits(np.zeros(count, np.int32), np.full(count, np.inf), nothing, nothing)

    def _buffers(self, view: Pinhole, passes: Set[Pass]) -> Buffers:
        hits = self._hits(view)
        shape = (view.height, view.width)
        depth, rays = hits.depth.reshape(shape), ray_directions(view)
        normal = albedo = np.zeros((*shape, 3), np.float32)
        if passes & {"normal", "albedo"} and self._model is not None:
            normal, albedo = (
                found.reshape(*shape, 3)
                for found in self._model.surfaces(hits.origins, hits.directions)
            )
        lengths = np.linalg.norm(rays, axis=2)
        return Buffers(
            part=hits.part.reshape(shape) if "part" in passes else None,
            depth=depth.astype(np.float32) if "depth" in passes else None,
            distance=(depth * lengths).astype(np.float32) if "distance" in passes else None,
            normal=normal if "normal" in passes else None,
            albedo=albedo if "albedo" in passes else None,
            position=hit_points(depth, rays, view) if "position" in passes else None,
        )

    def _picture(self, scene: Scene, view: Pinhole) -> NDArray[np.uint8]:
        side = math.isqrt(self._samples)
        fine = Pinhole(
            np.diag([side, side, 1.0]) @ view.K,
            view.T_world_camera,
            view.width * side,
            view.height * side,
            view.near,
            view.far,
        )
        found = self._buffers(fine, {"part", "position", "normal", "albedo"})
        shown = mujoco_shading(scene, found, fine)
        shown = shown.reshape(view.height, side, view.width, side, 3).mean(axis=(1, 3))
        return (shown * 255.0 + 0.5).astype(np.uint8)
