"""Values of a sample written into the arrays of a compiled MuJoCo model."""

from __future__ import annotations

from collections.abc import Generator, Set
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from pxr import Sdf

from datagen.backends.errors import BackendError
from datagen.backends.honoured import LENS, PLACED, Honoured
from scenes import SampleLayer, Scene
from scenes.stage import attributes
from scenes.stage.colors import srgb_encode
from scenes.stage.lights import read_lights
from scenes.stage.looks import material_paths

LIGHT_COUNT_MAX = 8
"""Lights that OpenGL's fixed pipeline draws, the headlight included."""


def too_many_lights(scene: Scene, scene_id: str) -> str | None:
    """Say that more lights shine in a scene than MuJoCo draws; no draw switches one on or off."""
    shining = sum(
        scene.authored(f"{light.path}.visibility") != "invisible" for light in scene.info.lights
    )
    shining += bool(scene.authored(f"/World.{attributes.HEADLIGHT_ACTIVE}"))
    if shining <= LIGHT_COUNT_MAX:
        return None
    return (
        f"mujoco draws at most {LIGHT_COUNT_MAX} lights, but in the scene {scene_id} {shining} "
        "shine (with the headlight); leave this backend or some lights out."
    )


_LIGHT_ARRAYS = {
    attributes.LIGHT_AMBIENT: "light_ambient",
    attributes.LIGHT_SPECULAR: "light_specular",
    attributes.ATTENUATION: "light_attenuation",
    attributes.CUTOFF: "light_cutoff",
    attributes.EXPONENT: "light_exponent",
    attributes.CAST_SHADOW: "light_castshadow",
}

_LIGHT = PLACED | {
    "inputs:color",
    "inputs:intensity",
    attributes.LIGHT_AMBIENT,
    attributes.LIGHT_SPECULAR,
    attributes.CAST_SHADOW,
}

MUJOCO_HONOURED = Honoured(
    backend="mujoco",
    shown={
        "part": PLACED,
        "Camera": LENS,
        "DistantLight": _LIGHT,
        "SphereLight": _LIGHT | {attributes.ATTENUATION, attributes.CUTOFF, attributes.EXPONENT},
        "/World": frozenset(attributes.HEADLIGHT),
        "UsdPreviewSurface": frozenset({"inputs:diffuseColor", "inputs:opacity"}),
        "UsdUVTexture": frozenset({"inputs:scale"}),
    },
    # The picture's aspect ratio decides the horizontal field of view; fill and exposure match a
    # path tracer to MuJoCo.
    neutral=frozenset({"horizontalAperture", attributes.FILL, attributes.EXPOSURE}),
)
"""Attributes that the MuJoCo backend shows; a sample that changes any other is refused."""

_ARRAYS = (
    "geom_group",
    "geom_rgba",
    "light_active",
    "light_ambient",
    "light_attenuation",
    "light_castshadow",
    "light_cutoff",
    "light_diffuse",
    "light_exponent",
    "light_specular",
    "mat_emission",
    "mat_reflectance",
)
_HEADLIGHT = ("active", "ambient", "diffuse", "specular")
_STRENGTH = ("inputs:color", "inputs:intensity")
_SHADES = ("inputs:diffuseColor", "inputs:opacity", "inputs:scale")
_DRAWN, _HIDDEN = 0, 5
_DEFAULT_RGBA = np.array([0.5, 0.5, 0.5, 1.0], np.float32)
_UNIT_TOLERANCE = 1e-6


