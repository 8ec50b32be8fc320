"""Who is who in a LIBERO scene: the objects that bodies and geoms of the world belong to."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from scenes.errors import SceneError

_WALL = re.compile(r"wall_(left|right|front|rear|leftcorner|rightcorner)")
_DRAWN_GROUP = 1  # robosuite: group 0 holds collision geoms, group 1 visual ones.
_MESH = 7  # mujoco.mjtGeom.mjGEOM_MESH


def class_label(name: str) -> str:
    """Give the class that a name stands for, as a label of ``[a-z0-9_]+``.

    A trailing number and a trailing ``visual`` go (``black_book_2`` is a ``black_book``), and the
    pieces of the room's wall (``wall_left_visual``, ``wall_rightcorner_visual``) are all ``wall``.
    """
    label = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    label = re.sub(r"_(visual|vis|[0-9]+)$", "", label)
    return "wall" if _WALL.fullmatch(label) else label or "background"


def snake_case(name: str) -> str:
    """Turn a name such as ``PandaGripper`` into ``panda_gripper``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def describe_scene(domain: Any, model: Any) -> dict[str, Any]:
    """Tell which object every body, and every drawn geom of the world, belongs to.

    Objects and fixtures are the task's own, with all bodies below their root; robot, gripper and
    mount go by robosuite's name prefixes; the rest is the arena, one object per root body.
    """
    robot = domain.robots[0]
    mount, gripper = robot.robot_model.mount, robot.gripper
    robot_class = re.sub(
        r"^(mounted|on_the_ground)_", "", snake_case(type(robot.robot_model).__name__)
    )
    # The mount and the gripper come before the robot that carries them.
    by_prefix = {
        mount.naming_prefix: ("mount", snake_case(type(mount).__name__)),
        gripper.naming_prefix: ("gripper", snake_case(type(gripper).__name__)),
        robot.robot_model.naming_prefix: ("robot", robot_class),
    }
    by_root = {
        item.root_body: (name, kind, class_label(item.category_name))
        for kind, items in (("object", domain.objects_dict), ("fixture", domain.fixtures_dict))
        for name, item in items.items()
    }
    instances: dict[str, dict[str, str]] = {}
    bodies: dict[str, str] = {}
    for i in range(1, model.nbody):
        body = model.body(i).name
        prefix = next((p for p in by_prefix if body.startswith(p)), None)
        if prefix is not None:
            kind, label = by_prefix[prefix]
            owner = prefix.rstrip("_")
        elif body in by_root:
            owner, kind, label = by_root[body]
        elif model.body_parentid[i] == 0:
            owner, kind, label = body, "arena", class_label(body)
        else:
            bodies[body] = bodies[model.body(model.body_parentid[i]).name]
            continue
        if not body:
            raise SceneError(f"body {i} has no name.")
        bodies[body] = owner
        instances[owner] = {"name": owner, "class": class_label(label), "kind": kind}
    return {
        "instances": list(instances.values()),
        "bodies": bodies,
        "world_geoms": _world_geoms(model, set(instances)),
        "objects_of_interest": _interest(domain, instances),
        "objects_of_interest_bddl": list(domain.obj_of_interest),
        "cameras": [model.camera(i).name for i in range(model.ncam)],
        "robot": {
            "name": robot.robot_model.naming_prefix.rstrip("_"),
            "joints": list(robot.robot_joints),
            "gripper_joints": list(gripper.joints),
            "ee_site": gripper.important_sites["grip_site"],
            "ee_body": robot.robot_model.eef_name,
        },
        "held_joints": [*robot.robot_joints, *gripper.joints],
    }


def _world_geoms(model: Any, taken: set[str]) -> dict[str, dict[str, str]]:
    """Make every drawn geom of the world body an object; unnamed ones are ``world_<id>``.

    The class comes from the geom's name, else from its mesh's, else from its material's.
    """
    found: dict[str, dict[str, str]] = {}
    for i in np.flatnonzero((model.geom_bodyid == 0) & (model.geom_group == _DRAWN_GROUP)):
        geom = model.geom(i)
        names = [geom.name]
        if geom.type[0] == _MESH and geom.dataid[0] >= 0:
            names.append(model.mesh(geom.dataid[0]).name)
        if geom.matid[0] >= 0:
            names.append(model.material(geom.matid[0]).name)
        label = class_label(next((name for name in names if name), ""))
        name = re.sub(r"[^a-z0-9]+", "_", geom.name.lower()).strip("_") or f"world_{i}"
        name = re.sub(r"_(visual|vis)$", "", name)
        if name in taken:
            name = f"{name}_geom_{i}"
        taken.add(name)
        found[geom.name or f"#{i}"] = {"name": name, "class": label}
    return found


def _interest(domain: Any, instances: dict[str, dict[str, str]]) -> list[str]:
    """Resolve the task's objects of interest, which may be regions, to instances."""
    found: dict[str, None] = {}
    for name in domain.obj_of_interest:
        site = domain.object_sites_dict.get(name)
        owner = name if site is None else site.parent_name
        if owner is None:  # A region of the arena: `main_table` is the body `table`.
            owner = domain.parsed_problem["regions"][name]["target"]
        if owner not in instances:
            owner = next((n for n in instances if str(owner).endswith(n)), owner)
        if owner not in instances:
            raise SceneError(f"the object of interest {name!r} belongs to no body.")
        found[owner] = None
    return list(found)
