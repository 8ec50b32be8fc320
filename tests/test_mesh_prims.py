"""Triangles written as mesh prims and read back."""

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest
from pxr import Usd, UsdGeom

from scenes import convert_mjcf
from scenes.convert.shapes.meshes import geom_triangles
from scenes.stage.mesh_prims import Triangles, read_triangles, write_triangles


def test_mesh_with_shared_corners_keeps_one_vertex_per_position_normal_and_st(
    tmp_path: Path,
) -> None:
    (tmp_path / "quad.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n"
        "f 1/1 3/3 2/2\nf 1/1 4/4 3/3\nf 1/2 2/2 5/4\nf 2/2 3/3 5/4\nf 3/3 4/4 5/4\nf 4/4 1/1 5/1\n"
    )
    (tmp_path / "m.xml").write_text(
        "<mujoco><asset><mesh name='m' file='quad.obj'/></asset>"
        "<worldbody><geom type='mesh' mesh='m'/></worldbody></mujoco>"
    )
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    stage = Usd.Stage.CreateInMemory()
    mesh = write_triangles(stage, "/mesh", geom_triangles(model, 0, -1))
    assert len(mesh.GetPointsAttr().Get()) == 5
    assert len(UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st").Get()) == 4
    triangles = read_triangles(mesh)
    assert triangles.st is not None
    rows = np.concatenate([triangles.points, triangles.normals, triangles.st], axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows) < 3 * len(triangles.faces)
    mesh_st = model.mesh_texcoord[model.mesh_facetexcoord.ravel()]
    st = triangles.st[triangles.faces.ravel()]
    assert np.allclose(st, np.stack([mesh_st[:, 0], 1 - mesh_st[:, 1]], axis=1), atol=1e-6)
    corners = triangles.points[triangles.faces.ravel()]
    assert np.allclose(corners, model.mesh_vert[model.mesh_face.ravel()])


def test_each_array_is_stored_once_and_every_corner_comes_back() -> None:
    rng = np.random.default_rng(5)
    points = rng.integers(0, 3, (60, 3)).astype(np.float32)
    normals = np.eye(3, dtype=np.float32)[rng.integers(0, 3, 60)]
    st = rng.integers(0, 2, (60, 2)).astype(np.float32)
    faces = rng.integers(0, 60, (40, 3)).astype(np.int32)
    stage = Usd.Stage.CreateInMemory()
    mesh = write_triangles(stage, "/mesh", Triangles(points, faces, normals, st))
    assert len(mesh.GetPointsAttr().Get()) == len(np.unique(points, axis=0))
    for name, values in (("normals", normals), ("st", st)):
        primvar = UsdGeom.PrimvarsAPI(mesh).GetPrimvar(name)
        assert primvar.GetInterpolation() == UsdGeom.Tokens.faceVarying
        assert len(primvar.Get()) == len(np.unique(values, axis=0))
        assert np.array_equal(np.array(primvar.ComputeFlattened()), values[faces.ravel()])
    read = read_triangles(mesh)
    assert read.st is not None
    assert np.array_equal(read.points[read.faces], points[faces])
    assert np.array_equal(read.normals[read.faces], normals[faces])
    assert np.array_equal(read.st[read.faces], st[faces])
    corners = np.concatenate([read.points, read.normals, read.st], axis=1)
    assert len(np.unique(corners, axis=0)) == len(corners)


def test_a_mesh_without_texture_coordinates_has_no_st() -> None:
    triangles = Triangles(
        np.eye(3, dtype=np.float32),
        np.array([[0, 1, 2]], np.int32),
        np.full((3, 3), 3**-0.5, np.float32),
        None,
    )
    stage = Usd.Stage.CreateInMemory()
    mesh = write_triangles(stage, "/mesh", triangles)
    assert not UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st").IsDefined()
    assert read_triangles(mesh).st is None
    assert len(UsdGeom.PrimvarsAPI(mesh).GetPrimvar("normals").Get()) == 1


@pytest.mark.parametrize("texture", ["", " vt"])
def test_faces_that_repeat_a_corner_are_left_out_and_counted(tmp_path: Path, texture: str) -> None:
    corner = "{0}/{0}" if texture else "{0}"
    faces = [(1, 3, 2), (1, 2, 2), (1, 2, 4), (3, 3, 3), (2, 3, 4), (1, 5, 3), (1, 4, 3)]
    (tmp_path / "m.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 1 0\n"
        + ("vt 0 0\nvt 1 0\nvt 0 1\nvt 1 1\nvt .5 .5\n" if texture else "")
        + "".join(f"f {' '.join(corner.format(v) for v in face)}\n" for face in faces)
    )
    (tmp_path / "m.xml").write_text(
        "<mujoco><asset><mesh name='m' file='m.obj' inertia='shell'/></asset>"
        "<worldbody><geom name='g' type='mesh' mesh='m'/></worldbody></mujoco>"
    )
    scene = convert_mjcf(tmp_path / "m.xml", tmp_path / "out")
    mesh = UsdGeom.Mesh(scene.stage.GetPrimAtPath(scene.info.parts[0].path))
    indices = np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)
    assert sorted({len(set(face)) for face in indices.tolist()}) == [3]
    # A tetrahedron of legs of 1 m: three right triangles and one with three edges of sqrt(2).
    corners = np.array(mesh.GetPointsAttr().Get())[indices]
    sides = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert len(indices) == 4
    assert np.linalg.norm(sides, axis=1).sum() / 2 == pytest.approx(1.5 + np.sqrt(3) / 2)
    for name in ("normals", *(("st",) if texture else ())):
        primvar = UsdGeom.PrimvarsAPI(mesh).GetPrimvar(name)
        assert len(primvar.GetIndices()) == 12
    report = json.loads((scene.folder / "report.json").read_text())
    assert report["counts_out"]["faces left out, without area"] == 3
    assert [line for line in report["left_out"] if line.startswith("geom g: 3 faces")]
