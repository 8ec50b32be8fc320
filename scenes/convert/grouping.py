"""Which bodies and world geoms make one object, and what is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from scenes.convert.looks.materials import geom_look
from scenes.convert.settings import ObjectGroup
from scenes.errors import SceneError
from scenes.stage.names import label_of

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
    """Geom groups that are drawn; None decides by the rule of `drawn_geoms`."""

    @cached_property
    def named(self) -> frozenset[ObjectName]:
        """Objects that the source names."""
        return frozenset((*self.bodies.values(), *self.world_geoms.values()))


def named_grouping(
    model: mujoco.MjModel,
    objects: Mapping[str, ObjectGroup],
    drawn_groups: Iterable[int] | None,
    source: Path,
) -> Grouping:
    """Grouping by the names that a config gives.

    Args:
        model: The compiled model.
        objects: Objects by name.
        drawn_groups: Geom groups that are drawn, None to find them from the model.
        source: File of the model, for messages.

    Raises:
        SceneError: The model has no such body or geom of the world, or two objects have the same.
    """
    known = {
        "body": [model.body(number).name for number in range(1, model.nbody)],
        "geom of the world": [
            model.geom(int(number)).name or f"#{number}"
            for number in np.flatnonzero(model.geom_bodyid == WORLD)
        ],
    }
    found: dict[str, dict[str, ObjectName]] = {kind: {} for kind in known}
    for name, group in objects.items():
        for kind, wanted in zip(known, (group.bodies, group.geoms), strict=True):
            for element in wanted:
                where = f"{source}: objects.{name}: {kind} {element!r}"
                if element not in known[kind]:
                    names = ", ".join(filter(None, known[kind])) or "none"
                    raise SceneError(f"{where}: there is none. Known: {names}.")
                if element in found[kind]:
                    other = found[kind][element].name
                    raise SceneError(f"{where}: it belongs to objects.{other} already.")
                found[kind][element] = ObjectName(name, group.label)
    drawn = None if drawn_groups is None else frozenset(drawn_groups)
    return Grouping(found["body"], found["geom of the world"], drawn)


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


def drawn_geoms(model: mujoco.MjModel, groups: frozenset[int] | None) -> frozenset[int]:
    """Geoms that are drawn: of a drawn group and not wholly transparent.

    Args:
        model: The compiled model.
        groups: Groups that are drawn. None takes MuJoCo's own, 0 to 2, but for models in
            robosuite's manner, which keep collision shapes in group 0 beside visuals in group 1:
            there, group 0 of moving bodies is not drawn, nor of the world body where it has
            visuals of that kind itself.
    """
    group = np.asarray(model.geom_group)
    if groups is None:
        shown = (group < _NEVER_DRAWN_FROM) & ~_collision_shapes(model)
    else:
        shown = np.isin(group, sorted(groups))
    return frozenset(
        geom for geom in map(int, np.flatnonzero(shown)) if geom_look(model, geom).rgba[3] > 0
    )


def _collision_shapes(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Tell which geoms are collision shapes by robosuite's convention, [ngeom]."""
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    moving = model.geom_bodyid != WORLD
    shapes, visuals = model.geom_group == 0, (model.geom_group == 1) & ~collides
    paired = set(model.geom_bodyid[shapes & moving]) & set(model.geom_bodyid[visuals & moving])
    if not paired or not bool(collides[shapes & moving].all()):
        return np.zeros(model.ngeom, dtype=np.bool_)
    if np.any(visuals & ~moving):
        return shapes & (moving | collides)
    return shapes & moving
