"""What there is in a USD stage: the prims that are drawn, collide, look on or shine."""

from __future__ import annotations

from dataclasses import dataclass, field

from pxr import Sdf, Usd, UsdGeom, UsdLux, UsdPhysics

from scenes.sources.usd.gprims import SHAPES
from scenes.sources.usd.reading.instancers import MOST_COPIES
from scenes.sources.usd.reading.stage import TIME, UsdStage

_SHOWN = (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)


@dataclass
class UsdPrims:
    """Prims of a stage by what they are, in the order of the stage."""

    drawn: list[Usd.Prim] = field(default_factory=list)
    colliders: list[Usd.Prim] = field(default_factory=list)
    """Meshes and shapes that collide; they may be drawn too."""
    cameras: list[Usd.Prim] = field(default_factory=list)
    lights: list[Usd.Prim] = field(default_factory=list)
    joined: set[Sdf.Path] = field(default_factory=set)
    """Bodies that a joint holds."""


def read_prims(stage: UsdStage) -> UsdPrims:
    """Sort the prims of a stage; the report names those that are left out.

    Instances are read as if they were copies.
    """
    found = UsdPrims()
    predicate = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
    hidden: dict[str, int] = {}
    varying = 0
    walk = iter(Usd.PrimRange(stage.stage.GetPseudoRoot(), predicate))
    for prim in walk:
        varying += sum(
            attribute.GetNumTimeSamples() > 1 for attribute in prim.GetAuthoredAttributes()
        )
        if prim.IsA(UsdGeom.PointInstancer):
            if prim.GetPath() not in stage.expanded:
                stage.notes.lacks(
                    f"{prim.GetPath()}: a PointInstancer with more than {MOST_COPIES} copies is "
                    "not read"
                )
            walk.PruneChildren()
        elif prim.IsA(UsdGeom.Camera):
            found.cameras.append(prim)
        elif _shines(prim):
            found.lights.append(prim)
        elif prim.IsA(UsdPhysics.Joint):
            _joint(stage, prim, found)
        elif prim.IsA(UsdGeom.Gprim):
            _gprim(stage, prim, found, hidden)
    for why, count in hidden.items():
        stage.notes.lacks(f"{count} prims: {why}, so not drawn")
    if varying:
        stage.notes.differs(f"{varying} attributes vary with time: their first values are shown")
    return found


def _gprim(stage: UsdStage, prim: Usd.Prim, found: UsdPrims, hidden: dict[str, int]) -> None:
    kind = str(prim.GetTypeName())
    readable = kind == "Mesh" or kind in SHAPES
    if prim.HasAPI(UsdPhysics.CollisionAPI) and readable:
        enabled = UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get(TIME)
        if enabled is not False:
            found.colliders.append(prim)
    image = UsdGeom.Imageable(prim)
    purpose = image.ComputePurpose()
    if image.ComputeVisibility(TIME) == UsdGeom.Tokens.invisible:
        hidden["invisible"] = hidden.get("invisible", 0) + 1
    elif purpose not in _SHOWN:
        why = f"of purpose {purpose}"
        hidden[why] = hidden.get(why, 0) + 1
    elif readable:
        found.drawn.append(prim)
    else:
        stage.notes.lacks(f"{prim.GetPath()}: a {kind} is not drawn; only meshes and solids are")


def _joint(stage: UsdStage, prim: Usd.Prim, found: UsdPrims) -> None:
    joint = UsdPhysics.Joint(prim)
    if joint.GetJointEnabledAttr().Get(TIME) is False:
        return
    for relation in (joint.GetBody0Rel(), joint.GetBody1Rel()):
        found.joined.update(relation.GetTargets())
    stage.notes.lacks(
        f"joint {prim.GetPath()}: not read; the bodies it joins stand where the stage puts them"
    )


def _shines(prim: Usd.Prim) -> bool:
    return prim.IsA(UsdLux.BoundableLightBase) or prim.IsA(UsdLux.NonboundableLightBase)
