"""Geometric faults, planted into a real rendering or into its buffers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import fields, replace

import numpy as np
from pxr import Gf

from bench.planted import Fault, Stand
from datagen.audit.view import ViewPair
from datagen.backends import Buffers
from scenes import camera_path

GL_AXES = np.diag([1.0, -1.0, -1.0, 1.0])


def flipped(*axes: int) -> Callable[[Stand], ViewPair]:
    """Flip every buffer."""

    def change(buffers: Buffers) -> Buffers:
        turned = {
            each.name: np.ascontiguousarray(np.flip(getattr(buffers, each.name), axes))
            for each in fields(buffers)
            if getattr(buffers, each.name) is not None
        }
        return replace(buffers, **turned)

    return lambda stand: stand.changed(change)


def shifted(dx: float, dy: float) -> Callable[[Stand], ViewPair]:
    """Render with the principal point moved [pixel] and state the clean camera."""

    def plant(stand: Stand) -> ViewPair:
        sample = stand.fresh()
        path = camera_path(stand.scene, stand.camera)
        per_pixel = sample.get(f"{path}.verticalAperture") / stand.size.height
        for name, value in (
            ("horizontalApertureOffset", -dx * per_pixel),
            ("verticalApertureOffset", dy * per_pixel),
        ):
            sample.set(f"{path}.{name}", sample.get(f"{path}.{name}") + value)
        return stand.rendered(sample)

    return plant


def field_of_view(degrees: float) -> Callable[[Stand], ViewPair]:
    """Render with another vertical field of view and state the clean one."""

    def plant(stand: Stand) -> ViewPair:
        sample = stand.fresh()
        path = camera_path(stand.scene, stand.camera)
        focal = sample.get(f"{path}.focalLength")
        half = math.atan(0.5 * sample.get(f"{path}.verticalAperture") / focal)
        factor = math.tan(half) / math.tan(half + math.radians(degrees) / 2)
        sample.set(f"{path}.focalLength", focal * factor)
        return stand.rendered(sample)

    return plant


def transposed(offset: tuple[float, float], *, stated: bool) -> Callable[[Stand], ViewPair]:
    """Exchange an off-centre principal point's x and y, in the picture or in what is stated."""

    def plant(stand: Stand) -> ViewPair:
        right = shifted(*offset)(stand)
        wrong = shifted(*offset[::-1])(stand)
        K_right, K_wrong = (stand.reference.labels.camera.K.copy() for _ in range(2))
        K_right[:2, 2] += offset
        K_wrong[:2, 2] += offset[::-1]
        camera = replace(right.candidate.labels.camera, K=K_right)
        reference = replace(
            stand.reference,
            buffers=right.candidate.buffers,
            labels=replace(right.candidate.labels, camera=camera),
        )
        seen = right.candidate if stated else wrong.candidate
        shown = replace(camera, K=K_wrong) if stated else camera
        candidate = replace(seen, labels=replace(seen.labels, camera=shown))
        return replace(stand.pair(candidate), reference=reference)

    return plant


def camera_moved(mm: float, degrees: float = 0.0) -> Callable[[Stand], ViewPair]:
    """Render from a camera moved to the right and turned about its upward axis."""

    def plant(stand: Stand) -> ViewPair:
        move = np.eye(4)
        a = math.radians(degrees)
        move[:3, :3] = [[math.cos(a), 0, math.sin(a)], [0, 1, 0], [-math.sin(a), 0, math.cos(a)]]
        move[0, 3] = 1e-3 * mm
        return _camera_times(stand, move)

    return plant


def gl_axes_rendered(stand: Stand) -> ViewPair:
    """Render with OpenCV's camera axes taken for OpenGL's."""
    return _camera_times(stand, GL_AXES)


def gl_axes_stated(stand: Stand) -> ViewPair:
    """State the pose in OpenGL's axes."""
    camera = stand.reference.labels.camera
    stated = replace(camera, T_world_camera=camera.T_world_camera @ GL_AXES)
    labels = replace(stand.reference.labels, camera=stated)
    return stand.pair(replace(stand.reference, labels=labels))


def _camera_times(stand: Stand, move: np.ndarray) -> ViewPair:
    sample = stand.fresh()
    path = camera_path(stand.scene, stand.camera)
    sample.set_pose(path, sample.pose(path) @ move)
    return stand.rendered(sample)


def depth_of(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Stand], ViewPair]:
    """Change the depth buffer alone."""

    def run(buffers: Buffers) -> Buffers:
        assert buffers.depth is not None
        return replace(buffers, depth=change(buffers.depth).astype(np.float32))

    return lambda stand: stand.changed(run)


def other_near(share: float) -> Callable[[Stand], ViewPair]:
    """Decode depth with a near distance that is off by a share (far without bound)."""
    # 1/d is linear in the buffer's value, from 1/near to 0.
    return depth_of(lambda depth: depth * (1.0 + share))


def clipped(share: float) -> Callable[[Stand], ViewPair]:
    """Draw with the near plane behind the nearest share of the pixels."""

    def plant(stand: Stand) -> ViewPair:
        depth = stand.reference.buffers.depth
        assert depth is not None
        sample = stand.fresh()
        path = f"{camera_path(stand.scene, stand.camera)}.clippingRange"
        near = float(np.quantile(depth[np.isfinite(depth)], share))
        sample.set(path, Gf.Vec2f(near, sample.get(path)[1]))
        return stand.rendered(sample)

    return plant


