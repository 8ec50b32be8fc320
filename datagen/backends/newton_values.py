"""What of a sample Newton's camera can show, and the refusal of the rest."""

from __future__ import annotations

from pxr import Sdf, UsdGeom, UsdShade

from datagen.backends.errors import BackendError
from scenes import SampleLayer, Scene
from scenes.sample import TRANSFORM
from scenes.texture_roles import gives_color

NEWTON_HONOURED: dict[str, frozenset[str]] = {
    "any prim": frozenset({TRANSFORM, "visibility"}),
    "Camera": frozenset(
        {
            "focalLength",
            "verticalAperture",
            "horizontalApertureOffset",
            "verticalApertureOffset",
            "clippingRange",
        }
    ),
    "SphereLight, DistantLight": frozenset(
        {
            "inputs:color",
            "inputs:intensity",
            "datagen:ambient",
            "datagen:specular",
            "datagen:attenuation",
            "datagen:cutoff",
            "datagen:exponent",
        }
    ),
    "/World": frozenset(
        {
            "datagen:headlight:active",
            "datagen:headlight:ambient",
            "datagen:headlight:diffuse",
            "datagen:headlight:specular",
        }
    ),
    "UsdPreviewSurface": frozenset(
        {"inputs:diffuseColor", "datagen:specular", "datagen:shininess"}
    ),
    "UsdUVTexture": frozenset({"inputs:scale"}),
}
"""Attributes that the Newton backend shows, by the prim that carries them.

A sample that changes any other attribute is refused, but for `NEWTON_NEUTRAL`.
"""

NEWTON_NEUTRAL = frozenset({"horizontalAperture", "datagen:fill", "datagen:exposure"})
"""Attributes without meaning for a picture without bounces; so have all of `physics`."""

NEWTON_MISSING: dict[str, str] = {
    "hdr": "no pass: light is added in display values, as MuJoCo's formula does",
    "shadows": "no light casts one",
    "reflections, emission": "not in the formula",
    "opacity": "every surface hides what is behind it",
    "mip maps": "textures are sampled bilinearly at full size and always repeat",
    "far plane": "rays end after 10 km",
}
"""What pictures of the Newton backend lack, and what is there in its place."""


def require_shown(scene: Scene, sample: SampleLayer) -> None:
    """Refuse a sample that changes what Newton's camera does not show.

    Raises:
        BackendError: Names the first such attribute.
    """
    cameras = {camera.path for camera in scene.info.cameras}
    lights = {light.path for light in scene.info.lights}
    for path in sorted(sample.paths):
        name = path.name
        if name in NEWTON_HONOURED["any prim"] or name in NEWTON_NEUTRAL:
            continue
        if name.startswith(("physics:", "state:")) or sample.get(str(path)) == scene.authored(path):
            continue
        prim = str(path.GetPrimPath())
        if prim in cameras:
            kind = "Camera"
        elif prim in lights:
            kind = "SphereLight, DistantLight"
        elif prim == "/World":
            kind = prim
        else:
            kind = _shader(scene, path)
        if name not in NEWTON_HONOURED.get(kind, frozenset()):
            raise BackendError(
                f"{scene.info.scene_id}: the sample changes {path}, which the backend newton does "
                "not show; take that randomizer or this backend out."
            )


def visible(scene: Scene, path: str) -> bool:
    """Tell whether the stage shows a prim."""
    prim = UsdGeom.Imageable(scene.stage.GetPrimAtPath(path))
    return prim.ComputeVisibility() != UsdGeom.Tokens.invisible


def _shader(scene: Scene, path: Sdf.Path) -> str:
    shader = UsdShade.Shader(scene.stage.GetPrimAtPath(path.GetPrimPath()))
    if not shader or (path.name == "inputs:scale" and not gives_color(shader)):
        return ""
    channel = shader.GetInput(path.name.removeprefix("inputs:"))
    # A connected input takes its value from elsewhere: setting it would show nothing.
    return "" if channel and channel.HasConnectedSource() else str(shader.GetIdAttr().Get())
