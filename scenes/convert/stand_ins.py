"""Boxes shown in place of objects that have no drawn geom."""

from __future__ import annotations

import mujoco

from scenes.convert.grouping import WORLD, Grouping, ObjectName, body_object
from scenes.convert.looks.materials import geom_look
from scenes.convert.physics.proxies import collides


def stand_in_geoms(
    model: mujoco.MjModel, drawn: frozenset[int], grouping: Grouping
) -> frozenset[int]:
    """Geoms that are shown as the boxes around them, since nothing else of their object is drawn.

    They collide and are not transparent. The world's own geoms and wholly transparent ones are
    left unseen on purpose, and where the source says which groups are drawn, that stands.
    """
    if grouping.drawn_groups is not None:
        return frozenset()
    owners: dict[int, ObjectName] = {
        geom: body_object(model, int(model.geom_bodyid[geom]), grouping)
        for geom in range(model.ngeom)
        if model.geom_bodyid[geom] != WORLD
    }
    shown = {owner for geom, owner in owners.items() if geom in drawn}
    return frozenset(
        geom
        for geom, owner in owners.items()
        if owner not in shown
        and collides(model, geom)
        and model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_PLANE
        and geom_look(model, geom).rgba[3] > 0
    )
