"""Point instancers of a USD stage written out as prims, in its session layer."""

from __future__ import annotations

from pathlib import Path

from pxr import Gf, Sdf, Usd, UsdGeom

from scenes.errors import AssetError
from scenes.sources.usd.reading.notes import Notes

MOST_COPIES = 10_000
"""Copies of one instancer beyond which it is left out."""
_MOST_IN_ALL = 50_000
_DEEPEST = 8
_DONE = "datagen:writtenOut"


def expand_instancers(
    source: Path, stage: Usd.Stage, time: Usd.TimeCode, notes: Notes
) -> frozenset[Sdf.Path]:
    """Write each copy of a point instancer as a prim beside it, `<instancer>_<number>`.

    Copies inherit from their prototype, so that they have its looks and labels. Instancers within
    a prototype appear in its copies, and are written out there in the next round; a prim that
    instances and holds an instancer stops being an instance.

    Args:
        source: File of the stage, for messages.
        stage: The stage; what is written goes into its edit target.
        time: Time at which instancers are read.
        notes: Where the report is told of it.

    Returns:
        Paths of the instancers that were written out.

    Raises:
        AssetError: The arrays of an instancer do not fit each other, or instancers hold each other
            without an end or make too many copies; names prim and value.
    """
    expanded: set[Sdf.Path] = set()
    seen: set[Sdf.Path] = set()
    copies = 0
    for depth in range(_DEEPEST + 1):
        new = [prim for prim in _instancers(stage) if prim.GetPath() not in seen]
        if new and depth == _DEEPEST:
            raise AssetError(
                f"{source}: {new[0].GetPath()}: point instancers within each other, more than "
                f"{_DEEPEST} deep. The scene was refused; repair the file."
            )
        counts = {prim: _count(prim, time) for prim in new}
        copies += sum(count for count in counts.values() if count <= MOST_COPIES)
        if copies > _MOST_IN_ALL:
            raise AssetError(
                f"{source}: {new[0].GetPath()} and others: with these, point instancers make "
                f"{copies} copies; at most {_MOST_IN_ALL} are read. Make a stage of fewer."
            )
        for prim, count in counts.items():
            seen.add(prim.GetPath())
            if prim.GetCustomDataByKey(_DONE):
                # Its prototype was written out where it stands, and the copies came along.
                expanded.add(prim.GetPath())
                continue
            if count > MOST_COPIES:
                continue
            expanded.add(prim.GetPath())
            if UsdGeom.Imageable(prim).ComputeVisibility(time) == UsdGeom.Tokens.invisible:
                notes.lacks(f"{prim.GetPath()}: an invisible PointInstancer")
                continue
            prim.SetCustomDataByKey(_DONE, True)
            _expand(source, stage, UsdGeom.PointInstancer(prim), time)
            notes.differs(f"{prim.GetPath()}: a PointInstancer, shown as {count} copies")
    return frozenset(expanded)


def _count(prim: Usd.Prim, time: Usd.TimeCode) -> int:
    return len(UsdGeom.PointInstancer(prim).GetProtoIndicesAttr().Get(time) or ())


def _instancers(stage: Usd.Stage) -> list[Usd.Prim]:
    """Instancers that are not below another, as prims that can be written to."""
    while True:
        found: list[Usd.Prim] = []
        walk = iter(
            Usd.PrimRange(
                stage.GetPseudoRoot(), Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
            )
        )
        shared: set[Sdf.Path] = set()
        for prim in walk:
            if not prim.IsA(UsdGeom.PointInstancer):
                continue
            walk.PruneChildren()
            if prim.IsInstanceProxy():
                holder = prim.GetParent()
                while holder.IsInstanceProxy():
                    holder = holder.GetParent()
                shared.add(holder.GetPath())
            else:
                found.append(prim)
        if not shared:
            return found
        for path in shared:
            stage.GetPrimAtPath(path).SetInstanceable(False)


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
    around = next((path for path in targets if prim.GetPath().HasPrefix(path)), None)
    if around is not None:
        raise AssetError(
            f"{source}: {prim.GetPath()}: its prototype {around} holds the instancer itself."
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
