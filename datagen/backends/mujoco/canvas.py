"""Drawing of MuJoCo's abstract scenes into arrays."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from datagen.backends.base import Size
from datagen.backends.errors import BackendError
from datagen.backends.mujoco.gl import GlContext

_FONT_SCALE = 150
_LINEAR = 1
"""`mjCOLORSPACE_LINEAR`: texture bytes are shown as they are."""


class Canvas:
    """MuJoCo's renderer for one model: its textures and meshes, and a framebuffer that grows.

    Args:
        model: The compiled model; it is left as it is.
        display: Show the bytes of all textures as they are, also of those whose file is marked
            sRGB, which MuJoCo would linearise and never encode again.
        samples: Samples per pixel of colour pictures, None for what the model says.
    """

    def __init__(self, model: mujoco.MjModel, *, display: bool, samples: int | None) -> None:
        self._model = model
        self._display = display
        self._wanted = int(model.vis.quality.offsamples) if samples is None else samples
        self._gl: GlContext | None = None
        self._context: mujoco.MjrContext | None = None

    @property
    def samples(self) -> int:
        """Samples per pixel that the driver grants."""
        return int(self._fit(Size(1, 1)).offSamples)

    def color(self, view: mujoco.MjvScene, size: Size) -> NDArray[np.uint8]:
        """Picture of an abstract scene, [h, w, 3], row 0 at the top."""
        context = self._fit(size)
        rgb = np.empty((size.height, size.width, 3), np.uint8)
        self._draw(context, view, rgb, None)
        return rgb[::-1]

    def segments(
        self, view: mujoco.MjvScene, size: Size
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Segment number and depth buffer of each pixel's centre, [h, w], row 0 at the top.

        MuJoCo turns multisampling off while it draws segments, and draws transparent geoms like
        all others, so both arrays come from the first surface hit. A segment is `segid + 1`, 0
        where nothing is; the depth buffer goes from 1 (near plane) to 0 (far plane).
        """
        context = self._fit(size)
        rgb = np.empty((size.height, size.width, 3), np.uint8)
        depth = np.empty((size.height, size.width), np.float32)
        flags = view.flags.copy()
        view.flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = 1
        view.flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 1
        try:
            self._draw(context, view, rgb, depth)
        finally:
            view.flags[:] = flags
        segment = rgb[::-1].astype(np.int32) @ np.array([1, 1 << 8, 1 << 16], np.int32)
        return segment, depth[::-1]

    def close(self) -> None:
        """Free textures, meshes, framebuffer and context."""
        if self._gl is not None:
            if self._context is not None:
                with self._gl:
                    self._context.free()
            self._gl.free()
        self._gl = None
        self._context = None

    def _draw(
        self,
        context: mujoco.MjrContext,
        view: mujoco.MjvScene,
        rgb: NDArray[np.uint8],
        depth: NDArray[np.float32] | None,
    ) -> None:
        height, width, _ = rgb.shape
        rectangle = mujoco.MjrRect(0, 0, width, height)
        assert self._gl is not None
        with self._gl:
            mujoco.mjr_render(rectangle, view, context)
            mujoco.mjr_readPixels(rgb, depth, rectangle, context)

    def _fit(self, size: Size) -> mujoco.MjrContext:
        """Drawing context whose framebuffer holds a picture of this size."""
        if size.width < 1 or size.height < 1:
            raise BackendError(
                f"backend mujoco: no picture of {size.width} x {size.height} pixels; "
                "width and height are at least 1."
            )
        if self._gl is None:
            self._gl = GlContext()
        context = self._context
        if (
            context is not None
            and context.offWidth >= size.width
            and context.offHeight >= size.height
        ):
            return context
        try:
            with self._gl:
                if context is None:
                    context = self._make(size)
                else:
                    width = max(size.width, context.offWidth)
                    height = max(size.height, context.offHeight)
                    mujoco.mjr_resizeOffscreen(width, height, context)
                mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, context)
        except mujoco.FatalError as error:
            raise BackendError(
                f"backend mujoco: no framebuffer of {size.width} x {size.height} pixels on "
                f"{self._gl.renderer}: {error}."
            ) from error
        self._context = context
        return context

    def _make(self, size: Size) -> mujoco.MjrContext:
        model = self._model
        colorspace = model.tex_colorspace.copy()
        quality, screen = model.vis.quality, model.vis.global_
        before = (quality.offsamples, screen.offwidth, screen.offheight)
        quality.offsamples = self._wanted
        screen.offwidth, screen.offheight = size
        if self._display:
            model.tex_colorspace[:] = _LINEAR
        try:
            context = mujoco.MjrContext(model, _FONT_SCALE)
        finally:
            model.tex_colorspace[:] = colorspace
            quality.offsamples, screen.offwidth, screen.offheight = before
        # Reversed depth keeps the buffer's full float precision far from the near plane.
        context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        return context
