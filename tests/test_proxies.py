from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pxr import UsdGeom, UsdPhysics

from scenes import SampleLayer, Scene, convert_mjcf
from scenes.convert.conversion import Description
from scenes.convert.model import convert_model
from scenes.convert.states import Placement
from scenes.sources.mjcf.compilation import compile_mjcf
from scenes.sources.mjcf.config import MjcfConfig

MODEL = """
<mujoco><asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 2 0 0 0 3"/></asset><worldbody>
<geom name="floor" type="plane" size="0 0 .1"/>
<body name="cup" pos="1 2 3" euler="10 20 30"><freejoint/>
<geom name="box" type="box" size=".1 .2 .3" pos=".5 0 0" euler="40 0 0" group="3"/>
<geom name="mesh" type="mesh" mesh="wedge" pos="0 1 0" euler="0 50 0" group="3"/>
<geom name="ball" size=".2"/>
<geom name="seen" size=".1" contype="0" conaffinity="0"/>
</body></worldbody>
<keyframe><key name="moved" qpos="3 2 1 .5 .5 .5 .5"/></keyframe></mujoco>
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder: Path = tmp_path_factory.mktemp("proxies")
    (folder / "m.xml").write_text(MODEL)
    source = MjcfConfig(path=folder / "m.xml", keyframe="moved")
    scene = convert_mjcf(folder / "m.xml", folder / "out", source=source)
    scene.show(SampleLayer(scene, "moved"))
    return scene


def report(scene: Scene) -> dict:
    return json.loads((scene.folder / "report.json").read_text(encoding="utf-8"))


def boxes(scene: Scene) -> dict[str, UsdGeom.Cube]:
    cubes = [UsdGeom.Cube(p) for p in scene.stage.Traverse() if p.IsA(UsdGeom.Cube)]
    return {c.GetPrim().GetCustomDataByKey("datagen")["name"]: c for c in cubes}


def test_every_colliding_geom_but_the_plane_has_one_box(scene: Scene) -> None:
    assert set(boxes(scene)) == {"box", "mesh", "ball"}
    counts = report(scene)
    assert counts["counts_in"]["collision geoms"] == 4
    assert counts["counts_out"]["collision geoms"] == 4


def test_a_plane_collides_as_a_plane(scene: Scene) -> None:
    (prim,) = (prim for prim in scene.stage.Traverse() if prim.IsA(UsdGeom.Plane))
    assert prim.GetParent().GetPath() == "/World/floor/body"
    plane = UsdGeom.Plane(prim)
    assert plane.GetAxisAttr().Get() == "Z" and prim.HasAPI(UsdPhysics.CollisionAPI)
    assert plane.GetPurposeAttr().Get() == "guide"
    assert plane.GetVisibilityAttr().Get() == "invisible"
    assert prim.GetCustomDataByKey("datagen")["name"] == "floor"


def test_boxes_are_invisible_guides_that_collide(scene: Scene) -> None:
    for name, cube in boxes(scene).items():
        assert str(cube.GetPath()).startswith("/World/cup/cup/collision/geom_"), name
        assert cube.GetPurposeAttr().Get() == "guide"
        assert cube.GetVisibilityAttr().Get() == "invisible"
        assert cube.GetSizeAttr().Get() == 2.0
        assert cube.GetPrim().HasAPI(UsdPhysics.CollisionAPI)


def test_boxes_are_the_geoms_bounding_boxes_with_rotations_composed(scene: Scene) -> None:
    import mujoco

    model = scene.load_model()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    corners = np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, 8).T
    for name, cube in boxes(scene).items():
        geom = model.geom(name).id
        (T,) = scene.world_transforms([str(cube.GetPath())])
        local = model.geom_aabb[geom, :3] + corners * model.geom_aabb[geom, 3:]
        expected = local @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
        assert np.allclose(corners @ T[:3, :3].T + T[:3, 3], expected, atol=1e-12), name


CABINET = """
<mujoco><asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 2 0 0 0 3 .3 .3 .3"/></asset><worldbody>
<geom name="floor" type="plane" size="1 1 .1"/>
<geom name="picture" size=".1" contype="0" conaffinity="0"/>
<body name="case" pos="1 2 3" euler="10 20 30"><freejoint/>
<geom name="shell" type="box" size=".1 .2 .3" pos=".5 0 0" euler="40 0 15"/>
<geom name="foot" type="cylinder" size=".1 .4" euler="50 10 0"/>
<geom name="edge" type="capsule" size=".1 .4" pos="0 .3 0" euler="0 70 0"/>
<body name="drawer" pos="0 1 0" euler="0 0 45"><joint name="slide" type="slide" axis="1 0 0"/>
<geom name="front" type="mesh" mesh="wedge" euler="0 50 0"/>
<geom name="knob" type="ellipsoid" size=".1 .2 .3" euler="30 60 0" pos="0 0 .5"/></body></body>
</worldbody></mujoco>
"""


def cabinet(folder: Path, collision: str) -> Scene:
    (folder / "m.xml").write_text(CABINET)
    source = MjcfConfig.model_validate({"path": folder / "m.xml", "collision": collision})
    return convert_mjcf(folder / "m.xml", folder / collision, source=source)


def surface(scene: Scene, bodies: set[str]) -> np.ndarray:
    """World points on the colliding shapes of some bodies."""
    found = []
    for part in scene.info.parts:
        if part.body.rpartition("/")[2] in bodies:
            (T,) = scene.world_transforms([part.path])
            found.append(scene.triangles(part.path).points @ T[:3, :3].T + T[:3, 3])
    return np.concatenate(found)


@pytest.mark.parametrize(
    ("collision", "expected"),
    [
        ("body_box", {"case": {"case"}, "drawer": {"drawer"}}),
        ("object_box", {"case": {"case", "drawer"}}),
    ],
)
def test_one_box_hugs_all_geoms_of_a_body_or_object(
    tmp_path: Path, collision: str, expected: dict[str, set[str]]
) -> None:
    scene = cabinet(tmp_path, collision)
    cubes = [prim for prim in scene.stage.Traverse() if prim.IsA(UsdGeom.Cube)]
    assert [str(c.GetPath()) for c in cubes] == [
        f"/World/case/{body}/collision/{collision.removesuffix('_box')}" for body in expected
    ]
    for cube, bodies in zip(cubes, expected.values(), strict=True):
        (T,) = scene.world_transforms([str(cube.GetPath())])
        inside = (surface(scene, bodies) - T[:3, 3]) @ np.linalg.inv(T[:3, :3]).T
        assert np.abs(inside).max() <= 1 + 1e-6
        # Drawn round shapes lie inside the true ones by their facets.
        ends = np.stack([inside.max(axis=0), -inside.min(axis=0)])
        assert ends.min() > 0.98
    box, body = scene.world_transforms([str(cubes[0].GetPath()), "/World/case/case"])
    axes = np.linalg.inv(body[:3, :3]) @ box[:3, :3]
    assert np.allclose(axes, np.diag(np.diag(axes)), atol=1e-9)
    around = [line for line in report(scene)["approximated"] if "collision box of object" in line]
    assert len(around) == (collision == "object_box")


def test_boxes_of_bodies_are_exact_for_round_shapes(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    directions = rng.normal(size=(200_000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    (tmp_path / "m.xml").write_text(
        "<mujoco><worldbody><body name='b'>"
        "<geom type='ellipsoid' size='.1 .2 .3' euler='30 60 10'/></body></worldbody></mujoco>"
    )
    source = MjcfConfig(path=tmp_path / "m.xml", collision="body_box")
    scene = convert_mjcf(tmp_path / "m.xml", tmp_path / "out", source=source)
    (part,) = scene.world_transforms([scene.info.parts[0].path])
    (cube,) = scene.world_transforms(["/World/b/b/collision/body"])
    points = directions * [0.1, 0.2, 0.3] @ part[:3, :3].T + part[:3, 3]
    assert np.allclose(np.diag(cube)[:3], np.abs(points).max(axis=0), rtol=1e-3)
    assert np.all(np.diag(cube)[:3] >= np.abs(points).max(axis=0) - 1e-9)


def test_hulls_are_convex_hold_the_geom_and_fill_the_unit_cube(tmp_path: Path) -> None:
    import trimesh

    scene = cabinet(tmp_path, "hull")
    hulls = [p for p in scene.stage.Traverse() if p.HasAPI(UsdPhysics.MeshCollisionAPI)]
    assert len(hulls) == 5
    names = {part.name: part.path for part in scene.info.parts}
    for prim in hulls:
        mesh = UsdGeom.Mesh(prim)
        assert prim.HasAPI(UsdPhysics.CollisionAPI)
        approximation = UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Get()
        assert approximation == "convexHull" and mesh.GetPurposeAttr().Get() == "guide"
        points = np.array(mesh.GetPointsAttr().Get(), dtype=float)
        assert np.allclose([points.min(axis=0), points.max(axis=0)], [[-1] * 3, [1] * 3], atol=1e-6)
        faces = np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)
        hull = trimesh.Trimesh(points, faces)
        assert hull.is_watertight and hull.volume > 0
        assert abs(hull.convex_hull.volume - hull.volume) < 1e-5
        name = prim.GetCustomDataByKey("datagen")["name"]
        drawn, T = scene.world_transforms([names[name], str(prim.GetPath())])
        shape = scene.triangles(names[name]).points @ drawn[:3, :3].T + drawn[:3, 3]
        local = (shape - T[:3, 3]) @ np.linalg.inv(T[:3, :3]).T
        corners = points[faces]
        outward = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        outward /= np.linalg.norm(outward, axis=1, keepdims=True)
        reach = np.einsum("fpx,fx->fp", local[None] - corners[:, :1], outward)
        assert reach.max() < 1e-5, name


def test_a_flat_shape_is_thickened_and_reported(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(
        "<mujoco><worldbody><body name='b'><geom name='card' type='box' size='1 2 3'/></body>"
        "</worldbody></mujoco>"
    )
    compiled = compile_mjcf(tmp_path / "m.xml")
    compiled.model.geom_aabb[0] = [0, 0, 0.5, 1, 2, 0]
    description = Description("s", "mjcf/m.xml", "", {})
    state = {"rest": Placement(compiled.model.qpos0)}
    scene = convert_model(compiled, tmp_path / "out", description, state)
    (T,) = scene.world_transforms([str(boxes(scene)["card"].GetPath())])
    assert np.allclose(np.diag(T), [1, 2, 5e-4, 1]) and np.allclose(T[:3, 3], [0, 0, 0.5])
    assert any("geom card: flat, so thickened to 1 mm" in x for x in report(scene)["approximated"])


def test_objects_that_do_not_collide_are_named(tmp_path: Path) -> None:
    lines = report(cabinet(tmp_path, "boxes"))["left_out"]
    assert [x.split(":")[0] for x in lines if "no collision proxy" in x] == ["object picture"]


@pytest.mark.parametrize(
    ("collision", "bound"),
    [("boxes", "they are in the box, as in MuJoCo's"), ("hull", "they are left outside")],
)
def test_the_report_tells_which_bound_a_proxy_of_unused_vertices_took(
    tmp_path: Path, collision: str, bound: str
) -> None:
    faces = "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    solid = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    (tmp_path / "solid.obj").write_text(solid + faces)
    (tmp_path / "stray.obj").write_text(solid + "v 9 9 9\n" + faces)
    (tmp_path / "m.xml").write_text(
        "<mujoco><asset><mesh name='solid' file='solid.obj'/><mesh name='stray' file='stray.obj'/>"
        "</asset><worldbody><geom name='a' type='mesh' mesh='solid'/>"
        "<geom name='b' type='mesh' mesh='stray'/></worldbody></mujoco>"
    )
    source = MjcfConfig.model_validate({"path": tmp_path / "m.xml", "collision": collision})
    scene = convert_mjcf(source.path, tmp_path / "out", source=source)
    (told,) = (line for line in report(scene)["approximated"] if "no face uses" in line)
    assert told.startswith("collision proxy of geom b: ") and bound in told
