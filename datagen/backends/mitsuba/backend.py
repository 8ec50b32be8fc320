"""Path tracing with Mitsuba 3 on CPU or GPU."""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable, Set
from importlib.metadata import version
from types import ModuleType
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from datagen.backends.base import Buffers, Pass, Size
from datagen.backends.denoise import Denoiser
from datagen.backends.develop import Centres, Traced, develop
from datagen.backends.errors import BackendError
from datagen.backends.mitsuba.culled import first_front_faces
from datagen.backends.mitsuba.hits import Hits, facing, toward_viewer, upward
from datagen.backends.mitsuba.layers import seen_through
from datagen.backends.mitsuba.lights import COPIES
from datagen.backends.mitsuba.scene import OpenedScene
from datagen.backends.mitsuba.sensor import pinhole_sensor
from datagen.backends.mitsuba.shadows import shadowed
from datagen.backends.mitsuba.values import MITSUBA_HONOURED
from datagen.backends.mitsuba.variant import Variant, load_mitsuba
from datagen.stopwatch import Stopwatch
from scenes import Pinhole, SampleLayer, Scene, pinhole
from scenes.stage.lights import read_surroundings

PASSES: frozenset[Pass] = frozenset(get_args(Pass))
_LOOK: frozenset[Pass] = frozenset({"rgb", "hdr"})


