"""Names of a model's elements that the stage's spelling would make one."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import mujoco

from scenes.convert.grouping import Grouping, ObjectName
from scenes.stage.names import ambiguous_names, identifier_of, label_of


def ambiguous_elements(model: mujoco.MjModel) -> dict[str, frozenset[str]]:
    """Names by kind that another one beside them is spelled like as an identifier.

    Elements lie beside each other where they belong to one body; bodies and joints where they
    belong to one root body.
    """
    roots = model.body_rootid
    places: dict[str, tuple[mujoco.mjtObj, Iterable[int]]] = {
        "body": (mujoco.mjtObj.mjOBJ_BODY, roots),
        "joint": (mujoco.mjtObj.mjOBJ_JOINT, roots[model.jnt_bodyid]),
        "geom": (mujoco.mjtObj.mjOBJ_GEOM, model.geom_bodyid),
        "camera": (mujoco.mjtObj.mjOBJ_CAMERA, model.cam_bodyid),
        "light": (mujoco.mjtObj.mjOBJ_LIGHT, model.light_bodyid),
        "equality": (mujoco.mjtObj.mjOBJ_EQUALITY, [0] * model.neq),
        "material": (mujoco.mjtObj.mjOBJ_MATERIAL, [0] * model.nmat),
    }
    return {kind: _beside(model, *place) for kind, place in places.items()}


def _beside(model: mujoco.MjModel, kind: mujoco.mjtObj, parents: Iterable[int]) -> frozenset[str]:
    siblings: dict[int, list[str]] = {}
    for number, parent in enumerate(parents):
        name = mujoco.mj_id2name(model, kind, number)
        if name:
            siblings.setdefault(int(parent), []).append(name)
    return frozenset().union(
        *(ambiguous_names(names, identifier_of) for names in siblings.values())
    )


def ambiguous_objects(
    objects: Collection[ObjectName], grouping: Grouping
) -> tuple[frozenset[str], frozenset[str]]:
    """Names of objects that another one's is spelled like: as an identifier, and as a class.

    Objects that the source names have the class that it gives them, also where they share it.
    """
    classed = {
        each.name
        for each in objects
        if each not in grouping.named and each.label == label_of(each.name)
    }
    return (
        ambiguous_names((each.name for each in objects), identifier_of),
        ambiguous_names(classed, label_of),
    )