def moved(
    name: str, mm: tuple[float, float, float], degrees: float = 0.0
) -> Callable[[Stand], ViewPair]:
    """Move an object's bodies in the world and turn them about the vertical."""

    def plant(stand: Stand) -> ViewPair:
        sample = stand.fresh()
        a = math.radians(degrees)
        turn = np.array([[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]])
        bodies = _bodies(stand, name)
        origin = sample.pose(bodies[0])[:3, 3]
        for body in bodies:
            pose = sample.pose(body)
            pose[:3, :3] = turn @ pose[:3, :3]
            pose[:3, 3] = turn @ (pose[:3, 3] - origin) + origin + 1e-3 * np.array(mm)
            sample.set_pose(body, pose)
        return stand.rendered(sample)

    return plant


def hidden(name: str) -> Callable[[Stand], ViewPair]:
    """Leave an object out: its bodies go far away."""
    return moved(name, (0.0, 0.0, -1e6))


def resized(name: str, percent: float) -> Callable[[Stand], ViewPair]:
    """Render an object with its meshes scaled about its first body's origin.

    MuJoCo's model holds the meshes, so its vertices are scaled there and restored.
    """

    def plant(stand: Stand) -> ViewPair:
        factor = 1.0 + percent / 100.0
        model = stand.scene.load_model()
        return _with_model(stand, name, factor, model)

    return plant


def _with_model(stand: Stand, name: str, factor: float, model) -> ViewPair:
    from unittest.mock import patch

    from datagen.backends.mujoco.backend import MujocoBackend

    bodies = set(_bodies(stand, name))
    parts = [part for part in stand.scene.info.parts if part.body in bodies]
    for part in parts:
        geom = part.geom_id
        mesh = int(model.geom_dataid[geom])
        if mesh >= 0 and int(model.geom_type[geom]) == 7:
            start, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
            model.mesh_vert[start : start + count] *= factor
        else:
            model.geom_size[geom] *= factor
    sample = stand.fresh()
    for part in parts:
        pose = sample.pose(part.path)
        pose[:3, 3] *= factor
        sample.set_pose(part.path, pose)
    backend = MujocoBackend(colorspace="display")
    with patch.object(stand.scene, "load_model", lambda: model):
        backend.open(stand.scene)
    ours, stand.backend = stand.backend, backend
    try:
        return stand.rendered(sample)
    finally:
        stand.backend = ours
        backend.close()


def _bodies(stand: Stand, name: str) -> list[str]:
    info = stand.scene.info
    instance = next(each.instance for each in info.objects if each.name == name)
    return [body.path for body in info.bodies if body.instance == instance]


def faults(name: str) -> Iterator[Fault]:
    """Every geometric culprit at falling sizes; `name` is the object that moves."""
    yield Fault("rows_flipped", "all buffers", 1, "", "picture", flipped(0))
    yield Fault("columns_flipped", "all buffers", 1, "", "picture", flipped(1))
    yield Fault("rotated_180", "all buffers", 1, "", "picture", flipped(0, 1))
    for size in (20.0, 5.0, 1.0, 0.5, 0.25):
        yield Fault("pixel_shift", "right", size, "px", "camera", shifted(size, 0))
        yield Fault("pixel_shift", "down", size, "px", "camera", shifted(0, size))
    for size in (10.0, -5.0, 2.0, 1.0, -1.0, 0.5):
        yield Fault("field_of_view", "rendered", size, "deg", "camera", field_of_view(size))
    for offset in ((12.0, -7.0), (3.0, 1.0), (0.0, 1.0)):
        size = abs(offset[0] - offset[1])
        for stated in (True, False):
            label = "stated" if stated else "rendered"
            yield Fault(
                "principal_point_transposed",
                label,
                size,
                "px",
                "camera",
                transposed(offset, stated=stated),
            )
    yield Fault("camera_pose", "OpenGL axes, stated", 180, "deg", "camera", gl_axes_stated)
    yield Fault("camera_pose", "OpenGL axes, rendered", 180, "deg", "camera", gl_axes_rendered)
    for size in (200.0, 50.0, 10.0, 2.0):
        yield Fault("camera_pose", "moved", size, "mm", "camera", camera_moved(size))
    for size in (10.0, 2.0, 0.5, 0.2):
        yield Fault(
            "camera_pose", "turned and moved", size, "deg", "camera", camera_moved(5.0, size)
        )
    for size in (1000.0, 10.0, 1.0, 0.1):
        yield Fault("near_far", "near distance", size, "%", "camera", other_near(size / 100))
    for size in (100.0, 10.0, 2.0):
        plant = depth_of(lambda depth, size=size: depth - 1e-3 * size)
        yield Fault("near_far", "from the near plane", size, "mm", "camera", plant)
    for size in (20.0, 5.0):
        yield Fault("near_far", "clipped", size, "%", "camera", clipped(size / 100))
    for size in (200.0, 50.0, 10.0, 5.0, 2.0):
        for axis, label in enumerate("xyz"):
            mm = tuple(size if each == axis else 0.0 for each in range(3))
            yield Fault(
                "object_pose", f"along {label}", size, "mm", f"object {name}", moved(name, mm)
            )
    for size in (90.0, 10.0, 5.0, 2.0):
        plant = moved(name, (0.0, 0.0, 0.0), size)
        yield Fault("object_pose", "turned", size, "deg", f"object {name}", plant)
    for size in (100.0, 10.0, 5.0, -5.0, 2.0, -2.0):
        yield Fault("object_scale", "meshes", size, "%", f"object {name}", resized(name, size))
    yield Fault("object_missing", "left out", 1, "", f"object {name}", hidden(name))
