"""Drawn prims of a USD stage cut into parts of one material each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pxr import Usd, UsdGeom, UsdShade

from scenes.sources.usd.gprims import shape_triangles
from scenes.sources.usd.looks.looks import Looks, UsdLook
from scenes.sources.usd.looks.wraps import Wraps
from scenes.sources.usd.meshes import UsdTriangles, corner_values, mesh_triangles
from scenes.sources.usd.polygons import subdivided
from scenes.sources.usd.reading.stage import TIME, UsdStage
from scenes.stage.matrices import Matrix


@dataclass(frozen=True)
class UsdPart:
    """Triangles of one material, in the frame of the body that carries them."""

    path: str
    """Prim, or subset of it, that it came from."""
    look: UsdLook
    points: NDArray[np.float64]
    """Vertices [m], [n, 3]."""
    faces: NDArray[np.int64]
    """Counter-clockwise seen from outside, [m, 3]."""
    normals: NDArray[np.float64]
    """Unit normal at each corner, [m, 3, 3]."""
    st: NDArray[np.float64]
    """Texture coordinates at each corner, v up, [m, 3, 2]."""


def prim_triangles(stage: UsdStage, prim: Usd.Prim) -> UsdTriangles:
    """Read the triangles of a mesh or shape.

    Raises:
        AssetError: Names prim, attribute, index and value of what is wrong.
    """
    read = mesh_triangles if prim.IsA(UsdGeom.Mesh) else shape_triangles
    return read(stage, prim)


def read_parts(
    stage: UsdStage, looks: Looks, prim: Usd.Prim, T_body_prim: Matrix, wraps: Wraps | None = None
) -> Iterator[UsdPart]:
    """Cut a drawn prim into parts.

    Args:
        stage: The stage.
        looks: Its materials.
        prim: A mesh or a shape.
        T_body_prim: From its frame to that of the body that carries it [m], [4, 4]; scale,
            mirror and shear go into the points.
        wraps: Pictures that were extended already.

    Raises:
        AssetError: Names prim, attribute, index and value of what is wrong.
    """
    wraps = wraps or Wraps(stage)
    triangles = prim_triangles(stage, prim)
    points, faces, normals = placed(triangles, T_body_prim)
    mirrored = np.linalg.det(T_body_prim[:3, :3]) < 0
    for path, chosen, material in _pieces(stage, prim, triangles):
        look = looks.of(prim, material)
        st = np.zeros((len(chosen), 3, 2))
        if look.picture is not None:
            found = _coordinates(stage, prim, triangles, look)
            if found is None:
                look = looks.untextured(look, prim)
            else:
                look, st = wraps.extended(look, found[chosen])
        if mirrored:
            st = st[:, ::-1]
        used, local = np.unique(faces[chosen], return_inverse=True)
        local = local.reshape(-1, 3)
        vertices, local, *rest = subdivided(points[used], local, normals[chosen], st)
        sides = [(local, rest[0], rest[1])]
        if triangles.double_sided:
            sides.append((local[:, ::-1], -rest[0][:, ::-1], rest[1][:, ::-1]))
        corners = [np.concatenate(arrays) for arrays in zip(*sides, strict=True)]
        yield UsdPart(path, look, vertices, corners[0], corners[1], corners[2])


def placed(
    triangles: UsdTriangles, T: Matrix
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Points, faces and normals of triangles under a transform, [4, 4].

    A mirror turns the triangles round, so that they still face outward.
    """
    points = triangles.points @ T[:3, :3].T + T[:3, 3]
    normals = triangles.normals @ np.linalg.inv(T[:3, :3])
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    if np.linalg.det(T[:3, :3]) < 0:
        return points, triangles.faces[:, ::-1], normals[:, ::-1]
    return points, triangles.faces, normals


def _pieces(
    stage: UsdStage, prim: Usd.Prim, triangles: UsdTriangles
) -> Iterator[tuple[str, NDArray[np.int64], UsdShade.Material | None]]:
    """Parts of a prim: path, triangles by index, and the material bound."""
    binding = UsdShade.MaterialBindingAPI(prim)
    rest = np.ones(triangles.polygon_count, dtype=np.bool_)
    for subset in binding.GetMaterialBindSubsets():
        faces = stage.array(subset.GetIndicesAttr())
        faces = np.empty(0, dtype=np.int64) if faces is None else faces.astype(np.int64)
        wrong = np.flatnonzero((faces < 0) | (faces >= triangles.polygon_count))
        if len(wrong):
            raise stage.refusal(
                subset.GetPrim(),
                f"indices[{wrong[0]}] = {faces[wrong[0]]}; the mesh has "
                f"{triangles.polygon_count} faces.",
            )
        twice = faces[~rest[faces]]
        if len(twice):
            raise stage.refusal(subset.GetPrim(), f"face {twice[0]} belongs to another subset too.")
        rest[faces] = False
        chosen = np.flatnonzero(np.isin(triangles.polygon, faces))
        if len(chosen):
            material = _bound(UsdShade.MaterialBindingAPI(subset))
            yield str(subset.GetPath()), chosen, material
    chosen = np.flatnonzero(rest[triangles.polygon])
    if len(chosen):
        yield str(prim.GetPath()), chosen, _bound(binding)


def _bound(binding: UsdShade.MaterialBindingAPI) -> UsdShade.Material | None:
    """Material bound for previews or for all purposes, else for full renders."""
    for purpose in (UsdShade.Tokens.preview, UsdShade.Tokens.full):
        material, _ = binding.ComputeBoundMaterial(purpose)
        if material:
            return material
    return None


def _coordinates(
    stage: UsdStage, prim: Usd.Prim, triangles: UsdTriangles, look: UsdLook
) -> NDArray[np.float64] | None:
    """Texture coordinates at the corners, [m, 3, 2]; None where the prim has none."""
    primvar = UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance(look.primvar)
    if not primvar or primvar.Get(TIME) is None:
        return None
    st = corner_values(stage, prim, triangles, primvar, 2)
    if look.st_matrix is None:
        return st
    matrix = np.array(look.st_matrix)
    return st @ matrix[:, :2].T + matrix[:, 2]
