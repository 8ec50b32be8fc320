"""A scene inside Mitsuba, brought to each sample in place."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import UsdGeom

from datagen.backends.develop import Finish
from datagen.backends.errors import BackendError
from datagen.backends.mitsuba.geometry import PartMeshes
from datagen.backends.mitsuba.layers import hides_by_texture, lets_light_through
from datagen.backends.mitsuba.lights import (
    BEAM_SHARE,
    ambient_radiance,
    cone_profile,
    emission,
    emitter_descriptions,
    emitter_name,
)
from datagen.backends.mitsuba.materials import ROUGHNESS_FLOOR
from scenes import Scene
from scenes.stage.lights import read_lights, read_surroundings
from scenes.stage.looks import read_looks


class OpenedScene:
    """A scene inside Mitsuba.

    Args:
        mitsuba: The module, in the variant that renders.
        scene: The scene.
        copies: Points that stand for each light's extent.

    Raises:
        BackendError: A texture hides part of a surface, which the scalar variant cannot show.
    """

    def __init__(self, mitsuba: ModuleType, scene: Scene, copies: int) -> None:
        self.scene = scene
        self.noise_seed = 0
        self._mi = mitsuba
        self._copies = copies
        looks = read_looks(scene, [part.path for part in scene.info.parts])
        self._meshes = PartMeshes(mitsuba, scene, looks)
        emitters = emitter_descriptions(mitsuba, read_lights(scene), copies)
        self.mitsuba_scene = mitsuba.load_dict({"type": "scene", **self._meshes.shapes, **emitters})
        self._parameters = mitsuba.traverse(self.mitsuba_scene)
        self._part_of_shape = self._shape_table()
        self.seen_from_behind = frozenset(
            f"part_{part.part}"
            for part in scene.info.parts
            if UsdGeom.Mesh(scene.stage.GetPrimAtPath(part.path)).GetDoubleSidedAttr().Get()
        )
        self._emitted: dict[str, Any] = {}
        self.finish = Finish.of(scene, looks, ROUGHNESS_FLOOR)
        scalar = mitsuba.variant().startswith("scalar")
        # Tracing the headlight through layers is too slow for the scalar variant: there it shines
        # at full strength on what a transparent part shows first.
        self.layered = not scalar and lets_light_through(looks)
        if scalar and hides_by_texture(looks):
            raise BackendError(
                f"{scene.info.scene_id}: the opacity of a part comes from a texture, which needs "
                "mitsuba's llvm or cuda variant."
            )
        self.update(0)

    def update(self, noise_seed: int) -> None:
        """Bring everything to the sample over the stage."""
        self.noise_seed = noise_seed
        self._meshes.move(self._parameters, self.scene)
        lights = read_lights(self.scene)
        for light in lights:
            shown = emission(light, self._copies)
            for copy in range(self._copies):
                name = emitter_name(light.path, copy)
                self._set_emitter(name, shown.poses[copy], shown.power)
                if shown.cone is not None:
                    self._set_cone(name, *shown.cone)
        self._set(
            "ambient.radiance.value", tuple(ambient_radiance(lights, read_surroundings(self.scene)))
        )
        self._parameters.update()

    def parts_of(self, shape: NDArray[np.float32]) -> NDArray[np.int32]:
        """Part number of each pixel of a shape index picture."""
        return self._part_of_shape[np.rint(shape).astype(np.int64)]

    def _set_emitter(self, name: str, pose: Any, power: Any) -> None:
        parameters = self._parameters
        kind = "intensity" if f"{name}.intensity.value" in parameters else "irradiance"
        self._set(f"{name}.{kind}.value", tuple(power))
        key = f"{name}.to_world"
        matrix = tuple(map(tuple, pose))
        if self._emitted.get(key) != matrix:
            self._emitted[key] = matrix
            transform = self._mi.AffineTransform4f(pose)
            self._opaque(transform)
            parameters[key] = transform

    def _set_cone(self, name: str, cutoff: float, exponent: float) -> None:
        key = f"{name}.cutoff_angle"
        known = self._emitted.get(key)
        if known != (cutoff, exponent):
            self._emitted[key] = (cutoff, exponent)
            if known is None:
                return  # The emitter was made for this very cone.
            texture = f"{name}.texture.data"
            profile = cone_profile(cutoff, exponent)
            self._parameters[texture] = type(self._parameters[texture])(profile)
            for angle, share in (("cutoff_angle", 1.0), ("beam_width", BEAM_SHARE)):
                value = self._mi.Float(cutoff * share)
                self._opaque(value)
                self._parameters[f"{name}.{angle}"] = value

    def _set(self, key: str, color: tuple[float, ...]) -> None:
        if self._emitted.get(key) != color:
            self._emitted[key] = color
            value = self._mi.Color3f([float(c) for c in color])
            self._opaque(value)
            self._parameters[key] = value

    def _opaque(self, value: Any) -> None:
        # A literal would be compiled into the kernel, and each new value compile it again.
        if not self._mi.variant().startswith("scalar"):
            import drjit

            drjit.make_opaque(value)

    def _shape_table(self) -> NDArray[np.int32]:
        """Part number by the index that the geometric pass gives for a shape."""
        parts = [int(shape.id().removeprefix("part_")) for shape in self.mitsuba_scene.shapes()]
        indices = np.arange(1, len(parts) + 1)
        if not self._mi.variant().startswith("scalar"):
            import drjit

            # Shapes are numbered over all scenes of the process.
            pointers = self.mitsuba_scene.shapes_dr()
            indices = np.array(drjit.reinterpret_array(self._mi.UInt32, pointers))
        table = np.zeros(int(indices.max(initial=0)) + 1, dtype=np.int32)
        table[indices] = parts
        return table
