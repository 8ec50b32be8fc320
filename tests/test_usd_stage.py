from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from usd_stages import CUBE, SQUARE, mesh, opened, translate, write

from scenes import AssetError
from scenes.sources.usd.build import compile_usd
from scenes.sources.usd.config import UsdConfig
from scenes.sources.usd.reading.stage import open_usd
from scenes.sources.usd.reading.unread import note_unread


def bare(folder: Path, metadata: str) -> Path:
    path = folder / "bare.usda"
    path.write_text(f'#usda 1.0\n(\n{metadata}\n)\ndef Xform "W" {{ {mesh("m")} }}\n')
    return path


def test_a_stage_without_up_axis_is_refused_unless_the_source_says_it(tmp_path: Path) -> None:
    path = bare(tmp_path, "metersPerUnit = 1")
    with pytest.raises(AssetError, match=r"upAxis is not stated.*up_axis: Y"):
        open_usd(UsdConfig(path=path))
    stage = open_usd(UsdConfig(path=path, up_axis="Y"))
    np.testing.assert_allclose(stage.T_scene_stage[:3, 1], [0, 0, 1])


def test_a_stage_without_unit_is_refused_unless_the_source_says_it(tmp_path: Path) -> None:
    path = bare(tmp_path, 'upAxis = "Z"')
    with pytest.raises(AssetError, match=r"metersPerUnit is not stated.*meters_per_unit"):
        open_usd(UsdConfig(path=path))
    stage = open_usd(UsdConfig(path=path, meters_per_unit=0.5))
    np.testing.assert_allclose(stage.T_scene_stage, np.diag([0.5, 0.5, 0.5, 1]))


def test_y_up_centimetres_become_z_up_metres_and_the_report_says_so(tmp_path: Path) -> None:
    stage = opened(tmp_path, mesh("m", more=translate(10, 20, 30)), up="Y", unit=0.01)
    pose = stage.pose(stage.stage.GetPrimAtPath("/W/m"))
    np.testing.assert_allclose(pose[:3, 3], [0.1, -0.3, 0.2])
    np.testing.assert_allclose(pose[:3, :3], [[1, 0, 0], [0, 0, -1], [0, 1, 0]], atol=1e-12)
    assert [text.partition(":")[0] for text in stage.notes.approximated] == ["up axis", "unit"]


def test_a_pose_keeps_directions_and_drops_scale_and_mirror(tmp_path: Path) -> None:
    stage = opened(
        tmp_path,
        mesh(
            "m",
            more="double xformOp:rotateZ = 90\nfloat3 xformOp:scale = (-2, 3, 4)\n"
            'uniform token[] xformOpOrder = ["xformOp:rotateZ", "xformOp:scale"]',
        ),
    )
    pose = stage.pose(stage.stage.GetPrimAtPath("/W/m"))
    np.testing.assert_allclose(pose[:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (mesh("m", CUBE.replace("(1, -1, -1)", "(1, nan, -1)")), r"/W/m: points\[1\] = \(1, nan"),
        (mesh("m", more="float3[] extent = [(0,0,0), (inf,1,1)]"), r"/W/m: extent\[1\]"),
        (mesh("m", more="normal3f[] normals = [(0,0,inf)]"), r"normals\[0\] = \(0, 0, inf\)"),
        (
            'def Xform "x" { ' + translate(0, float("nan"), 0) + mesh("m") + "}",
            r"/W/x: xformOp:translate = \(0, nan, 0\) is not finite",
        ),
        (
            mesh("m") + 'def DistantLight "sun" { float inputs:intensity = inf\n}',
            r"/W/sun: inputs:intensity = \(inf\) is not finite",
        ),
        (
            mesh("m") + 'def Camera "c" { float focalLength = nan\n}',
            r"/W/c: focalLength = \(nan\) is not finite",
        ),
        (
            mesh("m", more="float3 xformOp:scale = (1, 0, 1)\n"
                 'uniform token[] xformOpOrder = ["xformOp:scale"]'),
            r"/W/m: its transform is singular \(scale 1, 0, 1\)",
        ),
    ],
)  # fmt: skip
def test_numbers_that_are_not_finite_are_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(AssetError, match=message):
        compile_usd(UsdConfig(path=write(tmp_path, content)))


def test_values_that_vary_with_time_are_read_at_their_first_sample(tmp_path: Path) -> None:
    moving = (
        "double3 xformOp:translate.timeSamples = {1: (5, 0, 0), 9: (7, 0, 0)}\n"
        'uniform token[] xformOpOrder = ["xformOp:translate"]\n'
    )
    found = compile_usd(UsdConfig(path=write(tmp_path, mesh("m", more=moving))))
    np.testing.assert_allclose(found.compiled.model.body("m").pos, [5, 0, 0])
    assert "1 attributes vary with time: their first values are shown" in found.compiled.changes


def test_a_transform_that_is_not_affine_is_refused(tmp_path: Path) -> None:
    rows = "((1,0,0,0.5), (0,1,0,0), (0,0,1,0), (0,0,0,1))"
    more = f"matrix4d xformOp:transform = {rows}\n"
    more += 'uniform token[] xformOpOrder = ["xformOp:transform"]'
    with pytest.raises(AssetError, match=r"/W/m: its transform is no affine one.*\(0\.5, 0, 0, 1"):
        compile_usd(UsdConfig(path=write(tmp_path, mesh("m", more=more))))


