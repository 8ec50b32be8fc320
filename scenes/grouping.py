"""Which bodies and world geoms make one object, and what is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import mujoco

from scenes.materials import geom_look
from scenes.names import label_of

WORLD = 0
_NEVER_DRAWN_FROM = 3


@dataclass(frozen=True)
class ObjectName:
    """Name, class and kind of an object."""

    name: str
    label: str
    kind: str = "object"


@dataclass(frozen=True)
class Grouping:
    """Objects by the names the source gives; the default rule fills what it leaves open.

    The default: a root body of the model with all below it is one object; every drawn geom of
    the world body is an object of its own.
    """

    bodies: Mapping[str, ObjectName] = field(default_factory=dict)
    """Object of a body, by the body's name."""
    world_geoms: Mapping[str, ObjectName] = field(default_factory=dict)
    """Object of a geom of the world body, by its name or `#<id>`."""
    drawn_groups: frozenset[int] | None = None
    """Geom groups that are drawn; None decides by `drawn_groups`."""


def body_object(model: mujoco.MjModel, body: int, grouping: Grouping) -> ObjectName:
    """Object that a body belongs to."""
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body)
    if name in grouping.bodies:
        return grouping.bodies[name]
    root = int(model.body_rootid[body])
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, root) or f"body_{root}"
    return ObjectName(name, label_of(name))


def world_geom_object(model: mujoco.MjModel, geom: int, grouping: Grouping) -> ObjectName:
    """Object that a geom of the world body is."""
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, geom)
    key = name or f"#{geom}"
    if key in grouping.world_geoms:
        return grouping.world_geoms[key]
    return ObjectName(name, label_of(name)) if name else ObjectName(f"world_{geom}", "world")


def drawn_groups(model: mujoco.MjModel) -> frozenset[int]:
    """Geom groups that hold visuals.

    MuJoCo draws groups 0 to 2. Models in robosuite's manner keep collision shapes in group 0 and
    visuals in group 1: taken to be so when every geom of group 0 on a moving body collides and
    some body has such a geom beside a geom of group 1 that does not.
    """
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    moving = model.geom_bodyid != WORLD
    shapes = (model.geom_group == 0) & moving
    visuals = (model.geom_group == 1) & ~collides & moving
    paired = set(model.geom_bodyid[shapes]) & set(model.geom_bodyid[visuals])
    if paired and bool(collides[shapes].all()):
        return frozenset({1, 2})
    return frozenset(range(_NEVER_DRAWN_FROM))


def drawn_geoms(model: mujoco.MjModel, groups: frozenset[int]) -> frozenset[int]:
    """Geoms that are drawn: in a drawn group and not wholly transparent."""
    return frozenset(
        geom
        for geom in range(model.ngeom)
        if int(model.geom_group[geom]) in groups and geom_look(model, geom).rgba[3] > 0
    )
