"""Attributes of a USD stage that say something of physics or looks and are not read."""

from __future__ import annotations

import numpy as np
from pxr import Usd

from scenes.sources.usd.reading.stage import TIME, UsdStage, as_numbers
from scenes.stage.attributes import REFLECTANCE

UNREAD = {
    "physics:centerOfMass": "centre of mass: it follows from the shapes",
    "physics:diagonalInertia": "inertia: it follows from the mass and the shapes",
    "physics:density": "density: the mass is read, or follows from the shapes",
    "physics:velocity": "velocity: everything is at rest",
    "physics:angularVelocity": "velocity: everything is at rest",
    "physics:staticFriction": "friction: MuJoCo's default stands for it",
    "physics:dynamicFriction": "friction: MuJoCo's default stands for it",
    "physics:restitution": "restitution: MuJoCo's default stands for it",
    REFLECTANCE: "reflectance: mirrors are not shown",
}
"""What is not read, and what stands for it, by the attribute's name."""


def note_unread(stage: UsdStage) -> None:
    """Report the attributes that are not read, one sentence for each kind."""
    found: dict[str, list[str]] = {}
    for prim in stage.stage.Traverse(Usd.PrimDefaultPredicate):
        kinds = {
            UNREAD[attribute.GetName()]: None
            for attribute in prim.GetAuthoredAttributes()
            if attribute.GetName() in UNREAD and _says_something(attribute)
        }
        for kind in kinds:
            found.setdefault(kind, []).append(str(prim.GetPath()))
    for kind, paths in found.items():
        others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        stage.notes.lacks(f"{paths[0]}{others}: not read, {kind}")


def _says_something(attribute: Usd.Attribute) -> bool:
    """Tell a value from zero and from infinity, by which UsdPhysics means none."""
    value = attribute.Get(TIME)
    if value is None:
        return False
    numbers = as_numbers(value)
    return numbers is None or bool(np.any(np.isfinite(numbers) & (numbers != 0.0)))
