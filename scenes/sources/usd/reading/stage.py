"""A USD stage of another origin, opened and checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdShade, UsdUtils

from scenes.errors import AssetError
from scenes.sources.usd.config import UsdConfig
from scenes.sources.usd.reading.counts import refuse_too_many_prims
from scenes.sources.usd.reading.files import UsdFiles, usd_files
from scenes.sources.usd.reading.instancers import expand_instancers
from scenes.sources.usd.reading.notes import Notes
from scenes.stage.matrices import Matrix, matrix_array, rigid

TIME = Usd.TimeCode.EarliestTime()
"""Where values vary with time, their first sample is read; else the default."""

_Z_UP_FROM_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
_SINGULAR = 1e-9
_SHEARED = 1e-5
_SMALLEST_UNIT, _LARGEST_UNIT = 1e-12, 1e12
_BINDING = "material:binding"


@dataclass
class UsdStage:
    """An opened stage and how its units become metres with z up."""

    source: Path
    stage: Usd.Stage
    files: UsdFiles
    T_scene_stage: Matrix
    """From the stage's frame to the scene's [m], [4, 4]; a rotation times the unit."""
    meters_per_unit: float
    notes: Notes = field(default_factory=Notes)
    expanded: frozenset[Sdf.Path] = frozenset()
    """Point instancers whose copies are prims of their own."""
    _cache: UsdGeom.XformCache = field(default_factory=lambda: UsdGeom.XformCache(TIME))

    def transform(self, prim: Usd.Prim) -> Matrix:
        """Transform of a prim in the scene, [4, 4], with scale, mirror and shear if it has them.

        Raises:
            AssetError: It is not finite, or flattens the prim.
        """
        local = matrix_array(self._cache.GetLocalToWorldTransform(prim))
        if not np.isfinite(local).all():
            raise AssetError(self._not_finite(prim))
        if not np.allclose(local[3], [0.0, 0.0, 0.0, 1.0]):
            raise AssetError(
                f"{self.source}: {prim.GetPath()}: its transform is no affine one: the last column "
                f"of the matrix is ({', '.join(f'{v:g}' for v in local[3])}), not (0, 0, 0, 1)."
            )
        sizes = np.linalg.norm(local[:3, :3], axis=0)
        volume = abs(float(np.linalg.det(local[:3, :3])))
        if not volume > _SINGULAR * float(np.prod(sizes)) or volume == 0.0:
            raise AssetError(
                f"{self.source}: {prim.GetPath()}: its transform is singular (scale "
                f"{', '.join(f'{s:g}' for s in sizes)}): it flattens the prim. Repair the file, "
                "or hide the prim."
            )
        return self.T_scene_stage @ local

    def pose(self, prim: Usd.Prim) -> Matrix:
        """Pose of a prim's frame in the scene [m], [4, 4]; scale, mirror and shear are taken out.

        The z axis keeps its direction, and y its plane; of a mirrored prim, x is turned round.
        """
        T = self.transform(prim)
        z = T[:3, 2] / np.linalg.norm(T[:3, 2])
        y = T[:3, 1] - z * (z @ T[:3, 1])
        y /= np.linalg.norm(y)
        return rigid(T[:3, 3], np.stack([np.cross(y, z), y, z], axis=1))

    def sheared(self, prim: Usd.Prim) -> bool:
        """Tell whether the axes of a prim are not at right angles."""
        axes = self.transform(prim)[:3, :3]
        axes = axes / np.linalg.norm(axes, axis=0)
        return bool(np.abs(axes.T @ axes - np.eye(3)).max() > _SHEARED)

    def value(self, attribute: Usd.Attribute, default: Any = None) -> Any:
        """Value of an attribute, checked to be finite.

        Raises:
            AssetError: Names prim, attribute, index and value.
        """
        value = attribute.Get(TIME) if attribute else None
        if value is None:
            return default
        numbers = as_numbers(value)
        if numbers is not None:
            self.refuse_non_finite(attribute, numbers)
        return value

    def number(self, attribute: Usd.Attribute, default: float | None = None) -> float:
        """Value of an attribute as one number.

        Raises:
            AssetError: It is no number, or not finite; names prim, attribute and value.
        """
        return float(self.refuse_other(attribute, self.value(attribute, default), 1))

    def refuse_other(self, attribute: Usd.Attribute, value: Any, width: int) -> Any:
        """Give a value back that is one number, or a vector of at least so many.

        Raises:
            AssetError: It is something else; names prim, attribute and value.
        """
        numbers = as_numbers(value)
        dimensions = None if numbers is None else numbers.ndim
        short = dimensions == 1 and numbers is not None and len(numbers) < width
        if dimensions != (0 if width == 1 else 1) or short:
            wanted = "a number" if width == 1 else f"{width} numbers"
            raise self.refusal(
                attribute.GetPrim(), f"{attribute.GetName()} = {value!r} should be {wanted}."
            )
        return value

    def array(self, attribute: Usd.Attribute, width: int = 1) -> NDArray[np.float64] | None:
        """Values of an array attribute, [n, width], or [n] for width 1; None for no value.

        Raises:
            AssetError: A value is not finite, or not of so many numbers; names prim, attribute,
                index and value.
        """
        value = attribute.Get(TIME) if attribute else None
        if value is None:
            return None
        numbers = as_numbers(value)
        shape = () if width == 1 else (width,)
        if numbers is None or (numbers.size and numbers.shape[1:] != shape):
            raise self.refusal(
                attribute.GetPrim(),
                f"{attribute.GetName()} should hold "
                f"{'single numbers' if width == 1 else f'vectors of {width} numbers'}.",
            )
        numbers = numbers.reshape(-1, width) if width > 1 else numbers.ravel()
        self.refuse_non_finite(attribute, numbers)
        return numbers

    def refuse_non_finite(self, attribute: Usd.Attribute, values: NDArray[np.float64]) -> None:
        """Refuse values that are not finite.

        Raises:
            AssetError: Names prim, attribute, index and value.
        """
        if np.isfinite(values).all():
            return
        rows = values.reshape(len(values), -1) if values.ndim else values.reshape(1, 1)
        row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        shown = ", ".join(f"{v:g}" for v in rows[row])
        place = f"{attribute.GetName()}[{row}]" if values.ndim else attribute.GetName()
        raise AssetError(
            f"{self.source}: {attribute.GetPrim().GetPath()}: {place} = ({shown}) is not finite. "
            "The scene was refused; repair the file."
        )

    def refusal(self, prim: Usd.Prim, sentence: str) -> AssetError:
        """Make the error for something wrong with a prim."""
        return AssetError(f"{self.source}: {prim.GetPath()}: {sentence}")

    def _not_finite(self, prim: Usd.Prim) -> str:
        while prim and not prim.IsPseudoRoot():
            xform = UsdGeom.Xformable(prim)
            for op in xform.GetOrderedXformOps() if xform else ():
                numbers = as_numbers(op.Get(TIME))
                if numbers is not None and not np.isfinite(numbers).all():
                    return (
                        f"{self.source}: {prim.GetPath()}: {op.GetName()} = {op.Get(TIME)} is "
                        "not finite. The scene was refused; repair the file."
                    )
            prim = prim.GetParent()
        return f"{self.source}: a transform is not finite."


def open_usd(settings: UsdConfig, files: UsdFiles | None = None) -> UsdStage:
    """Open a stage and check its files, composition and units.

    Args:
        settings: The source.
        files: Its files, where they were looked up already.

    Raises:
        AssetError: Something is missing, broken, outside the folders or not stated.
    """
    source = settings.path
    files = files or usd_files(source, settings.roots)
    refuse_too_many_prims(source)
    # It keeps from the terminal what the composition errors below tell too.
    quiet = UsdUtils.CoalescingDiagnosticDelegate()
    try:
        stage = Usd.Stage.Open(str(source))
    except Tf.ErrorException as error:
        raise AssetError(f"{source}: not a readable USD file.") from error
    finally:
        del quiet
    broken = [" ".join(str(error).split()) for error in stage.GetCompositionErrors()]
    if broken:
        raise AssetError(f"{source}: the stage does not compose: {broken[0]}")
    for layer in stage.GetUsedLayers():
        if not layer.anonymous and not files.hold(layer.realPath):
            raise AssetError(
                f"{source}: layer {layer.realPath}: reached in a way that is not followed, so it "
                "is not read. Name it in a reference, a payload or among the sublayers."
            )
    notes = Notes()
    _accept_bindings(stage)
    up = _up_axis(stage, settings, notes)
    unit = _unit(stage, settings, notes)
    T_scene_stage = np.eye(4)
    T_scene_stage[:3, :3] = (_Z_UP_FROM_Y_UP if up == "Y" else np.eye(3)) * unit
    expanded = expand_instancers(source, stage, TIME, notes)
    return UsdStage(source, stage, files, T_scene_stage, unit, notes, expanded)


def _accept_bindings(stage: Usd.Stage) -> None:
    """Apply the schema of material bindings where a stage forgets to, which USD warns of."""
    stage.SetEditTarget(stage.GetSessionLayer())
    for prim in stage.Traverse():
        if prim.HasRelationship(_BINDING) and not prim.HasAPI(UsdShade.MaterialBindingAPI):
            UsdShade.MaterialBindingAPI.Apply(prim)


def _up_axis(stage: Usd.Stage, settings: UsdConfig, notes: Notes) -> str:
    stated = UsdGeom.GetStageUpAxis(stage) if stage.HasAuthoredMetadata("upAxis") else None
    up = settings.up_axis or stated
    if up is None:
        raise AssetError(
            f"{settings.path}: upAxis is not stated in the stage. Author it, or say "
            "`up_axis: Y` or `up_axis: Z` in the source (--up-axis)."
        )
    if up not in ("Y", "Z"):
        raise AssetError(
            f"{settings.path}: upAxis = {str(up)!r}; it is Y or Z. Author it, or say it in the "
            "source (--up-axis)."
        )
    if stated and up != stated:
        notes.differs(f"up axis: read as {up}, as the source says; the stage itself says {stated}")
    if up == "Y":
        notes.differs("up axis: the stage's Y axis became Z; everything was turned by 90 degrees")
    return str(up)


def _unit(stage: Usd.Stage, settings: UsdConfig, notes: Notes) -> float:
    authored = UsdGeom.StageHasAuthoredMetersPerUnit(stage)
    stated = UsdGeom.GetStageMetersPerUnit(stage) if authored else None
    unit = settings.meters_per_unit or stated
    if unit is None:
        raise AssetError(
            f"{settings.path}: metersPerUnit is not stated in the stage. Author it, or say "
            "`meters_per_unit: 1.0` or what it is in the source (--meters-per-unit)."
        )
    if not _SMALLEST_UNIT <= unit <= _LARGEST_UNIT:
        raise AssetError(
            f"{settings.path}: metersPerUnit = {unit}; it should be above 0, from "
            f"{_SMALLEST_UNIT:g} to {_LARGEST_UNIT:g}."
        )
    if stated and unit != stated:
        notes.differs(f"unit: {unit:g} m, as the source says; the stage itself says {stated:g} m")
    if unit != 1.0:
        notes.differs(f"unit: lengths of the stage, {unit:g} m, became metres")
    return float(unit)


def as_numbers(value: Any) -> NDArray[np.float64] | None:
    """A scalar, vector, quaternion or matrix as numbers; None for other values."""
    if isinstance(value, Gf.Quatd | Gf.Quatf | Gf.Quath):
        value = (value.GetReal(), *value.GetImaginary())
    if isinstance(value, str | bytes):
        return None
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
