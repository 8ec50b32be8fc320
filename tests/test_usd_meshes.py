from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from usd_stages import CUBE, CUBE_POINTS, SQUARE, mesh, opened, write

from scenes import AssetError, Scene, convert_usd
from scenes.sources.usd.config import UsdConfig
from scenes.sources.usd.gprims import SHAPES, shape_triangles
from scenes.sources.usd.looks.looks import Looks
from scenes.sources.usd.meshes import UsdTriangles, mesh_triangles
from scenes.sources.usd.parts import UsdPart, read_parts


def triangles(folder: Path, content: str, prim: str = "/W/m") -> UsdTriangles:
    stage = opened(folder, content)
    return mesh_triangles(stage, stage.stage.GetPrimAtPath(prim))


def parts(folder: Path, content: str) -> list[UsdPart]:
    stage = opened(folder, content)
    prim = stage.stage.GetPrimAtPath("/W/m")
    return list(read_parts(stage, Looks(stage), prim, stage.transform(prim)))


def volume(points: NDArray[np.float64], faces: NDArray[np.int64]) -> float:
    a, b, c = np.moveaxis(points[faces], 1, 0)
    return float(np.einsum("fx,fx->", a, np.cross(b, c)) / 6)


def test_a_cube_is_closed_and_faces_outward(tmp_path: Path) -> None:
    cube = triangles(tmp_path, mesh("m"))
    assert len(cube) == 12
    np.testing.assert_allclose(volume(cube.points, cube.faces), 8.0)
    middles = cube.points[cube.faces].mean(axis=1)
    assert np.all(np.einsum("fkx,fx->fk", cube.normals, middles) > 0.9)


def test_left_handed_faces_are_turned_round(tmp_path: Path) -> None:
    cube = triangles(tmp_path, mesh("m", more='uniform token orientation = "leftHanded"'))
    np.testing.assert_allclose(volume(cube.points, cube.faces), -8.0)
    across = np.cross(*np.moveaxis(np.diff(cube.points[cube.faces], axis=1), 1, 0))
    assert np.all(np.einsum("fkx,fx->fk", cube.normals, across) > 0)


@pytest.mark.parametrize("scale", [(2, 1, 1), (-2, 1, 1), (-2, -1, -1)])
def test_scale_and_mirror_go_into_the_points(tmp_path: Path, scale: tuple[int, ...]) -> None:
    more = f'float3 xformOp:scale = {scale}\nuniform token[] xformOpOrder = ["xformOp:scale"]'
    (part,) = parts(tmp_path, mesh("m", more=more))
    np.testing.assert_allclose(volume(part.points, part.faces), 16.0)
    outward = np.einsum("fkx,fkx->fk", part.normals, part.points[part.faces])
    assert np.all(outward > 0.9)


def test_normals_of_every_interpolation_are_kept(tmp_path: Path) -> None:
    tilted = "(0, 0.6, 0.8)"
    for way, count in (("constant", 1), ("uniform", 1), ("vertex", 4), ("faceVarying", 4)):
        listed = ", ".join([tilted] * count)
        more = f'normal3f[] normals = [{listed}] (interpolation = "{way}")'
        found = triangles(tmp_path / way, mesh("m", SQUARE, more)).normals
        np.testing.assert_allclose(found, np.broadcast_to([0, 0.6, 0.8], (2, 3, 3)), atol=1e-7)


def test_the_base_cage_of_a_subdivided_mesh_is_smooth_and_reported(tmp_path: Path) -> None:
    stage = opened(tmp_path, mesh("m", CUBE.replace('"none"', '"catmullClark"')))
    found = mesh_triangles(stage, stage.stage.GetPrimAtPath("/W/m"))
    corner = found.normals[found.faces == 7][0]
    assert np.all(corner > 0.3)
    assert "/W/m: subdivisionScheme catmullClark: its base cage is shown, not divided" in (
        stage.notes.approximated
    )


def test_holes_are_left_open(tmp_path: Path) -> None:
    assert len(triangles(tmp_path, mesh("m", more="int[] holeIndices = [0, 3]"))) == 8


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0,2,3,1,", "0,2,8,1,", r"/W/m: faceVertexIndices\[2\] = 8; there are 8 points"),
        ("0,2,3,1,", "0,-2,3,1,", r"faceVertexIndices\[1\] = -2"),
        ("[4, 4, 4,", "[4, 4, 5,", "faceVertexCounts add up to 25, but there are 24"),
        ("[4, 4, 4,", "[4, 2, 4,", r"faceVertexCounts\[1\] = 2; a face has at least 3"),
        (CUBE, "", "an empty mesh: it has no points"),
        ("faceVertexCounts = [4, 4, 4, 4, 4, 4]", "faceVertexCounts = []", "it has no faces"),
        (str(CUBE_POINTS), str([(0, 0, 0)] * 8), "no face of it has an area"),
    ],
)
def test_faces_that_do_not_fit_are_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(AssetError, match=message):
        triangles(tmp_path, mesh("m", CUBE.replace(old, new)))


