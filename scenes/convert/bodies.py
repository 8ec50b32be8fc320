"""Objects and bodies as prims."""

from __future__ import annotations

import mujoco
import numpy as np
from pxr import UsdGeom, UsdSemantics, Vt

from scenes.convert.conversion import Conversion
from scenes.convert.element_names import ambiguous_objects
from scenes.convert.grouping import WORLD, ObjectName, body_object, world_geom_object
from scenes.convert.parts import convert_geom
from scenes.convert.physics.proxies import collides
from scenes.stage.info import BodyInfo, ObjectInfo
from scenes.stage.matrices import matrix_value
from scenes.stage.names import provenance, told_apart


def convert_bodies(conversion: Conversion) -> dict[ObjectName, ObjectInfo]:
    """Write every body below its object, with its world pose.

    Returns:
        The objects written, by their names.
    """
    model, grouping = conversion.model, conversion.description.grouping
    _find_ambiguous(conversion)
    objects: dict[ObjectName, ObjectInfo] = {}
    for body in range(1, model.nbody):
        name = body_object(model, body, grouping)
        if name not in objects:
            objects[name] = _object(conversion, name)
        _body(conversion, objects[name], body)
    return objects


def convert_geoms(conversion: Conversion, objects: dict[ObjectName, ObjectInfo]) -> None:
    """Write every geom that is drawn or collides, those of the world body first.

    Args:
        conversion: The conversion under way.
        objects: The objects of the bodies.
    """
    moving = list(conversion.bodies)
    _convert_world_geoms(conversion, objects)
    model = conversion.model
    for body in moving:
        first = int(model.body_geomadr[body.body_id])
        for geom in range(first, first + int(model.body_geomnum[body.body_id])):
            convert_geom(conversion, body, geom)


def _convert_world_geoms(conversion: Conversion, objects: dict[ObjectName, ObjectInfo]) -> None:
    model = conversion.model
    carriers: dict[ObjectName, BodyInfo] = {}
    listed = set(conversion.description.grouping.world_geoms.values())
    for geom in _world_geoms(conversion):
        name = world_geom_object(model, geom, conversion.description.grouping)
        if name not in carriers:
            shared = objects.get(name) if name in listed else None
            carriers[name] = _body(conversion, shared or _object(conversion, name), WORLD)
        convert_geom(conversion, carriers[name], geom)


def _object(conversion: Conversion, name: ObjectName) -> ObjectInfo:
    number = len(conversion.objects) + 1
    unique = name.name
    while unique in conversion.object_names:
        unique = f"{unique}_{number}"
    kind = "object" if unique == name.name else "object of another's name"
    path = conversion.child_path("/World", unique, kind, number)
    label = name.label
    if name not in conversion.description.grouping.named and name.name in conversion.shared_labels:
        label = told_apart(label, name.name)
    prim = UsdGeom.Xform.Define(conversion.stage, path)
    provenance(prim.GetPrim(), "object", name.name, number)
    # A sample can only hide what has the attribute.
    prim.CreateVisibilityAttr(UsdGeom.Tokens.inherited)
    labels = UsdSemantics.LabelsAPI.Apply(prim.GetPrim(), "class")
    labels.CreateLabelsAttr().Set(Vt.TokenArray([label]))
    info = ObjectInfo(instance=number, name=unique, label=label, path=path, kind=name.kind)
    conversion.objects.append(info)
    conversion.object_names.add(unique)
    return info


def _find_ambiguous(conversion: Conversion) -> None:
    """Find which objects' names are spelled alike, before any of them is written."""
    model, grouping = conversion.model, conversion.description.grouping
    objects = {body_object(model, body, grouping) for body in range(1, model.nbody)}
    objects |= {world_geom_object(model, geom, grouping) for geom in _world_geoms(conversion)}
    conversion.ambiguous["object"], conversion.shared_labels = ambiguous_objects(objects, grouping)


def _world_geoms(conversion: Conversion) -> list[int]:
    """Geoms of the world body that are drawn or collide."""
    model = conversion.model
    return [
        geom
        for geom in map(int, np.flatnonzero(model.geom_bodyid == WORLD))
        if geom in conversion.drawn or collides(model, geom)
    ]


def _body(conversion: Conversion, owner: ObjectInfo, body: int) -> BodyInfo:
    model = conversion.model
    name = "body" if body == WORLD else conversion.name(mujoco.mjtObj.mjOBJ_BODY, body)
    path = conversion.child_path(owner.path, name, "body", body)
    conversion.reserve(path, "collision")
    xform = UsdGeom.Xform.Define(conversion.stage, path)
    xform.AddTransformOp().Set(matrix_value(conversion.body_pose(body)))
    provenance(xform.GetPrim(), "body", "world" if body == WORLD else name, body)
    first = int(model.body_jntadr[body])
    info = BodyInfo(
        name=name or f"body_{body}",
        path=path,
        body_id=body,
        instance=owner.instance,
        free=first >= 0 and model.jnt_type[first] == mujoco.mjtJoint.mjJNT_FREE,
    )
    conversion.bodies.append(info)
    return info
