"""Cameras of a USD stage, in the scene's metres."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pxr import Usd, UsdGeom

from scenes.sources.usd.reading.stage import UsdStage
from scenes.stage.attributes import FIXED_ASPECT

_TENTHS = 10.0


@dataclass(frozen=True)
class UsdCamera:
    """The lens of a camera; lengths of aperture and focus share one unit."""

    prim: Usd.Prim
    fovy: float
    """Vertical field of view [deg]; height of the picture [m] where orthographic."""
    orthographic: bool
    sensor: tuple[float, float, float, float, float] | None
    """Focal length, aperture (horizontal, vertical) and its offset (right, up), where pictures
    keep both fields of view; else the vertical one decides and pixels are square."""
    near: float | None
    """Nearest distance shown [m], None where it is not authored."""
    far: float | None


def read_camera(stage: UsdStage, prim: Usd.Prim) -> UsdCamera:
    """Read a camera.

    Raises:
        AssetError: A value is not finite, or the lens has no field of view; names the attribute.
    """
    camera = UsdGeom.Camera(prim)
    focal = stage.number(camera.GetFocalLengthAttr())
    across = stage.number(camera.GetHorizontalApertureAttr())
    down = stage.number(camera.GetVerticalApertureAttr())
    right = stage.number(camera.GetHorizontalApertureOffsetAttr())
    up = stage.number(camera.GetVerticalApertureOffsetAttr())
    for name, size in (
        ("focalLength", focal), ("horizontalAperture", across), ("verticalAperture", down),
    ):  # fmt: skip
        if size <= 0:
            raise stage.refusal(prim, f"{name} = {size:g}; it should be above 0.")
    if stage.number(camera.GetFStopAttr(), 0.0) > 0:
        stage.notes.differs(f"camera {prim.GetPath()}: depth of field is not shown")
    orthographic = stage.value(camera.GetProjectionAttr()) == UsdGeom.Tokens.orthographic
    own = bool(stage.value(prim.GetAttribute(FIXED_ASPECT), False))
    measured = own or ((right, up) != (0.0, 0.0) and not orthographic)
    if measured and not own:
        stage.notes.differs(
            f"camera {prim.GetPath()}: its aperture has an offset, so it keeps both fields of "
            f"view: pixels are square where width : height is {across:g} : {down:g}"
        )
    clipping = camera.GetClippingRangeAttr()
    near = far = None
    if clipping.HasAuthoredValue():
        ends = stage.refuse_other(clipping, stage.value(clipping), 2)
        near, far = (float(z) * stage.meters_per_unit for z in ends)
        if not 0.0 < near < far:
            raise stage.refusal(
                prim, f"clippingRange = ({near:g} m, {far:g} m); 0 < near < far is needed."
            )
    return UsdCamera(
        prim,
        _height(stage, down) if orthographic else math.degrees(2 * math.atan(down / 2 / focal)),
        orthographic,
        (focal, across, down, right, up) if measured else None,
        near,
        far,
    )


def _height(stage: UsdStage, aperture: float) -> float:
    """Height of an orthographic picture [m]; apertures are in tenths of the stage's unit."""
    return aperture / _TENTHS * stage.meters_per_unit
