"""MuJoCo's shading formula, evaluated on anybody's geometry.

MuJoCo's classic renderer lights a surface as OpenGL's fixed pipeline does, in display values and
without gamma: ambient, diffuse and Blinn-Phong terms of the headlight and of every light are added,
clipped to 1 and multiplied by the texture. Boxes are lit at the corners of their quads, meshes at
their vertices. Looks come from the records that all backends read; what the formula makes of them
is computed here alone, as the audit holds pictures against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datagen.backends import Buffers
from datagen.shading.boxes import BoxGrid, box_sizes
from datagen.shading.lights import DisplayLight, Points, display_lights
from datagen.shading.meshes import MeshHits, lit_at_vertices
from scenes import Pinhole, Scene, srgb_encode
from scenes.stage.looks import read_looks

Floats = NDArray[np.float64]
LUMA = np.array([0.2126, 0.7152, 0.0722])


@dataclass(frozen=True)
class Shading:
    """What MuJoCo's lights do at every pixel."""

    lights: tuple[DisplayLight, ...]
    terms: NDArray[np.float32]
    """Light that each adds, or would add, before clipping and texture, [lights, h, w, 3]."""
    shine: NDArray[np.float32]
    """Highlights of all lights that shine, before clipping and texture, [h, w, 3]."""
    emitted: NDArray[np.float32]
    """Light of the surface's own, [h, w, 3]."""
    lit: NDArray[np.float32]
    """Sum of all, clipped to [0, 1] where it is computed, [h, w, 3]."""
    base: NDArray[np.float32]
    """Display colour without texture, [h, w, 3]."""
    seen: NDArray[np.bool_]
    """Pixels that show something, [h, w]."""

    def texture(self, albedo: NDArray[np.float32]) -> NDArray[np.float32]:
        """Display texture, [h, w, 3], of a linear diffuse colour: what the base does not say."""
        display = srgb_encode(albedo.astype(np.float64))
        texture = np.divide(display, self.base, out=np.zeros_like(display), where=self.base > 0)
        return np.where(self.base > 0, texture, 1.0).astype(np.float32)

    def picture(self, albedo: NDArray[np.float32]) -> NDArray[np.float32]:
        """Display picture in [0, 1], [h, w, 3], with a linear diffuse colour of each pixel."""
        shown = np.clip(self.lit * self.texture(albedo), 0.0, 1.0)
        return np.where(self.seen[..., None], shown, 0.0).astype(np.float32)


def shade(scene: Scene, buffers: Buffers, view: Pinhole, *, both_sides: bool = False) -> Shading:
    """Light every pixel of a view of the sample shown.

    Args:
        scene: The scene, with the sample over it.
        buffers: Passes part, position and normal of the view; with `triangle` too, meshes are lit
            at their vertices.
        view: The camera.
        both_sides: Light surfaces on the side that is seen, pixel by pixel, and not where the pass
            `shadowed` has something before a light that casts shadows. MuJoCo lights the side of
            the normals alone, which a path tracer does not.
    """
    part, normal, position = buffers.part, buffers.normal, buffers.position
    if part is None or normal is None or position is None:
        raise ValueError("MuJoCo's shading needs the passes part, position and normal")
    lights = display_lights(scene, view.T_world_camera)
    seen = part > 0
    pixels = _Pixels(
        part[seen],
        position[seen].astype(np.float64),
        normal[seen].astype(np.float64),
        None if both_sides or buffers.triangle is None else buffers.triangle[seen],
        buffers.shadowed[seen] if both_sides and buffers.shadowed is not None else None,
    )
    surfaces = _Surfaces.read(scene)
    boxes = {} if both_sides else box_sizes(scene)
    terms, shine, lit = _lit(scene, surfaces, lights, pixels, view, boxes)
    return Shading(
        lights,
        np.stack([_spread(terms[:, k], seen) for k in range(len(lights))]),
        _spread(shine, seen),
        _spread(surfaces.emitted[pixels.part], seen),
        _spread(lit, seen),
        _spread(surfaces.base[pixels.part], seen),
        seen,
    )


@dataclass(frozen=True)
class _Pixels:
    """What is lit."""

    part: NDArray[np.int32]
    position: Floats
    normal: Floats
    triangle: NDArray[np.int32] | None
    shadowed: NDArray[np.bool_] | None
    """Lights of the scene that something stands before, [n, lights]."""


