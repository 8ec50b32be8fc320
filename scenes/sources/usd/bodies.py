"""Bodies of the model that is built from a USD stage, with what they carry."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import mujoco
import numpy as np
from numpy.typing import NDArray
from pxr import Usd, UsdPhysics

from scenes.convert.grouping import ObjectName
from scenes.convert.physics.proxies import THICKENED
from scenes.sources.usd.gprims import size_of
from scenes.sources.usd.objects import Owners, moves_freely, rigid_prim
from scenes.sources.usd.parts import UsdPart, placed, prim_triangles
from scenes.sources.usd.reading.prims import UsdPrims
from scenes.sources.usd.reading.stage import UsdStage
from scenes.stage.matrices import Matrix, rigid, rigid_inverse

_FLATNESS = 1e-5
_UNIFORM = 1e-6
_GEOM = mujoco.mjtGeom


@dataclass
class UsdBody:
    """A body of the model to build."""

    name: str
    prim: Usd.Prim
    pose: Matrix
    """World pose [m], [4, 4]."""
    free: bool
    mass: float | None = None
    """[kg]; None follows from the shapes."""
    parts: list[tuple[UsdPart, bool]] = field(default_factory=list)
    """What is drawn, and whether it collides too."""
    shapes: list[UsdShape] = field(default_factory=list)

    @property
    def collides(self) -> bool:
        """Whether anything of it takes part in collisions."""
        return bool(self.shapes) or any(collides for _, collides in self.parts)


@dataclass(frozen=True)
class UsdShape:
    """What collides and is not drawn."""

    path: str
    kind: mujoco.mjtGeom
    size: tuple[float, ...] = ()
    """MuJoCo's size of a primitive [m]."""
    pose: Matrix = field(default_factory=lambda: np.eye(4))
    """Pose in its body [m], [4, 4]."""
    points: NDArray[np.float64] | None = None
    """Vertices of a mesh in the body's frame [m], [n, 3]."""
    faces: NDArray[np.int64] | None = None


class Bodies:
    """Bodies of the model, made as prims ask for them."""

    def __init__(self, stage: UsdStage, prims: UsdPrims, owners: Owners) -> None:
        self._stage = stage
        self._owners = owners
        self._joined = frozenset(prims.joined)
        self._made: dict[tuple[str, str], UsdBody] = {}
        self._colliders = {prim.GetPath() for prim in prims.colliders}
        self._stated = {owners.of(prim).name.name for prim in prims.colliders}
        self.owners: dict[str, ObjectName] = {}
        """Object of each body, by the body's name."""

    @property
    def made(self) -> list[UsdBody]:
        """All bodies, in the order they were asked for."""
        return list(self._made.values())

    def of(self, prim: Usd.Prim) -> UsdBody:
        """Body that carries a prim."""
        owner, rigid = self._owners.of(prim), rigid_prim(prim)
        anchor = owner.prim if rigid is None else rigid
        key = (owner.name.name, "" if rigid is None else str(rigid.GetPath()))
        if key not in self._made:
            name = anchor.GetName()
            while name in self.owners:
                name = f"{name}_{len(self.owners)}"
            self.owners[name] = owner.name
            free = owner.free if rigid is None else moves_freely(rigid, self._joined)
            if self._stage.sheared(anchor):
                self._stage.notes.differs(
                    f"{anchor.GetPath()}: its transform is sheared: the shear went into the points"
                )
            pose, mass = self._stage.pose(anchor), self._mass(anchor)
            self._made[key] = UsdBody(name, anchor, pose, free, mass)
        return self._made[key]

    def _mass(self, prim: Usd.Prim) -> float | None:
        if not prim.HasAPI(UsdPhysics.MassAPI):
            return None
        mass = self._stage.number(UsdPhysics.MassAPI(prim).GetMassAttr(), 0.0)
        unit = UsdPhysics.GetStageKilogramsPerUnit(self._stage.stage)
        if mass < 0:
            raise self._stage.refusal(prim, f"physics:mass = {mass:g}; it should be at least 0.")
        if not 0.0 < unit < math.inf:
            raise self._stage.refusal(
                prim, f"kilogramsPerUnit = {unit:g}, in which its mass is; it should be above 0."
            )
        # UsdPhysics: 0 leaves it to the shapes.
        return mass * unit if mass > 0 else None

    def collides(self, prim: Usd.Prim) -> bool:
        """Tell whether a drawn prim collides: where its object states no colliders, all do."""
        owner = self._owners.of(prim).name.name
        if owner in self._stated:
            return prim.GetPath() in self._colliders
        self._stage.notes.differs(
            f"object {owner}: no prim of it has CollisionAPI, so all that is drawn of it collides"
        )
        return True

    def mounted(self, prim: Usd.Prim) -> tuple[str | None, Matrix]:
        """Body that carries a camera, if any, and its pose there [m], [4, 4]."""
        pose, rigid = self._stage.pose(prim), rigid_prim(prim)
        for body in self._made.values():
            if rigid is not None and body.prim == rigid:
                return body.name, rigid_inverse(body.pose) @ pose
        return None, pose


