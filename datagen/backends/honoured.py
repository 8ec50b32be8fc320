"""Which attributes of a sample a backend shows, and the refusal of all others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pxr import Sdf

from datagen.backends.errors import BackendError
from scenes import SampleLayer, Scene
from scenes.stage.lights import light_kinds
from scenes.stage.looks import shader_kind, takes_texture
from scenes.stage.sample import TRANSFORM

LENS = frozenset(
    {
        TRANSFORM,
        "focalLength",
        "horizontalAperture",
        "verticalAperture",
        "horizontalApertureOffset",
        "verticalApertureOffset",
        "clippingRange",
    }
)
"""Attributes of a `Camera` that every backend shows."""

PLACED = frozenset({TRANSFORM, "visibility"})
"""Attributes of a part, of a body and of what carries them that every backend shows."""

_PHYSICS = ("physics:", "state:")


@dataclass(frozen=True)
class Honoured:
    """What one backend makes of the attributes that a sample may change."""

    backend: str
    shown: Mapping[str, frozenset[str]]
    """Attributes that the picture follows, by the kind of the prim that carries them; see
    `kind_of`."""
    neutral: frozenset[str] = frozenset()
    """Attributes that have no meaning for this backend and may be set. So may `physics:` and
    `state:`, which no picture shows."""

    def require(self, scene: Scene, sample: SampleLayer) -> None:
        """Refuse a sample that changes what the backend does not show.

        Raises:
            BackendError: Names the first such attribute.
        """
        kinds: dict[Sdf.Path, str] = {}
        placed = _placed(scene)
        for path in sorted(sample.paths):
            name, prim = path.name, path.GetPrimPath()
            if name in PLACED and prim in placed and name in self.shown[placed[prim]]:
                continue
            if name in self.neutral or name.startswith(_PHYSICS):
                continue
            if sample.get(str(path)) == scene.authored(path):
                continue
            if prim not in kinds:
                kinds[prim] = placed.get(prim) or kind_of(scene, prim)
            # To set an input that takes its value from a texture would show nothing.
            if name not in self.shown.get(kinds[prim], frozenset()) or takes_texture(scene, path):
                raise BackendError(
                    f"{scene.info.scene_id}: the sample changes {path}, which the backend "
                    f"{self.backend} does not show; take that randomizer or this backend out."
                )


def kind_of(scene: Scene, prim: Sdf.Path) -> str:
    """Name the kind of a prim that carries a look.

    It is `/World`, the identifier of a shader (of `UsdUVTexture` only those that give a colour),
    or empty.
    """
    return "/World" if str(prim) == "/World" else shader_kind(scene, prim)


def _placed(scene: Scene) -> dict[Sdf.Path, str]:
    """Kinds of the prims that have a place: `Camera`, the type of a light, `part`."""
    info = scene.info
    kinds: dict[Sdf.Path, str] = {}
    for thing in (*info.bodies, *info.objects, *info.parts):
        for prefix in Sdf.Path(thing.path).GetPrefixes()[1:]:
            kinds[prefix] = "part"
    for camera in info.cameras:
        kinds[Sdf.Path(camera.path)] = "Camera"
    for path, kind in light_kinds(scene).items():
        kinds[Sdf.Path(path)] = kind
    return kinds