def test_too_few_normals_are_refused(tmp_path: Path) -> None:
    more = 'normal3f[] normals = [(0,0,1)] (interpolation = "vertex")'
    with pytest.raises(AssetError, match="normals has 1 values; with interpolation vertex"):
        triangles(tmp_path, mesh("m", SQUARE, more))


def subset(name: str, indices: str) -> str:
    return (
        f'def GeomSubset "{name}" {{ uniform token elementType = "face"\n'
        f'uniform token familyName = "materialBind"\nint[] indices = {indices}\n}}\n'
    )


def test_subsets_become_parts_and_the_rest_another(tmp_path: Path) -> None:
    more = subset("lid", "[1]") + subset("sides", "[4, 5]")
    found = parts(tmp_path, mesh("m", more=more))
    # Each triangle of a coarse part is cut in sixteen.
    assert [(part.path, len(part.faces) // 16) for part in found] == [
        ("/W/m/lid", 2),
        ("/W/m/sides", 4),
        ("/W/m", 6),
    ]
    np.testing.assert_allclose(found[0].points[:, 2], 1.0)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (subset("lid", "[6]"), r"/W/m/lid: indices\[0\] = 6; the mesh has 6 faces"),
        (subset("a", "[1]") + subset("b", "[2, 1]"), "/W/m/b: face 1 belongs to another subset"),
    ],
)
def test_subsets_that_do_not_fit_are_refused(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(AssetError, match=message):
        parts(tmp_path, mesh("m", more=more))


EXTENTS = {
    "Sphere": (2, 2, 2),
    "Cube": (2, 2, 2),
    "Cylinder": (2, 2, 3),
    "Capsule": (2, 2, 5),
    "Cone": (2, 2, 3),
    "Plane": (2, 3, 0),
}
SIZES = {
    "Cube": "double size = 2",
    "Plane": "double width = 2\ndouble length = 3",
    "Sphere": "double radius = 1",
}


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("axis", ["X", "Y", "Z"])
def test_shapes_have_their_size_along_their_axis(tmp_path: Path, kind: str, axis: str) -> None:
    size = SIZES.get(kind, "double radius = 1\ndouble height = 3")
    along = "" if kind in ("Sphere", "Cube") else f'uniform token axis = "{axis}"'
    stage = opened(tmp_path, f'def {kind} "m" {{ {size}\n{along}\n}}')
    found = shape_triangles(stage, stage.stage.GetPrimAtPath("/W/m"))
    turns = {"X": 1, "Y": 2, "Z": 0}[axis] if along else 0
    expected = np.roll(EXTENTS[kind], turns)
    np.testing.assert_allclose(np.ptp(found.points, axis=0), expected, atol=0.02)
    if kind != "Plane":
        assert volume(found.points, found.faces) > 0.7 * np.prod(EXTENTS[kind]) / (
            3.9 if kind == "Cone" else 2.0
        )
    across = np.cross(*np.moveaxis(np.diff(found.points[found.faces], axis=1), 1, 0))
    assert np.all(np.einsum("fkx,fx->fk", found.normals, across) > 0)


def test_a_shape_without_a_size_is_refused(tmp_path: Path) -> None:
    stage = opened(tmp_path, 'def Sphere "m" { double radius = -1\n}')
    with pytest.raises(AssetError, match=r"/W/m: radius = -1; it should be above 0"):
        shape_triangles(stage, stage.stage.GetPrimAtPath("/W/m"))


def test_a_double_sided_mesh_is_one_surface_seen_from_both_sides(tmp_path: Path) -> None:
    path = write(tmp_path, mesh("m", SQUARE, "uniform bool doubleSided = 1"))
    scene = convert_usd(tmp_path / "out", UsdConfig(path=path))
    (part,) = scene.info.parts
    assert scene.value(f"{part.path}.doubleSided") is True
    model = scene.load_model()
    assert len(scene.triangles(part.path).faces) == 32
    assert model.mesh_facenum[model.geom_dataid[part.geom_id]] == 64


def test_a_single_triangle_is_converted(tmp_path: Path) -> None:
    body = SQUARE.replace("[4]", "[3]").replace("[0, 1, 2, 3]", "[0, 1, 2]")
    scene = convert_usd(tmp_path / "out", UsdConfig(path=write(tmp_path, mesh("m", body))))
    assert isinstance(scene, Scene) and len(scene.info.parts) == 1
