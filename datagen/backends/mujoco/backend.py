"""MuJoCo's own renderer: the compiled model of a scene, posed and coloured by its stage."""

from __future__ import annotations

from collections.abc import Set
from typing import Literal

import mujoco
import numpy as np
from numpy.typing import NDArray
from pxr import UsdGeom

from datagen.backends.base import Buffers, Pass, Size
from datagen.backends.errors import BackendError
from datagen.backends.mujoco.canvas import Canvas
from datagen.backends.mujoco.gl import choose_gl
from datagen.backends.mujoco.lens import hit_points, planar_depth, ray_directions, set_frustum
from datagen.backends.mujoco.values import ModelValues
from scenes import Pinhole, SampleLayer, Scene, pinhole
from scenes.convert.compiled import pose_data
from scenes.stage.colors import srgb_decode

MUJOCO_PASSES: frozenset[Pass] = frozenset(
    {"rgb", "part", "depth", "distance", "albedo", "position"}
)
"""Passes that MuJoCo's renderer gives: it has no radiance before clipping and no normals."""

_GEOMETRIC: frozenset[Pass] = frozenset({"part", "depth", "distance", "position"})
_SRGB_TEXTURE = 2
"""`mjCOLORSPACE_SRGB`: the texture's file is marked sRGB."""
_LINEAR_OF_BYTE = srgb_decode(np.arange(256) / 255.0).astype(np.float32)


class MujocoBackend:
    """MuJoCo's classic renderer behind the protocol.

    World poses of the stage go straight into the model's data, values that a sample changes into
    the model's arrays (`MUJOCO_HONOURED` lists them); what the sample leaves alone keeps the
    model's own value, so an unchanged scene gives the bytes of plain MuJoCo. Parts are drawn and
    nothing else: no collision geoms, sites or tendons. Back faces are culled, as MuJoCo does.

    All geometric passes come from one drawing of segments, in which transparent parts count as
    surfaces. Depth in metres follows from the near and far distance of the camera prim, not from
    the model's extent; the buffer is a reversed 32-bit float, so its relative error is about 1e-6
    at any distance.

    Args:
        colorspace: `native` draws as MuJoCo does, which darkens textures whose file is marked
            sRGB; `display` shows the bytes of every texture as they are.
        samples: Samples per pixel of colour pictures; None for what the model says. Geometric
            passes have one, in the pixel's centre.

    Raises:
        BackendError: An option has a value that is not allowed.
    """

    name = "mujoco"

    def __init__(
        self,
        *,
        colorspace: Literal["native", "display"] = "native",
        samples: int | None = None,
    ) -> None:
        if colorspace not in ("native", "display"):
            raise BackendError(
                f"backend mujoco: colorspace {colorspace!r} is not known. Known: native, display."
            )
        if samples is not None and not 0 <= samples <= 64:
            raise BackendError(f"backend mujoco: samples = {samples}; allowed are 0 to 64.")
        self._colorspace = colorspace
        self._samples = samples
        self._opened: _Opened | None = None

    def open(self, scene: Scene) -> None:
        """Load the compiled model; an OpenGL context is made with the first picture.

        Raises:
            SceneError: The scene has no model.
        """
        self.close()
        self._opened = _Opened(scene, self._colorspace == "display", self._samples)

    def apply(self, sample: SampleLayer) -> None:
        """Show a sample of the open scene; the picture does not depend on earlier samples.

        Raises:
            BackendError: The sample changes what MuJoCo cannot show; the message names it.
        """
        opened = self._require_open()
        if sample.scene is not opened.scene:
            raise BackendError(
                f"backend mujoco: a sample of {sample.scene.info.scene_id} was given, the scene "
                f"open is {opened.scene.info.scene_id}."
            )
        opened.apply(sample)

    def render(self, camera: str, size: Size, passes: Set[Pass]) -> Buffers:
        """Render the sample shown last from a camera of the scene, by its name.

        Raises:
            BackendError: A pass is not among `MUJOCO_PASSES`, no sample is shown, the camera is
                orthographic, or the driver has no framebuffer of this size.
            SceneError: The scene has no such camera.
        """
        refused = sorted(set(passes) - MUJOCO_PASSES)
        if refused:
            raise BackendError(
                f"backend mujoco: no pass {', '.join(refused)}. "
                f"Known: {', '.join(sorted(MUJOCO_PASSES))}."
            )
        return self._require_open().render(camera, Size(*size), passes)

    def describe(self) -> dict[str, str]:
        """State versions, device and settings that decide the bytes.

        `msaa` is what the driver grants while a scene is open, else the setting.
        """
        gl, renderer = choose_gl()
        wanted = "model" if self._samples is None else str(self._samples)
        return {
            "mujoco": mujoco.__version__,
            "gl": gl,
            "gl_renderer": renderer,
            "msaa": wanted if self._opened is None else str(self._opened.samples),
            "colorspace": self._colorspace,
        }

    def close(self) -> None:
        """Free the model and everything in OpenGL."""
        if self._opened is not None:
            self._opened.close()
        self._opened = None

    def _require_open(self) -> _Opened:
        if self._opened is None:
            raise BackendError("backend mujoco: no scene is open.")
        return self._opened


