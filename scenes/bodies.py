"""Objects and bodies as prims."""

from __future__ import annotations

import mujoco
import numpy as np
from pxr import UsdGeom, UsdSemantics, Vt

from scenes.conversion import Conversion
from scenes.errors import SceneError
from scenes.grouping import WORLD, ObjectName, body_object, world_geom_object
from scenes.info import BodyInfo, ObjectInfo
from scenes.names import label_of, provenance
from scenes.parts import convert_geom
from scenes.proxies import collides
from scenes.scene import matrix_value


def convert_bodies(conversion: Conversion) -> dict[ObjectName, ObjectInfo]:
    """Write every body below its object, with its world pose.

    Returns:
        The objects written, by their names.
    """
    model, grouping = conversion.model, conversion.description.grouping
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
    for geom in map(int, np.flatnonzero(model.geom_bodyid == WORLD)):
        if geom not in conversion.drawn and not collides(model, geom):
            continue
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
    _refuse_shared_label(conversion, name)
    prim = UsdGeom.Xform.Define(conversion.stage, path)
    # A sample can only hide what has the attribute.
    prim.CreateVisibilityAttr(UsdGeom.Tokens.inherited)
    labels = UsdSemantics.LabelsAPI.Apply(prim.GetPrim(), "class")
    labels.CreateLabelsAttr().Set(Vt.TokenArray([name.label]))
    info = ObjectInfo(instance=number, name=unique, label=name.label, path=path, kind=name.kind)
    conversion.objects.append(info)
    conversion.object_names.add(unique)
    return info


def _refuse_shared_label(conversion: Conversion, name: ObjectName) -> None:
    """Refuse two names that would make one class unasked; a source may say so itself.

    Raises:
        SceneError: Names both.
    """
    grouping = conversion.description.grouping
    if name in grouping.named or name.label != label_of(name.name):
        return
    other = conversion.classes.setdefault(name.label, name.name)
    if other != name.name:
        raise SceneError(
            f"{conversion.description.source}: the objects {other!r} and {name.name!r} would both "
            f"be of the class {name.label!r}; rename one of them, or label both under `objects` "
            "of the source."
        )


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