class MitsubaBackend:
    """Shows a scene by path tracing.

    Args:
        spp: Samples per pixel, a power of two: others are rounded by the sampler.
        denoise: Denoise the picture.
        max_depth: Longest light path.
        variant: `auto`, `llvm`, `scalar` or `cuda`.
        threads: Threads; None takes all cores.
        soft_copies: Points that stand for each light's extent; 1 gives hard shadows.
        cull_back_faces: Look through back faces in the geometric passes, as MuJoCo does.
        watch: Where the time of each pass is added up.
    """

    name = "mitsuba"

    def __init__(
        self,
        *,
        spp: int = 16,
        denoise: bool = True,
        max_depth: int = 8,
        variant: Variant = "auto",
        threads: int | None = None,
        soft_copies: int = COPIES,
        cull_back_faces: bool = False,
        watch: Stopwatch | None = None,
    ) -> None:
        self._mi: ModuleType = load_mitsuba(variant, threads)
        self._spp = spp
        self._settings = {
            "spp": str(spp),
            "max_depth": str(max_depth),
            "denoise": str(denoise),
            "soft_copies": str(soft_copies),
            "cull_back_faces": str(cull_back_faces),
        }
        self._watch = watch or Stopwatch()
        self._soft_copies = soft_copies
        self._cull = cull_back_faces
        self._denoiser = Denoiser(threads) if denoise else None
        self._jit = not self._mi.variant().startswith("scalar")
        if cull_back_faces and not self._jit:
            raise BackendError("mitsuba: cull_back_faces needs the llvm or cuda variant.")
        self._path = self._mi.load_dict(
            {"type": "path", "max_depth": max_depth, "hide_emitters": True}
        )
        aovs = "albedo:albedo,normal:sh_normal"
        self._guides = self._mi.load_dict({"type": "aov", "aovs": aovs})
        aovs = (
            "shape:shape_index,position:position,normal:sh_normal,face:geo_normal,albedo:albedo,"
            "triangle:prim_index"
        )
        self._geometry = self._mi.load_dict({"type": "aov", "aovs": aovs})
        aovs = "uv:uv,to_column:duv_dx,to_row:duv_dy"
        self._coordinates = self._mi.load_dict({"type": "aov", "aovs": aovs})
        self._opened: OpenedScene | None = None

    def open(self, scene: Scene) -> None:
        """Load a scene."""
        self.close()
        try:
            self._opened = OpenedScene(self._mi, scene, self._soft_copies)
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            raise BackendError(
                f"{scene.info.scene_id}: Mitsuba cannot show this scene: {reason}"
            ) from error

    def apply(self, sample: SampleLayer) -> None:
        """Show a sample of the open scene.

        Raises:
            BackendError: The sample changes what the path tracer does not show.
        """
        opened = self._scene()
        MITSUBA_HONOURED.require(opened.scene, sample)
        opened.scene.show(sample)
        opened.update(sample.noise_seed)

    def render(self, camera: str, size: Size, passes: Set[Pass]) -> Buffers:
        """Render the sample shown last."""
        opened = self._scene()
        unknown = passes - PASSES
        if unknown:
            raise BackendError(f"mitsuba: cannot give {', '.join(sorted(unknown))}.")
        view = pinhole(opened.scene, camera, *size)
        found: dict[str, NDArray[Any]] = {}
        # The picture shows what is hit first, whatever the other passes look through.
        hits = functools.cache(lambda: self._hits(opened, view))
        if passes & _LOOK:
            found.update(self._look(opened, view, hits))
        if passes - _LOOK:
            found.update(self._front_hits(opened, view) if self._cull else hits())
            if "st" in passes - found.keys():
                st = self._texture_coordinates(opened, view)
                found["st"] = np.where(found["part"][..., None, None] > 0, st, 0.0)
            if "shadowed" in passes:
                places = found["position"], found["normal"]
                found["shadowed"] = shadowed(self._mi, opened.mitsuba_scene, opened.scene, *places)
        return Buffers(**{name: found[name] for name in passes})

    def describe(self) -> dict[str, str]:
        """State versions, variant, processor and settings."""
        return {
            "mitsuba": version("mitsuba"),
            "drjit": version("drjit"),
            "pyoidn": version("pyoidn"),
            "variant": self._mi.variant(),
            **self._settings,
            "processor": platform.machine(),
        }

    def close(self) -> None:
        """Forget the open scene."""
        self._opened = None

    def _scene(self) -> OpenedScene:
        if self._opened is None:
            raise BackendError("mitsuba: no scene is open.")
        return self._opened

    def _look(
        self, opened: OpenedScene, view: Pinhole, hits: Callable[[], dict[str, NDArray[Any]]]
    ) -> dict[str, NDArray[Any]]:
        sensor = pinhole_sensor(self._mi, view, "multijitter", self._spp)
        seed = self._seed(opened.noise_seed)
        with self._watch("path pass"):
            radiance = self._render(opened, self._path, sensor, seed)
        with self._watch("guide pass"):
            guides = self._render(opened, self._guides, sensor, seed)
        light = np.ascontiguousarray(radiance[..., :3])
        albedo = np.ascontiguousarray(guides[..., -6:-3])
        normal = toward_viewer(np.ascontiguousarray(guides[..., -3:]), view)
        surroundings = read_surroundings(opened.scene)
        headlit = centres = None
        if opened.layered:
            axis = view.T_world_camera[:3, 2]
            headlit = seen_through(self._mi, opened.mitsuba_scene, sensor, axis, seed)
        if opened.finish.takes_centres(surroundings.headlight):
            centres = Centres(hits()["part"], hits()["normal"])
        traced = Traced(light, albedo, normal, radiance[..., 3], centres, headlit)
        denoise = None if self._denoiser is None else self._denoised
        return develop(traced, opened.finish, surroundings, view, denoise)._asdict()

    def _denoised(
        self, light: NDArray[np.float32], albedo: NDArray[np.float32], normal: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        assert self._denoiser is not None
        with self._watch("denoise"):
            return self._denoiser(light, albedo, normal)

    def _front_hits(self, opened: OpenedScene, view: Pinhole) -> dict[str, NDArray[Any]]:
        """Geometric passes by MuJoCo's back-face rule."""
        with self._watch("ids pass"):
            found = first_front_faces(self._mi, opened.mitsuba_scene, view, opened.seen_from_behind)
        part = opened.parts_of(found.shape)
        found.st[part == 0] = 0.0
        return _geometry(part, found.hits, view) | {"st": found.st}

    def _hits(self, opened: OpenedScene, view: Pinhole) -> dict[str, NDArray[Any]]:
        """Geometric passes of what is hit first."""
        sensor = pinhole_sensor(self._mi, view, "stratified", 1)
        with self._watch("ids pass"):
            buffer = self._render(opened, self._geometry, sensor, self._seed(0))
        part = opened.parts_of(buffer[..., -14])
        met = Hits(
            position=buffer[..., -13:-10],
            normal=buffer[..., -10:-7],
            face=buffer[..., -7:-4],
            albedo=buffer[..., -4:-1],
            triangle=buffer[..., -1],
        )
        return _geometry(part, met, view)

    def _texture_coordinates(self, opened: OpenedScene, view: Pinhole) -> NDArray[np.float32]:
        sensor = pinhole_sensor(self._mi, view, "stratified", 1)
        buffer = self._render(opened, self._coordinates, sensor, self._seed(0))
        return upward(buffer[..., -6:].reshape(*buffer.shape[:2], 3, 2))

    def _render(self, opened: OpenedScene, integrator: Any, sensor: Any, seed: Any) -> NDArray:
        image = integrator.render(opened.mitsuba_scene, sensor, seed)
        return np.array(image, dtype=np.float32)

    def _seed(self, value: int) -> Any:
        if not self._jit:
            return value
        import drjit

        seed = self._mi.UInt32(value)
        drjit.make_opaque(seed)
        return seed


def _geometry(part: NDArray[np.int32], hits: Hits, view: Pinhole) -> dict[str, NDArray[Any]]:
    nothing = part == 0
    offset = hits.position.astype(np.float64) - view.T_world_camera[:3, 3]
    depth = (offset @ view.T_world_camera[:3, 2]).astype(np.float32)
    distance = np.linalg.norm(offset, axis=2).astype(np.float32)
    depth[nothing] = distance[nothing] = np.inf
    normal = facing(hits.normal, hits.face, offset)
    position, albedo = hits.position.copy(), hits.albedo.copy()
    position[nothing] = np.inf
    normal[nothing] = albedo[nothing] = 0.0
    return {
        "part": part,
        "depth": depth,
        "distance": distance,
        "position": position,
        "normal": normal,
        "albedo": albedo,
        "triangle": np.where(nothing, -1, hits.triangle).astype(np.int32),
    }