class _Opened:
    """An open scene and all that MuJoCo holds for it."""

    def __init__(self, scene: Scene, display: bool, samples: int | None) -> None:
        self.scene = scene
        self._model = scene.load_model()
        self._data = pose_data(self._model)
        self._values = ModelValues(scene, self._model, self._data)
        self._view = mujoco.MjvScene(self._model, self._model.ngeom + 100)
        self._option = mujoco.MjvOption()
        for hidden in ("sitegroup", "jointgroup", "tendongroup", "actuatorgroup"):
            getattr(self._option, hidden)[:] = 0
        # Nothing but geoms with their textures: no rangefinder's ray, no slider, no fluid.
        self._option.flags[:] = 0
        for wanted in (mujoco.mjtVisFlag.mjVIS_TEXTURE, mujoco.mjtVisFlag.mjVIS_STATIC):
            self._option.flags[wanted] = 1
        self._option.flexgroup[:] = 0
        self._option.skingroup[:] = 0
        self._option.geomgroup[:] = (1, 0, 0, 0, 0, 0)
        self._part_of_geom = np.zeros(self._model.ngeom, np.int32)
        for part in scene.info.parts:
            self._part_of_geom[part.geom_id] = part.part
        self._camera_ids = {camera.name: camera.camera_id for camera in scene.info.cameras}
        self._camera_prims = {camera.name: camera.path for camera in scene.info.cameras}
        self._canvas = Canvas(self._model, display=display, samples=samples)
        # Albedo needs texture bytes as they are, which a native canvas may not give.
        marked = bool(np.any(self._model.tex_colorspace == _SRGB_TEXTURE))
        self._unlit_canvas = (
            Canvas(self._model, display=True, samples=samples)
            if marked and not display
            else self._canvas
        )
        self._sample: SampleLayer | None = None

    @property
    def samples(self) -> int:
        return self._canvas.samples

    def apply(self, sample: SampleLayer) -> None:
        self._sample = None
        self.scene.show(sample)
        self._values.apply(sample)
        self._sample = sample

    def render(self, camera: str, size: Size, passes: Set[Pass]) -> Buffers:
        if self._sample is None:
            raise BackendError(f"{self.scene.info.scene_id}: no sample is shown; apply one first.")
        self.scene.show(self._sample)
        lens = pinhole(self.scene, camera, *size)
        self._aim(camera, lens)
        rgb = self._canvas.color(self._view, size) if "rgb" in passes else None
        part = depth = distance = position = None
        if passes & _GEOMETRIC:
            part, depth = self._first_hits(size)
            rays = ray_directions(lens)
            if "distance" in passes:
                distance = (depth * np.linalg.norm(rays, axis=2)).astype(np.float32)
            if "position" in passes:
                position = hit_points(depth, rays, lens)
        albedo = self._albedo(camera, lens, size) if "albedo" in passes else None
        return Buffers(
            rgb=None if rgb is None else np.ascontiguousarray(rgb),
            part=part if "part" in passes else None,
            depth=depth.astype(np.float32) if depth is not None and "depth" in passes else None,
            distance=distance,
            albedo=albedo,
            position=position,
        )

    def close(self) -> None:
        self._canvas.close()
        self._unlit_canvas.close()

    def _aim(self, camera: str, lens: Pinhole) -> None:
        """Fill the abstract scene and give its camera the frustum of the camera prim."""
        view, fixed = self._view, mujoco.MjvCamera()
        fixed.type = mujoco.mjtCamera.mjCAMERA_FIXED
        fixed.fixedcamid = self._camera_ids[camera]
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(self._model, self._data, self._option, None, fixed, everything, view)
        if view.status:
            raise BackendError(
                f"{self.scene.info.scene_id}: MuJoCo draws more than {view.maxgeom} geoms."
            )
        if view.camera[0].orthographic:
            raise BackendError(
                f"{self.scene.info.scene_id}: camera {camera} is orthographic; only perspective "
                "cameras have the intrinsics that a row states."
            )
        prim = UsdGeom.Camera(self.scene.stage.GetPrimAtPath(self._camera_prims[camera]))
        near, far = (float(z) for z in prim.GetClippingRangeAttr().Get())
        if not 0.0 < near < far:
            raise BackendError(
                f"{self.scene.info.scene_id}: camera {camera}: clipping range {near} to {far} m; "
                "0 < near < far is needed."
            )
        for eye in view.camera:
            set_frustum(eye, lens, near, far)

    def _first_hits(self, size: Size) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Part number and planar depth [m] of each pixel's centre, [h, w]."""
        segment, buffer = self._canvas.segments(self._view, size)
        parts = np.zeros(self._view.ngeom + 1, np.int32)
        for geom in self._view.geoms[: self._view.ngeom]:
            parts[geom.segid + 1] = self._part_of_geom[geom.objid]
        part = parts[segment]
        eye = self._view.camera[0]
        depth = planar_depth(buffer, eye.frustum_near, eye.frustum_far)
        depth[part == 0] = np.inf
        return part, depth

    def _albedo(self, camera: str, lens: Pinhole, size: Size) -> NDArray[np.float32]:
        flags = self._view.flags.copy()
        with self._values.unlit():
            self._aim(camera, lens)
        for effect in ("REFLECTION", "SKYBOX", "SHADOW", "FOG", "HAZE"):
            self._view.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{effect}")] = 0
        try:
            return _LINEAR_OF_BYTE[self._unlit_canvas.color(self._view, size)]
        finally:
            self._view.flags[:] = flags
