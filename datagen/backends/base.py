"""What every renderer offers, and the arrays it gives back."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scenes import SampleLayer, Scene

Pass = Literal[
    "rgb",
    "hdr",
    "part",
    "depth",
    "distance",
    "normal",
    "albedo",
    "position",
    "triangle",
    "shadowed",
    "st",
]


class Size(NamedTuple):
    """Picture size in pixels."""

    width: int
    height: int


@dataclass(frozen=True)
class Buffers:
    """Arrays of one view, row 0 at the top; a pass that was not asked for is None.

    All geometric passes come from one ray through each pixel's centre.
    """

    rgb: NDArray[np.uint8] | None = None
    """Display picture, sRGB, [h, w, 3]."""
    hdr: NDArray[np.float32] | None = None
    """Scene-linear radiance, [h, w, 3]."""
    part: NDArray[np.int32] | None = None
    """Part number of the first hit, 0 = nothing, [h, w]."""
    depth: NDArray[np.float32] | None = None
    """Distance to the image plane [m], inf = nothing, [h, w]."""
    distance: NDArray[np.float32] | None = None
    """Distance to the camera centre [m], inf = nothing, [h, w]."""
    normal: NDArray[np.float32] | None = None
    """World shading normal on the side that the camera sees, 0 = nothing, [h, w, 3]."""
    albedo: NDArray[np.float32] | None = None
    """Diffuse reflectance, linear, 0 = nothing, [h, w, 3]."""
    position: NDArray[np.float32] | None = None
    """World point of the first hit [m], inf = nothing, [h, w, 3]."""
    triangle: NDArray[np.int32] | None = None
    """Triangle of the part's mesh that is hit, -1 = nothing, [h, w]."""
    shadowed: NDArray[np.bool_] | None = None
    """Lights, in the order of the scene's table, whose middle the first hit does not see; False
    where nothing is hit, [h, w, lights]."""
    st: NDArray[np.float32] | None = None
    """Texture coordinates of the first hit, v up, and their change to the next column and to the
    next row on the plane of the same triangle; 0 = nothing, and without meaning on a part that has
    no texture coordinates, [h, w, 3, 2]."""


class Backend(Protocol):
    """A renderer. It never draws random numbers and computes no label."""

    name: str

    def open(self, scene: Scene) -> None:
        """Load a scene: the heavy part."""
        ...

    def apply(self, sample: SampleLayer) -> None:
        """Show a sample of the open scene; the picture does not depend on earlier samples."""
        ...

    def render(self, camera: str, size: Size, passes: Set[Pass]) -> Buffers:
        """Render the sample shown last from a camera of the scene, by its name."""
        ...

    def describe(self) -> dict[str, str]:
        """State versions, device and settings that decide the bytes."""
        ...

    def close(self) -> None:
        """Free what `open` took."""
        ...