def _lit(
    scene: Scene,
    surfaces: _Surfaces,
    lights: tuple[DisplayLight, ...],
    pixels: _Pixels,
    view: Pinhole,
    boxes: Mapping[int, Floats],
) -> tuple[Floats, Floats, Floats]:
    """Terms [n, lights, 3], highlights [n, 3] and the clipped sum [n, 3] of every pixel."""
    terms = np.zeros((len(pixels.part), len(lights), 3))
    shine, lit = (np.zeros((len(pixels.part), 3)) for _ in range(2))
    left = np.ones(len(pixels.part), dtype=np.bool_)
    normals = pixels.normal.copy()
    whole = [*boxes] if pixels.triangle is None else [part.part for part in scene.info.parts]
    numbers = [number for number in np.unique(pixels.part).tolist() if number in whole]
    paths = {number: scene.info.parts[number - 1].path for number in numbers}
    poses = scene.world_transforms(paths.values())
    for number, pose in zip(numbers, poses, strict=True):
        mine = pixels.part == number
        points = pixels.position[mine]
        if number in boxes:
            mesh = BoxGrid(boxes[number], pose)
            places, facing = mesh.corners()
        else:
            assert pixels.triangle is not None
            triangles = scene.triangles(paths[number])
            mesh = MeshHits.of(triangles, pose, pixels.triangle[mine], points)
            if not lit_at_vertices(triangles):
                normals[mine] = mesh.interpolate(mesh.normals)
                continue
            places, facing = mesh.points, mesh.normals
        found = surfaces.light(lights, np.full(len(places), number), places, facing, view)
        values = np.concatenate([each.reshape(len(places), -1) for each in found], axis=1)
        if isinstance(mesh, BoxGrid):
            values = mesh.interpolate(values, points, normals[mine])
        else:
            values = mesh.interpolate(values)
        terms[mine] = values[:, :-6].reshape(-1, len(lights), 3)
        shine[mine], lit[mine] = values[:, -6:-3], values[:, -3:]
        left &= ~mine
    shadowed = None if pixels.shadowed is None else pixels.shadowed[left]
    terms[left], shine[left], lit[left] = surfaces.light(
        lights, pixels.part[left], pixels.position[left], normals[left], view, shadowed
    )
    return terms, shine, lit


def mujoco_shading(
    scene: Scene, buffers: Buffers, view: Pinhole, *, both_sides: bool = False
) -> NDArray[np.float32]:
    """Display picture in [0, 1], [h, w, 3], of the sample shown.

    Args:
        scene: The scene, with the sample over it.
        buffers: Passes part, position, normal and albedo of the view.
        view: The camera.
        both_sides: Light surfaces on the side that is seen.
    """
    if buffers.albedo is None:
        raise ValueError("mujoco_shading needs the passes part, position, normal and albedo")
    return shade(scene, buffers, view, both_sides=both_sides).picture(buffers.albedo)


def luminance(display: NDArray[np.floating] | NDArray[np.uint8]) -> float:
    """Mean luma (Rec. 709 weights) of a display picture in [0, 1] or uint8, as 0 to 1."""
    scale = 255.0 if display.dtype == np.uint8 else 1.0
    return float((display.reshape(-1, 3).astype(np.float64) @ LUMA).mean() / scale)


@dataclass(frozen=True)
class _Surfaces:
    """Display values of materials by part number; row 0 is empty."""

    base: Floats
    emitted: Floats
    specular: Floats
    exponent: Floats

    @classmethod
    def read(cls, scene: Scene) -> _Surfaces:
        count = len(scene.info.parts) + 1
        found = cls(np.zeros((count, 3)), np.zeros((count, 3)), np.zeros(count), np.zeros(count))
        looks = read_looks(scene, [part.path for part in scene.info.parts])
        for part, look in zip(scene.info.parts, looks, strict=True):
            row = part.part
            # The stage holds emission times linear colour; MuJoCo adds it to the display colour.
            share = float((look.emission / np.maximum(look.tint, 1e-9)).max())
            found.base[row] = srgb_encode(look.tint)
            found.emitted[row] = share * found.base[row]
            found.specular[row] = look.specular
            found.exponent[row] = 128.0 * look.shininess
        return found

    def light(
        self,
        lights: tuple[DisplayLight, ...],
        numbers: NDArray[np.integer],
        points: Floats,
        normals: Floats,
        view: Pinhole,
        shadowed: NDArray[np.bool_] | None = None,
    ) -> tuple[Floats, Floats, Floats]:
        """Term of each light [n, lights, 3], highlights [n, 3] and all, clipped, [n, 3]."""
        viewer = view.T_world_camera[:3, 3] - points
        viewer /= np.maximum(np.linalg.norm(viewer, axis=1, keepdims=True), 1e-12)
        places = Points(
            points,
            normals,
            viewer,
            self.base[numbers],
            self.specular[numbers],
            self.exponent[numbers],
        )
        terms = np.stack([light.lit(places) for light in lights], axis=1)
        shines = [light.shine(places) for light in lights]
        # The headlight comes first and casts none.
        for index in range(0 if shadowed is None else shadowed.shape[1]):
            light = lights[index + 1]
            if shadowed is not None and light.casts_shadow:
                dark = shadowed[:, index]
                terms[dark, index + 1] = light.in_shadow(places)[dark]
                shines[index + 1][dark] = 0.0
        shining = [light.shines for light in lights]
        shine = np.sum([s for s, on in zip(shines, shining, strict=True) if on], axis=0)
        lit = terms[:, shining].sum(axis=1) + self.emitted[numbers]
        return terms, np.broadcast_to(shine, lit.shape), np.clip(lit, 0.0, 1.0)


def _spread(values: Floats, seen: NDArray[np.bool_]) -> NDArray[np.float32]:
    picture = np.zeros((*seen.shape, values.shape[1]), dtype=np.float32)
    picture[seen] = values
    return picture
