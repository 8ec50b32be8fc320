"""Transforms and subsets of USD stages against values worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pxr import UsdGeom, UsdShade

from scenes import Scene, convert_usd, srgb_encode
from scenes.sources.usd.config import UsdConfig

CASES = Path(__file__).parent / "cases"


def converted(folder: Path, case: str) -> tuple[Scene, Any]:
    scene = convert_usd(folder / "out", UsdConfig(path=CASES / case / "scene.usda"))
    return scene, json.loads((CASES / case / "case.json").read_text())["expect"]["rule"]


def corners(scene: Scene, path: str) -> NDArray[np.float64]:
    """Corners of the triangles of a part in the world [m], [n, 3, 3]."""
    prim = scene.stage.GetPrimAtPath(path)
    mesh = UsdGeom.Mesh(prim)
    to_world = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(prim))
    points = np.array(mesh.GetPointsAttr().Get()) @ to_world[:3, :3] + to_world[3, :3]
    return points[np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)]


def test_inverse_pivots_orders_and_resets_put_prims_where_they_belong(tmp_path: Path) -> None:
    scene, right = converted(tmp_path, "a42-usd-inverse-pivot-ops")
    for name, box in right.items():
        (path,) = (part.path for part in scene.info.parts if name in part.path.rpartition("/")[2])
        found = corners(scene, path).reshape(-1, 3)
        assert np.allclose([found.min(axis=0), found.max(axis=0)], box, atol=1e-4), name


def test_faces_outside_every_material_subset_keep_the_material_of_the_mesh(tmp_path: Path) -> None:
    scene, right = converted(tmp_path, "a44-usd-subset-rest")
    areas: dict[bool, float] = {False: 0.0, True: 0.0}
    for part in scene.info.parts:
        a, b, c = corners(scene, part.path).swapaxes(0, 1)
        prim = scene.stage.GetPrimAtPath(part.path)
        material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
        surface, _, _ = material.ComputeSurfaceSource()
        color = np.array(surface.GetInput("diffuseColor").Get())
        red = bool(color[0] > color[2])
        if red:
            assert np.allclose(
                srgb_encode(color), srgb_encode(np.array([0.8, 0.05, 0.05])), atol=0.01
            )
        areas[red] += float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)
    assert areas[True] == pytest.approx(right["top_area_m2"], rel=1e-4)
    assert areas[False] == pytest.approx(right["rest_area_m2"], rel=1e-4)
