"""What a path tracer gives of a view, developed into radiance and picture: once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from datagen.backends.background import Background
from datagen.backends.headlight import HeadlightShine, white_headlight
from scenes import Pinhole, Scene, srgb_decode, srgb_encode
from scenes.stage.lights import Headlight, Surroundings
from scenes.stage.looks import Look

Floats = NDArray[np.float32]
Denoise = Callable[[Floats, Floats, Floats], Floats]
"""Takes noise out of linear radiance, given albedo and normals, [h, w, 3] each."""


class Centres(NamedTuple):
    """What the rays through the pixels' centres meet."""

    part: NDArray[np.int32]
    """Part numbers, 0 = nothing, [h, w]."""
    normal: Floats
    """World unit normals on the camera's side, [h, w, 3]."""


class Traced(NamedTuple):
    """What was traced of a view, row 0 at the top; means over each pixel's samples."""

    light: Floats
    """Linear radiance of lights, ambient and bounces, black where nothing is hit, [h, w, 3]."""
    albedo: Floats
    """Diffuse reflectance, linear, [h, w, 3]."""
    normal: Floats
    """World normals on the camera's side, [h, w, 3]."""
    coverage: Floats
    """Share of each pixel in which something is hit, [h, w]."""
    centres: Centres | None
    """None where `Finish.takes_centres` is false."""
    headlit: Floats | None = None
    """Linear radiance of a white headlight through transparent parts, [h, w, 3]; None lets it
    shine at full strength on what is hit first."""


class Developed(NamedTuple):
    """A view as it goes into a row."""

    hdr: Floats
    """Linear radiance after exposure, [h, w, 3]."""
    rgb: NDArray[np.uint8]
    """Display picture, sRGB, [h, w, 3]."""


@dataclass(frozen=True)
class Finish:
    """What parts and sky add to a picture and light nothing else; no sample changes it."""

    glow: Floats
    """Emission of each part by its number, as a factor of its diffuse colour, [parts + 1]."""
    shine: HeadlightShine
    """Highlights of the headlight."""
    background: Background | None
    """What is seen where nothing is hit; None for black."""

    @classmethod
    def of(cls, scene: Scene, looks: Sequence[Look], least_roughness: float) -> Self:
        """Finish of a scene.

        Args:
            scene: The scene.
            looks: Look of each part.
            least_roughness: Roughness below which the tracer shows none, 0 to 1.
        """
        # MuJoCo adds emission to the display colour.
        glow = [0.0, *(float(srgb_decode(look.glow)) for look in looks)]
        return cls(
            np.array(glow, dtype=np.float32),
            HeadlightShine(looks, least_roughness),
            Background.of(scene),
        )

    def takes_centres(self, headlight: Headlight) -> bool:
        """Tell whether something is added part by part."""
        return bool(np.any(self.glow) or np.any(_color(headlight)))


def develop(
    traced: Traced,
    finish: Finish,
    surroundings: Surroundings,
    view: Pinhole,
    denoise: Denoise | None,
) -> Developed:
    """Denoise what was traced, add headlight and glow, expose, add the sky, encode.

    Args:
        traced: Arrays of the view.
        finish: What the scene adds.
        surroundings: Headlight and exposure of the sample shown.
        view: The camera.
        denoise: Denoiser of the light; None keeps the noise.
    """
    light, albedo, normal = traced.light, traced.albedo, traced.normal
    if denoise is not None:
        light = denoise(light, albedo, normal)
    headlight = _color(surroundings.headlight)
    lit = traced.headlit
    if lit is None:
        lit = white_headlight(albedo, normal, view.T_world_camera)
    light = light + lit * headlight
    if finish.takes_centres(surroundings.headlight):
        if traced.centres is None:
            raise ValueError("develop needs part and normal of the pixels' centres")
        # Of the pixels' centres: a mean of two surfaces' normals may shine where neither does.
        part = traced.centres.part
        shine = finish.shine.light(part, traced.centres.normal, view)
        light = light + shine[..., None] * headlight
        # No emitter: what glows lights nothing else, as in MuJoCo.
        light = light + albedo * finish.glow[part][..., None]
    hdr = (light * np.float32(surroundings.exposure)).astype(np.float32)
    if finish.background is not None:
        hdr = finish.background.behind(hdr, traced.coverage, view)
    display = np.clip(srgb_encode(hdr), 0.0, 1.0)
    return Developed(hdr, (display * 255.0 + 0.5).astype(np.uint8))


def _color(headlight: Headlight) -> Floats:
    return headlight.linear_diffuse.astype(np.float32)