def collision_shape(stage: UsdStage, prim: Usd.Prim, T_body_scene: Matrix) -> UsdShape:
    """Shape of a prim that collides and is not drawn."""
    path, kind = str(prim.GetPath()), str(prim.GetTypeName())
    T = stage.transform(prim)
    scale = np.linalg.norm(T[:3, :3], axis=0)
    pose = T_body_scene @ stage.pose(prim)
    straight = not stage.sheared(prim)
    if kind == "Cube" and straight:
        size = size_of(stage, prim, "size") / 2 * scale
        return UsdShape(path, _GEOM.mjGEOM_BOX, tuple(map(float, size)), pose)
    if kind == "Sphere" and straight and np.ptp(scale) < _UNIFORM * scale.max():
        return UsdShape(
            path, _GEOM.mjGEOM_SPHERE, (size_of(stage, prim, "radius") * scale[0],), pose
        )
    if kind == "Plane" and straight and prim.GetAttribute("axis").Get() == "Z":
        width, length = (size_of(stage, prim, name) / 2 for name in ("width", "length"))
        size = (width * scale[0], length * scale[1], 1.0)
        return UsdShape(path, _GEOM.mjGEOM_PLANE, size, pose)
    points, faces, _ = placed(prim_triangles(stage, prim), T_body_scene @ T)
    return UsdShape(path, _GEOM.mjGEOM_MESH, points=points, faces=faces)


def flat_box(points: NDArray[np.float64]) -> tuple[Matrix, NDArray[np.float64]] | None:
    """Box around points that lie in a plane: its pose and half extents [m]; None for others.

    Such points have no convex hull that a physics engine takes; the box is as thick as its
    proxies are.
    """
    middle = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - middle, full_matrices=False)
    if len(sizes) == 3 and sizes[2] > _FLATNESS * sizes[0]:
        return None
    R = np.linalg.svd(np.vstack([axes, np.zeros((3 - len(axes), 3))]))[2].T
    R[:, 2] = np.cross(R[:, 0], R[:, 1])
    local = (points - middle) @ R
    low, high = local.min(axis=0), local.max(axis=0)
    half = np.maximum((high - low) / 2, THICKENED)
    return rigid(middle + R @ (low + high) / 2, R), half


def bounds(bodies: list[UsdBody]) -> tuple[NDArray[np.float64], float]:
    """Middle of all that is drawn [m], [3], and the distance to its farthest corner [m]."""
    drawn = [
        part.points @ body.pose[:3, :3].T + body.pose[:3, 3]
        for body in bodies
        for part, _ in body.parts
    ]
    if not drawn:
        return np.zeros(3), 1.0
    low = np.min([points.min(axis=0) for points in drawn], axis=0)
    high = np.max([points.max(axis=0) for points in drawn], axis=0)
    return (low + high) / 2, max(float(np.linalg.norm(high - low)) / 2, 1e-3)
