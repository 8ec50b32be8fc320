"""MuJoCo's skybox as a dome that gives no light."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pxr import Gf, Sdf, UsdGeom, UsdLux

from scenes.convert.conversion import Conversion
from scenes.stage.attributes import CUBE, author
from scenes.stage.matrices import matrix_value
from scenes.stage.names import provenance
from scenes.stage.skybox import SKYBOX, T_WORLD_CUBE, Skybox

_WIDEST_MAP = 1024


def convert_skybox(conversion: Conversion) -> None:
    """Write the model's first skybox, the one that MuJoCo shows."""
    model = conversion.model
    skies = np.flatnonzero(model.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX)
    conversion.reserve("/World/lights", SKYBOX.rpartition("/")[2])
    if not len(skies):
        return
    texture = int(skies[0])
    cube = conversion.materials.picture(texture)
    picture = np.asarray(Image.open(conversion.folder / cube).convert("RGB"))
    map_file = conversion.materials.store(latitude_map(Skybox.of_picture(picture)))
    dome = UsdLux.DomeLight.Define(conversion.stage, SKYBOX)
    dome.CreateTextureFileAttr(f"./{map_file}")
    dome.CreateTextureFormatAttr(UsdLux.Tokens.latlong)
    dome.CreateIntensityAttr(1.0)
    dome.CreateColorAttr(Gf.Vec3f(1.0))
    dome.CreateDiffuseAttr(0.0)
    dome.CreateSpecularAttr(0.0)
    UsdGeom.Xformable(dome).AddTransformOp().Set(matrix_value(T_WORLD_CUBE))
    prim = dome.GetPrim()
    author(prim, CUBE, Sdf.ValueTypeNames.Asset, f"./{cube}")
    name = conversion.name(mujoco.mjtObj.mjOBJ_TEXTURE, texture)
    provenance(prim, "texture", name, texture)
    planes = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    if np.any(planes & (model.geom_size[:, :2] == 0).all(axis=1)):
        conversion.report.approximated.append(
            "skybox: the haze that MuJoCo draws where an infinite plane ends is not shown"
        )


def latitude_map(sky: Skybox) -> NDArray[np.uint8]:
    """Picture of a skybox by longitude and latitude, as `UsdLuxDomeLight` reads it, [h, 2 h, 3].

    In the dome's frame, +y is the top, +z the middle and +x the middle of the left half (the
    convention of OpenEXR's environment maps).
    """
    height = min(2 * sky.sides.shape[1], _WIDEST_MAP // 2)
    latitude = np.pi * (0.5 - (np.arange(height) + 0.5) / height)[:, None]
    longitude = np.pi * (1.0 - 2.0 * (np.arange(2 * height) + 0.5) / (2 * height))[None]
    local = np.stack(
        [
            np.cos(latitude) * np.sin(longitude),
            np.broadcast_to(np.sin(latitude), (height, 2 * height)),
            np.cos(latitude) * np.cos(longitude),
        ],
        axis=-1,
    )
    shown = sky.display(local @ T_WORLD_CUBE[:3, :3].T, spacing=np.pi / height)
    return (shown * 255.0 + 0.5).astype(np.uint8)