class ModelValues:
    """Brings a model and its data to what a sample shows.

    Every array starts from the compiled model's own values each time, so nothing of an earlier
    sample stays.
    """

    def __init__(self, scene: Scene, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._scene = scene
        self._model = model
        self._data = data
        info = scene.info
        self._geoms = np.array([part.geom_id for part in info.parts], dtype=np.intp)
        self._cameras = np.array([camera.camera_id for camera in info.cameras], dtype=np.intp)
        self._lights = np.array([light.light_id for light in info.lights], dtype=np.intp)
        self._light_ids = {light.path: light.light_id for light in info.lights}
        self._posed = [item.path for item in (*info.parts, *info.cameras, *info.lights)]
        self._geoms_by_material: dict[str, list[int]] | None = None
        model.geom_group[:] = _HIDDEN
        self._arrays = {name: getattr(model, name).copy() for name in _ARRAYS}
        self._headlight = _headlight(model)

    def apply(self, sample: SampleLayer) -> None:
        """Show a sample; its layer is already over the stage.

        Raises:
            BackendError: The sample changes what MuJoCo's renderer cannot show.
        """
        MUJOCO_HONOURED.require(self._scene, sample)
        self._restore()
        changed = [
            path
            for path in sorted(sample.paths)
            if path.name not in PLACED and sample.get(str(path)) != self._scene.authored(path)
        ]
        for path in changed:
            self._set(path, sample.get(str(path)))
        strengths = {str(path.GetPrimPath()) for path in changed if path.name in _STRENGTH}
        self._write_strengths(strengths)
        self._write_visibility(any(path.name == "visibility" for path in sample.paths))
        self._write_poses()
        lights = int(np.count_nonzero(self._model.light_active))
        lights += int(self._model.vis.headlight.active)
        if lights > LIGHT_COUNT_MAX:
            raise BackendError(
                f"{self._scene.info.scene_id}: {lights} lights shine (with the headlight), MuJoCo "
                f"draws at most {LIGHT_COUNT_MAX}; make some invisible or leave the backend out."
            )

    @contextmanager
    def unlit(self) -> Generator[None]:
        """Let the model show rgba times texture alone, until the block ends."""
        model, head = self._model, self._model.vis.headlight
        names = ("light_active", "mat_emission", "mat_reflectance")
        arrays = {name: getattr(model, name).copy() for name in names}
        headlight = _headlight(model)
        for name in names:
            getattr(model, name)[:] = 0
        head.active = 1
        head.ambient[:], head.diffuse[:], head.specular[:] = 1.0, 0.0, 0.0
        try:
            yield
        finally:
            for name, values in arrays.items():
                getattr(model, name)[:] = values
            _set_headlight(model, headlight)

    def _restore(self) -> None:
        for name, values in self._arrays.items():
            getattr(self._model, name)[:] = values
        _set_headlight(self._model, self._headlight)

    def _write_poses(self) -> None:
        transforms = np.stack(self._scene.world_transforms(self._posed))
        R, t = transforms[:, :3, :3], transforms[:, :3, 3]
        skew = np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
        handed = np.einsum("ni,ni->n", np.cross(R[:, 0], R[:, 1]), R[:, 2])
        wrong = ~(skew < _UNIT_TOLERANCE) | ~np.isfinite(t).all(axis=1) | (handed < 0)
        if wrong.any():
            path = self._posed[int(np.flatnonzero(wrong)[0])]
            raise BackendError(
                f"{self._scene.info.scene_id}: {path}: its world pose is not finite or holds "
                "scale, shear or a mirror; MuJoCo shows rotation and translation only."
            )
        ends = np.cumsum([len(self._geoms), len(self._cameras), len(self._lights)])
        geoms, cameras, lights = (slice(a, b) for a, b in zip((0, *ends[:2]), ends, strict=True))
        data = self._data
        data.geom_xpos[self._geoms] = t[geoms]
        data.geom_xmat[self._geoms] = R[geoms].reshape(-1, 9)
        data.cam_xpos[self._cameras] = t[cameras]
        data.cam_xmat[self._cameras] = R[cameras].reshape(-1, 9)
        data.light_xpos[self._lights] = t[lights]
        data.light_xdir[self._lights] = -R[lights, :, 2]

    def _write_visibility(self, stated: bool) -> None:
        """Show what the stage shows; lights only follow a visibility that the sample states."""
        parts = self._scene.info.parts
        self._model.geom_group[self._geoms] = [
            _DRAWN if self._scene.is_visible(part.path) else _HIDDEN for part in parts
        ]
        if stated:
            for path, light in self._light_ids.items():
                self._model.light_active[light] = self._scene.is_visible(path)

    def _write_strengths(self, paths: Set[str]) -> None:
        """Bring lights to the stage's strength, whose display value is the model's diffuse."""
        if not paths:
            return
        for light in read_lights(self._scene):
            if light.path in paths:
                index = self._light_ids[light.path]
                self._model.light_diffuse[index] = light.display_diffuse

    def _set(self, path: Sdf.Path, value: Any) -> None:
        prim, name = str(path.GetPrimPath()), path.name
        light = self._light_ids.get(prim)
        if light is not None and name in _LIGHT_ARRAYS:
            getattr(self._model, _LIGHT_ARRAYS[name])[light] = value
        elif name in attributes.HEADLIGHT:
            _set_headlight(self._model, {name.rpartition(":")[2]: np.asarray(value)})
        elif name in _SHADES:
            self._set_shade(path, value)

    def _set_shade(self, path: Sdf.Path, value: Any) -> None:
        geoms = self._geoms_of(str(path.GetPrimPath().GetParentPath()))
        rgba = self._model.geom_rgba
        materials = self._model.geom_matid[geoms]
        inherits = (materials >= 0) & (rgba[geoms] == _DEFAULT_RGBA).all(axis=1)
        shown = rgba[geoms]
        shown[inherits] = self._model.mat_rgba[materials[inherits]]
        if path.name == "inputs:opacity":
            shown[:, 3] = value
        else:
            shown[:, :3] = srgb_encode(np.asarray(value, np.float64)[:3])
        # MuJoCo takes a geom's rgba only where it differs from the default.
        shown[(shown == _DEFAULT_RGBA).all(axis=1), 0] = np.nextafter(
            np.float32(0.5), np.float32(1)
        )
        rgba[geoms] = shown

    def _geoms_of(self, material: str) -> list[int]:
        if self._geoms_by_material is None:
            self._geoms_by_material = {}
            parts = self._scene.info.parts
            materials = material_paths(self._scene, [part.path for part in parts])
            for part, bound in zip(parts, materials, strict=True):
                self._geoms_by_material.setdefault(bound, []).append(part.geom_id)
        return self._geoms_by_material.get(material, [])


def _headlight(model: mujoco.MjModel) -> dict[str, NDArray[Any]]:
    return {name: np.array(getattr(model.vis.headlight, name)) for name in _HEADLIGHT}


def _set_headlight(model: mujoco.MjModel, values: dict[str, NDArray[Any]]) -> None:
    head = model.vis.headlight
    for name, value in values.items():
        if name == "active":
            head.active = int(value)
        else:
            getattr(head, name)[:] = value