def test_a_shear_goes_into_the_points_and_is_reported(tmp_path: Path) -> None:
    rows = "((1,0,0,0), (0.5,1,0,0), (0,0,1,0), (0,0,0,1))"
    more = f"matrix4d xformOp:transform = {rows}\n"
    more += 'uniform token[] xformOpOrder = ["xformOp:transform"]'
    found = compile_usd(UsdConfig(path=write(tmp_path, mesh("m", more=more))))
    model = found.compiled.model
    R = np.empty(9)
    mujoco.mju_quat2Mat(R, model.geom_quat[0])
    body = np.empty(9)
    mujoco.mju_quat2Mat(body, model.body("m").quat)
    points = model.mesh_vert.astype(float) @ R.reshape(3, 3).T + model.geom_pos[0]
    world = points @ body.reshape(3, 3).T
    np.testing.assert_allclose(np.ptp(world, axis=0), [3, 2, 2], atol=1e-5)
    assert any("sheared" in change for change in found.compiled.changes)


def test_physics_that_is_not_read_is_reported_once_per_kind(tmp_path: Path) -> None:
    stated = (
        "point3f physics:centerOfMass = (0.1, 0, 0)\nvector3f physics:velocity = (0, 0, 0)\n"
        "float3 physics:diagonalInertia = (1, 2, 3)\nfloat physics:density = 0"
    )
    stage = opened(tmp_path, mesh("a", more=stated) + mesh("b", more=stated) + mesh("c"))
    note_unread(stage)
    assert list(stage.notes.left_out) == [
        "/W/a and 1 more: not read, centre of mass: it follows from the shapes",
        "/W/a and 1 more: not read, inertia: it follows from the mass and the shapes",
    ]


SQUARE_OF_PAIRS = SQUARE.replace("(0,0,0), (1,0,0), (1,1,0), (0,1,0)", "(0,0), (1,0), (1,1)")
BOUND = mesh("m", more="rel material:binding = </W/look>")


def look(inputs: str) -> str:
    return (
        'def Material "look" { token outputs:surface.connect = </W/look/s.outputs:surface>\n'
        f'def Shader "s" {{ uniform token info:id = "UsdPreviewSurface"\n{inputs}\n'
        f"token outputs:surface\n}}\n}}\n{BOUND}"
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('def Sphere "s" {\nstring radius = "x"\n}', "/W/s: radius = 'x' should be a number"),
        ('def Cube "s" {\ndouble[] size = [1, 2]\n}', "/W/s: size = .* should be a number"),
        (
            mesh("m", SQUARE_OF_PAIRS.replace("point3f[]", "float2[]")),
            "/W/m: points should hold vectors of 3 numbers",
        ),
        (
            mesh("m", more='string[] primvars:displayColor = ["x"]'),
            "/W/m: primvars:displayColor should hold vectors of 3 numbers",
        ),
        (
            mesh("m") + 'def DistantLight "l" {\nstring inputs:color = "x"\n}',
            "/W/l: inputs:color = 'x' should be 3 numbers",
        ),
        (
            mesh("m") + 'def DistantLight "l" {\nfloat inputs:exposure = 1e30\n}',
            r"/W/l: with inputs:exposure = 1e\+30 its brightness",
        ),
        (
            mesh("m") + 'def Camera "c" {\nstring clippingRange = "x"\n}',
            "/W/c: clippingRange = 'x' should be 2 numbers",
        ),
        (look('string inputs:metallic = "x"'), "inputs:metallic = 'x' should be a n"),
        (
            look("float inputs:diffuseColor = 1"),
            "inputs:diffuseColor = 1.0 should be",
        ),
        (look('string inputs:emissiveColor = "x"'), "inputs:emissiveColor = 'x'"),
        (
            'def Cube "s" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {\n'
            "float physics:mass = -1\n}",
            "/W/s: physics:mass = -1; it should be at least 0",
        ),
        (
            'def Cube "s" {\nuniform token[] xformOpOrder = ["xformOp:warp"]\n}',
            "USD refuses this: Invalid xform opType token 'warp'",
        ),
    ],
)
def test_values_of_a_wrong_kind_are_refused_by_name(
    tmp_path: Path, content: str, told: str
) -> None:
    path = write(tmp_path, content)
    with pytest.raises(AssetError, match=told):
        compile_usd(UsdConfig(path=path))


def test_an_up_axis_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="upAxis = 'X'; it is Y or Z"):
        opened(tmp_path, mesh("m"), up="X")


def test_a_unit_of_mass_below_zero_is_refused(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        'def Cube "s" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {\n'
        "float physics:mass = 1\n}",
    )
    path.write_text(path.read_text().replace("(\n", "(\n kilogramsPerUnit = -1\n", 1))
    with pytest.raises(AssetError, match="kilogramsPerUnit = -1"):
        compile_usd(UsdConfig(path=path))


@pytest.mark.parametrize("unit", [0.0, 1e300])
def test_a_unit_beyond_all_use_is_refused(tmp_path: Path, unit: float) -> None:
    with pytest.raises(AssetError, match=r"metersPerUnit = .* from 1e-12 to 1e\+12"):
        opened(tmp_path, mesh("m"), unit=unit)
