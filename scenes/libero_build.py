"""Build scene bundles of LIBERO tasks; run as ``python -m scenes.libero_build`` by `scenes.libero`.

LIBERO and robosuite are imported here and nowhere else: they want their own environment variables,
change MuJoCo's bindings and print to stdout. The request is one JSON object on stdin, the answers
are JSON lines on stdout; whatever the packages print goes to stderr.

No OpenGL library is needed: `scenes.libero` keeps robosuite from choosing EGL, and an empty ``cv2``
stands in where OpenCV cannot be loaded (robosuite uses it for windows on a screen only).
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import sys
import time
import traceback
import types
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from scenes.bundle import FORMAT_VERSION, PACKAGES

_ATTEMPTS = 100
_ROTATIONS = ("axisangle", "euler", "xyaxes", "zaxis")
_FILE_FOLDERS = ("assetdir", "meshdir", "texturedir", "strippath")
_WALL = re.compile(r"wall_(left|right|front|rear|leftcorner|rightcorner)")
_DRAWN_GROUP = 1  # robosuite: group 0 holds collision geoms, group 1 visual ones.
# File names may change, and how much memory they take.
_PATHS = re.compile(r"n?paths|\w+_pathadr|nbuffer")
# What MuJoCo derives from fixture poses while compiling; LIBERO sets these poses after that.
_FROM_FIXTURE_POSE = frozenset(
    [
        "body_ipos",
        "body_iquat",
        "body_sameframe",
        "body_invweight0",
        "dof_invweight0",
        "dof_M0",
        "cam_poscom0",
        "light_poscom0",
    ]
)


class Job(TypedDict):
    """One bundle to build; `bddl`, `states` (.npz) and `target` (folder) are absolute paths."""

    suite: str
    task: str
    task_index: int
    language: str
    seed: int
    bddl: str
    states: str
    target: str


class Request(TypedDict):
    """What to build, the store of shared files, and the folders a model may read from."""

    jobs: list[Job]
    store: str
    asset_roots: list[str]


class Answer(TypedDict):
    """What became of a job; an empty `error` means that it was built."""

    job: int
    error: str
    seconds: float


class BuildError(Exception):
    """A task cannot be made into a bundle; the message is one sentence."""


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


def differing_fields(first: Any, second: Any) -> list[str]:
    """List the fields in which two compiled models differ, file names left aside."""

    def fields(value: Any, prefix: str = "") -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in dir(value):
            if name.startswith("_") or _PATHS.fullmatch(name):
                continue
            item = getattr(value, name)
            if isinstance(item, int | float | bytes | np.ndarray):
                found[prefix + name] = item
            elif type(item).__module__.startswith("mujoco") and not callable(item):
                found |= fields(item, f"{prefix}{name}.")
        return found

    ours, theirs = fields(first), fields(second)
    return [name for name in ours if not np.array_equal(ours[name], theirs[name])]


def patch_model(root: ET.Element, model: Any) -> None:
    """Write into the XML what a reset changed in the compiled model: body poses, site colours.

    Only changed elements are touched, with all digits. MuJoCo's own XML writer rounds every number
    to six digits, which moves cameras by 3e-6 m.
    """
    bodies = {element.get("name", ""): element for element in root.iter("body")}
    sites = {element.get("name", ""): element for element in root.iter("site")}
    before = _compile_text(ET.tostring(root, encoding="unicode"))
    for i in range(model.nbody):
        same = np.array_equal(model.body_pos[i], before.body_pos[i])
        if same and np.array_equal(model.body_quat[i], before.body_quat[i]):
            continue
        element = bodies[model.body(i).name]
        for rotation in _ROTATIONS:
            element.attrib.pop(rotation, None)
        element.set("pos", _digits(model.body_pos[i]))
        element.set("quat", _digits(model.body_quat[i]))
    for i in range(model.nsite):
        if not np.array_equal(model.site_rgba[i], before.site_rgba[i]):
            sites[model.site(i).name].set("rgba", _digits(model.site_rgba[i]))


def relocate_files(root: ET.Element, folder: Path, store: Path, roots: list[Path]) -> None:
    """Point every ``file`` attribute at ``assets/<content hash>.<ext>`` and put the files there.

    Args:
        root: The model; its file names are absolute.
        folder: The bundle; its ``assets`` are hard links into `store`, or copies.
        store: The folder that holds each distinct file once.
        roots: Folders that a model may read from.

    Raises:
        BuildError: When a file is missing or lies outside `roots`.
    """
    for compiler in root.iter("compiler"):
        for attribute in _FILE_FOLDERS:
            compiler.attrib.pop(attribute, None)
    (folder / "assets").mkdir()
    for element in root.iter():
        for attribute in [key for key in element.attrib if key.startswith("file")]:
            source = Path(element.attrib[attribute])
            resolved = source.resolve()
            if not source.is_absolute() or not any(resolved.is_relative_to(r) for r in roots):
                raise BuildError(f"{source}: the file lies outside the packages' asset folders.")
            if not resolved.is_file():
                raise BuildError(f"{source}: the file does not exist.")
            if "name" not in element.attrib and element.tag in ("mesh", "texture", "hfield"):
                element.set("name", source.stem)  # MuJoCo would take the name from the file.
            element.set(attribute, f"assets/{_link(resolved, folder / 'assets', store)}")


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
            raise BuildError(f"body {i} has no name.")
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
        if geom.type[0] == 7 and geom.dataid[0] >= 0:
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
            raise BuildError(f"the object of interest {name!r} belongs to no body.")
        found[owner] = None
    return list(found)


def build_bundle(job: Job, store: Path, roots: list[Path], control_env: Callable[..., Any]) -> None:
    """Make one bundle folder; it appears whole or not at all.

    Args:
        job: What to build.
        store: Folder of the files that bundles share.
        roots: Folders that a model may read from.
        control_env: LIBERO's `ControlEnv`.

    Raises:
        BuildError: When the task's scene or states cannot be kept faithfully.
    """
    import mujoco

    env = _reset_environment(job, control_env)
    try:
        domain, model = env.env, env.sim.model._model
        root = ET.fromstring(domain.model.get_xml())
        patch_model(root, model)
        target = Path(job["target"])
        staging = target.with_name(f"{target.name}.building-{os.getpid()}")
        staging.mkdir(parents=True)
        try:
            relocate_files(root, staging, store, roots)
            ET.ElementTree(root).write(staging / "model.xml", encoding="utf-8")
            kept = mujoco.MjModel.from_xml_path(str(staging / "model.xml"))
            changed = [n for n in differing_fields(model, kept) if n not in _FROM_FIXTURE_POSE]
            if changed:
                raise BuildError(f"the bundle's model differs from LIBERO's in {changed}.")
            states = _load_states(Path(job["states"]), 1 + model.nq + model.nv)
            np.save(staging / "states.npy", states, allow_pickle=False)
            info: dict[str, Any] = {
                "format": FORMAT_VERSION,
                **{key: job[key] for key in ("suite", "task", "task_index", "language", "seed")},
                "language_bddl": " ".join(domain.parsed_problem["language_instruction"]),
                **describe_scene(domain, model),
                "files": _file_table(staging),
            }
            info["digest"] = _hash(json.dumps(info, sort_keys=True).encode())
            versions = {name: importlib.metadata.version(name) for name in PACKAGES}
            info["versions"] = versions | {"python": platform.python_version()}
            (staging / "bundle.json").write_text(json.dumps(info, indent=1), encoding="utf-8")
            try:
                staging.replace(target)
            except OSError:
                if not target.is_dir():  # Else another process was faster with the same bundle.
                    raise
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    finally:
        env.close()


def _reset_environment(job: Job, control_env: Callable[..., Any]) -> Any:
    """Construct the task without rendering and reset it once under its seed.

    `ControlEnv.reset` swallows every error and tries again for ever, hence the own loop.
    """
    from robosuite.utils.errors import RandomizationError

    np.random.seed(job["seed"])
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(RandomizationError):
            env = control_env(
                bddl_file_name=job["bddl"], has_offscreen_renderer=False, use_camera_obs=False
            )
            break
    else:
        raise BuildError(f"LIBERO placed no objects in {_ATTEMPTS} attempts.")
    env.seed(job["seed"])
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(RandomizationError):
            env.env.reset()
            return env
    raise BuildError(f"LIBERO placed no objects in {_ATTEMPTS} attempts.")


def _compile_text(xml: str) -> Any:
    import mujoco

    return mujoco.MjModel.from_xml_string(xml)


def _digits(values: np.ndarray) -> str:
    return " ".join(repr(float(value)) for value in values)


def _load_states(path: Path, width: int) -> np.ndarray:
    with np.load(path, allow_pickle=False) as archive:
        states = np.ascontiguousarray(archive["states"], dtype=np.float64)
    if states.ndim != 2 or states.shape[1] != width or not len(states):
        raise BuildError(f"{path}: states have shape {states.shape}, the model needs (n, {width}).")
    if not np.isfinite(states).all():
        row, column = np.argwhere(~np.isfinite(states))[0]
        raise BuildError(f"{path}: state {row} has a non-finite value at index {column}.")
    return states


def _link(source: Path, folder: Path, store: Path) -> str:
    """Put a file into the store and the bundle under its content hash; return its name."""
    data = source.read_bytes()
    name = hashlib.blake2b(data, digest_size=8).hexdigest() + source.suffix.lower()
    kept, wanted = store / name, folder / name
    if not kept.is_file() or kept.stat().st_size != len(data):
        partial = store / f"{name}.{os.getpid()}"
        partial.write_bytes(data)
        partial.chmod(0o444)
        partial.replace(kept)
    if not wanted.exists():
        try:
            wanted.hardlink_to(kept)
        except OSError:  # Another device, or a file system without links.
            shutil.copyfile(kept, wanted)
    return name


def _file_table(folder: Path) -> dict[str, dict[str, Any]]:
    """Give size and hash of every file of the bundle."""
    table: dict[str, dict[str, Any]] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        name = path.relative_to(folder).as_posix()
        table[name] = {"size": len(data), "blake2b": _hash(data)}
    return table


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def _import_control_env() -> Callable[..., Any]:
    # A user's private macros (and robosuite's log file in the shared /tmp) must not reach a scene.
    macros = types.ModuleType("robosuite.macros_private")
    vars(macros).update(FILE_LOGGING_LEVEL=None, MUJOCO_GPU_RENDERING=False)
    sys.modules[macros.__name__] = macros
    try:
        import cv2  # noqa: F401  # pyright: ignore
    except ImportError:
        sys.modules["cv2"] = types.ModuleType("cv2")
    from libero.libero.envs.env_wrapper import ControlEnv  # pyright: ignore

    return ControlEnv


def main() -> None:
    """Answer the request on stdin: one JSON line per job, with its seconds or its error."""
    request: Request = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    control_env = _import_control_env()
    store, roots = Path(request["store"]), [Path(r).resolve() for r in request["asset_roots"]]
    store.mkdir(parents=True, exist_ok=True)
    for number, job in enumerate(request["jobs"]):
        start = time.perf_counter()
        failure = ""
        try:
            build_bundle(job, store, roots, control_env)
        except BuildError as error:
            failure = str(error)
        except Exception as error:
            traceback.print_exc()
            failure = f"{type(error).__name__}: {error}"
        answer = Answer(job=number, error=failure, seconds=time.perf_counter() - start)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
