"""Implicit shapes of USD as triangles: sphere, cube, cylinder, capsule, cone and plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pxr import Usd, UsdGeom

from scenes.convert.shapes import primitives
from scenes.convert.shapes.primitives import Surface
from scenes.convert.shapes.tessellation import MUJOCO
from scenes.sources.usd.meshes import UsdTriangles
from scenes.sources.usd.reading.stage import UsdStage

SHAPES = ("Sphere", "Cube", "Cylinder", "Capsule", "Cone", "Plane")
"""Types of prims that are meshed here."""


def shape_triangles(stage: UsdStage, prim: Usd.Prim) -> UsdTriangles:
    """Mesh an implicit shape, tessellated as MuJoCo draws its own shapes.

    Raises:
        AssetError: A size is not finite or not above 0; names prim, attribute and value.
    """
    surface = _surface(stage, prim)
    turn = _from_z(str(stage.value(prim.GetAttribute("axis"), "Z")))
    faces = surface.faces.astype(np.int64)
    count = len(faces)
    stage.notes.differs(f"{prim.GetPath()}: a {prim.GetTypeName()}, shown as a mesh")
    double = bool(stage.value(UsdGeom.Gprim(prim).GetDoubleSidedAttr(), False))
    return UsdTriangles(
        surface.points @ turn.T,
        faces,
        (surface.normals @ turn.T)[faces],
        np.arange(count),
        np.arange(3 * count).reshape(-1, 3),
        count,
        double,
    )


def size_of(stage: UsdStage, prim: Usd.Prim, name: str) -> float:
    """Size of a shape in the stage's units.

    Raises:
        AssetError: It is not finite or not above 0.
    """
    value = stage.number(prim.GetAttribute(name))
    if value <= 0:
        raise stage.refusal(prim, f"{name} = {value:g}; it should be above 0.")
    return value


def _surface(stage: UsdStage, prim: Usd.Prim) -> Surface:
    kind = str(prim.GetTypeName())
    if kind == "Cube":
        return primitives.box(np.full(3, size_of(stage, prim, "size") / 2))
    if kind == "Plane":
        width, length = (size_of(stage, prim, name) for name in ("width", "length"))
        return primitives.plane(width / 2, length / 2, infinite=(False, False))
    radius = size_of(stage, prim, "radius")
    if kind == "Sphere":
        return primitives.ellipsoid(np.full(3, radius))
    half = size_of(stage, prim, "height") / 2
    if kind == "Capsule":
        return primitives.capsule(radius, half)
    return primitives.cylinder(radius, half) if kind == "Cylinder" else _cone(radius, half)


def _cone(radius: float, half: float) -> Surface:
    """Cone along z with its tip up."""
    slices = MUJOCO.slices
    angles = 2 * np.pi * np.arange(slices + 1) / slices
    middle = angles[:-1] + np.pi / slices
    rim = np.stack([np.cos(angles), np.sin(angles), np.zeros(slices + 1)], axis=1)
    slope = np.array([2 * half, 2 * half, radius])
    lean = rim + np.array([0.0, 0.0, 1.0])
    tips = np.stack([np.cos(middle), np.sin(middle), np.ones(slices)], axis=1)
    up = np.array([0.0, 0.0, half])
    ring = np.arange(slices)
    side = np.stack([ring, ring + 1, slices + 1 + ring], axis=1)
    base = 2 * slices + 1
    bottom = np.stack([np.full(slices, base), base + 2 + ring, base + 1 + ring], axis=1)
    points = np.concatenate(
        [rim * radius - up, np.tile(up, (slices, 1)), -up[None], rim * radius - up]
    )
    normals = np.concatenate([lean * slope, tips * slope, np.tile([0.0, 0, -1], (slices + 2, 1))])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return Surface(points, np.concatenate([side, bottom]).astype(np.int32), normals, points)


def _from_z(axis: str) -> NDArray[np.float64]:
    """Rotation, [3, 3], that brings the z axis to another one."""
    match axis:
        case "X":
            return np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
        case "Y":
            return np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])
        case _:
            return np.eye(3)
