"""Point instancers of a USD stage written out as prims, in its session layer."""

from __future__ import annotations

from pathlib import Path

from pxr import Gf, Sdf, Usd, UsdGeom

from scenes.errors import AssetError
from scenes.usd_notes import Notes

MOST_COPIES = 10_000
"""Copies of one instancer beyond which it is left out."""


def expand_instancers(
    source: Path, stage: Usd.Stage, time: Usd.TimeCode, notes: Notes
) -> frozenset[Sdf.Path]:
    """Write each copy of a point instancer as a prim beside it, `<instancer>_<number>`.

    Copies inherit from their prototype, so that they have its looks and labels. An instancer
    within a prototype or an instance is left for the report.

    Args:
        source: File of the stage, for messages.
        stage: The stage; what is written goes into its edit target.
        time: Time at which instancers are read.
        notes: Where the report is told of it.

    Returns:
        Paths of the instancers that were written out.

    Raises:
        AssetError: The arrays of an instancer do not fit each other; names prim and value.
    """
    found = [prim for prim in stage.Traverse() if prim.IsA(UsdGeom.PointInstancer)]
    prototypes = {
        path for prim in found
        for path in UsdGeom.PointInstancer(prim).GetPrototypesRel().GetTargets()
    }  # fmt: skip
    expanded: set[Sdf.Path] = set()
    for prim in found:
        nested = any(prim.GetPath().HasPrefix(path) for path in prototypes)
        count = len(UsdGeom.PointInstancer(prim).GetProtoIndicesAttr().Get(time) or ())
        if nested or count > MOST_COPIES:
            continue
        expanded.add(prim.GetPath())
        if UsdGeom.Imageable(prim).ComputeVisibility(time) == UsdGeom.Tokens.invisible:
            notes.lacks(f"{prim.GetPath()}: an invisible PointInstancer")
            continue
        _expand(source, stage, UsdGeom.PointInstancer(prim), time)
        notes.differs(f"{prim.GetPath()}: a PointInstancer, shown as {count} copies")
    return frozenset(expanded)


def _expand(
    source: Path, stage: Usd.Stage, instancer: UsdGeom.PointInstancer, time: Usd.TimeCode
) -> None:
    prim = instancer.GetPrim()
    parent = prim.GetParent()
    targets = instancer.GetPrototypesRel().GetTargets()
    indices = instancer.GetProtoIndicesAttr().Get(time) or ()
    mask = instancer.ComputeMaskAtTime(time)
    transforms = instancer.ComputeInstanceTransformsAtTime(
        time, time, instancer.ExcludeProtoXform, instancer.IgnoreMask
    )
    if len(transforms) != len(indices):
        raise AssetError(
            f"{source}: {prim.GetPath()}: {len(indices)} protoIndices, but positions, orientations "
            "or scales of another number."
        )
    wrong = [place for place, index in enumerate(indices) if not 0 <= index < len(targets)]
    if wrong:
        raise AssetError(
            f"{source}: {prim.GetPath()}: protoIndices[{wrong[0]}] = {indices[wrong[0]]}; there "
            f"are {len(targets)} prototypes."
        )
    to_parent, _ = UsdGeom.XformCache(time).ComputeRelativeTransform(prim, parent)
    for number, (index, transform) in enumerate(zip(indices, transforms, strict=True)):
        if mask and not mask[number]:
            continue
        name = f"{prim.GetName()}_{number}"
        while stage.GetPrimAtPath(parent.GetPath().AppendChild(name)):
            name += "_"
        copy = UsdGeom.Xform.Define(stage, parent.GetPath().AppendChild(name))
        copy.CreatePurposeAttr(instancer.ComputePurpose())
        copy.AddTransformOp().Set(Gf.Matrix4d(transform) * to_parent)
        inner = stage.DefinePrim(copy.GetPath().AppendChild(targets[index].name))
        inner.GetInherits().AddInherit(targets[index])
