from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from typer.testing import CliRunner

from datagen.cli import app
from scenes import AssetError, Scene, convert_urdf, pinhole, urdf_scene
from scenes.convert.settings import ObjectGroup
from scenes.sources.additions import AddedCamera
from scenes.sources.urdf.config import UrdfConfig
from scenes.sources.urdf.source import compile_urdf

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
ARM = """<?xml version="1.0"?><robot name="Tiny Arm">{more}
<material name="red"><color rgba="0.8 0.1 0.2 1"/></material>
<link name="base">
 <visual><geometry><mesh filename="{mesh}" scale="1 2 3"/></geometry><material name="red"/></visual>
 <collision><geometry><box size="1 2 3"/></geometry></collision></link>
<link name="arm">
 <visual><origin xyz="0 0 1"/><geometry><cylinder radius=".1" length="2"/></geometry></visual>
 <collision><geometry><sphere radius=".1"/></geometry></collision>
 <inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
</link>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/>
 <origin xyz="0 0 1" rpy="0 0.5 0"/><axis xyz="0 1 0"/>
 <limit lower="-1" upper="2" effort="5" velocity="1"/></joint>
<link name="tool"/>
<joint name="weld" type="fixed"><parent link="arm"/><child link="tool"/>
 <origin xyz="0 0 2"/></joint>
</robot>"""


def urdf(
    folder: Path, mesh: str = "package://parts/meshes/a.obj", more: str = "", **settings: Any
) -> UrdfConfig:
    package = folder / "pkg"
    (package / "meshes").mkdir(parents=True)
    (package / "meshes" / "a.obj").write_text(TETRAHEDRON)
    (folder / "robot").mkdir()
    path = folder / "robot" / "arm.urdf"
    path.write_text(ARM.format(mesh=mesh, more=more))
    return UrdfConfig(**{"path": path, "packages": {"parts": package}} | settings)


def converted(folder: Path, **settings: Any) -> Scene:
    return convert_urdf(folder / "out", urdf(folder, **settings))


def test_links_are_bodies_of_one_object_called_as_the_robot(tmp_path: Path) -> None:
    scene = converted(tmp_path)
    assert [(each.name, each.label) for each in scene.info.objects] == [("Tiny Arm", "tiny_arm")]
    assert [body.name for body in scene.info.bodies] == ["base", "arm", "tool"]
    assert [part.name for part in scene.info.parts] == ["base_visual", "arm_visual"]


def test_a_config_may_group_links(tmp_path: Path) -> None:
    hand = ObjectGroup(label="hand", bodies=("arm", "tool"))
    scene = converted(tmp_path, objects={"hand": hand})
    assert {each.name: each.label for each in scene.info.objects} == {
        "Tiny Arm": "tiny_arm", "hand": "hand",
    }  # fmt: skip


def test_visual_shapes_are_drawn_and_collision_shapes_have_proxies(tmp_path: Path) -> None:
    scene = converted(tmp_path)
    model = scene.load_model()
    drawn = {part.geom_id for part in scene.info.parts}
    assert {int(model.geom_type[geom]) for geom in drawn} == {
        int(mujoco.mjtGeom.mjGEOM_MESH), int(mujoco.mjtGeom.mjGEOM_CYLINDER),
    }  # fmt: skip
    proxies = [p for p in scene.stage.Traverse() if p.GetPath().GetParentPath().name == "collision"]
    assert len(proxies) == 2


def test_colours_scales_and_limits_are_those_of_the_file(tmp_path: Path) -> None:
    scene = converted(tmp_path)
    model = scene.load_model()
    base = scene.info.parts[0]
    np.testing.assert_allclose(model.geom_rgba[base.geom_id], [0.8, 0.1, 0.2, 1], rtol=1e-6)
    (T,) = scene.world_transforms([base.path])
    points = scene.triangles(base.path).points.astype(float) @ T[:3, :3].T + T[:3, 3]
    np.testing.assert_allclose(points.max(axis=0), [1, 2, 3], atol=1e-6)
    joint = next(p for p in scene.stage.Traverse() if p.GetName() == "turn")
    limits = [joint.GetAttribute(f"physics:{end}Limit").Get() for end in ("lower", "upper")]
    np.testing.assert_allclose(np.radians(limits), [-1, 2], rtol=1e-6)
    np.testing.assert_allclose(model.body("arm").pos, [0, 0, 1])


def test_without_visual_shapes_the_collision_shapes_are_drawn(tmp_path: Path) -> None:
    source = urdf(tmp_path)
    text = source.path.read_text()
    while "<visual>" in text:
        start, end = text.index("<visual>"), text.index("</visual>") + len("</visual>")
        text = text[:start] + text[end:]
    source.path.write_text(text)
    scene = convert_urdf(tmp_path / "out", source)
    assert [part.name for part in scene.info.parts] == ["base_collision", "arm_collision"]


def test_moving_links_without_mass_are_accepted_and_reported(tmp_path: Path) -> None:
    source = urdf(tmp_path)
    text = source.path.read_text().replace('type="fixed"', 'type="continuous"')
    source.path.write_text(text)
    compiled, _ = compile_urdf(source)
    assert any(change.startswith("links without mass") for change in compiled.changes)


def test_two_meshes_of_one_file_name_are_kept_apart(tmp_path: Path) -> None:
    source = urdf(tmp_path)
    (tmp_path / "pkg" / "a.obj").write_text(TETRAHEDRON.replace("1", "2", 1))
    cylinder = '<cylinder radius=".1" length="2"/>'
    text = source.path.read_text()
    source.path.write_text(text.replace(cylinder, '<mesh filename="package://parts/a.obj"/>'))
    scene = convert_urdf(tmp_path / "out", source)
    assert scene.load_model().nmesh == 2


def test_paths_relative_and_absolute_are_followed_within_the_roots(tmp_path: Path) -> None:
    for number, mesh in enumerate(("../pkg/meshes/a.obj", "file://{}/pkg/meshes/a.obj")):
        folder = tmp_path / str(number)
        scene = converted(folder, mesh=mesh.format(folder))
        assert len(scene.info.parts) == 2
    with pytest.raises(AssetError, match=r"pkg/meshes/a\.obj lies outside the folders"):
        converted(tmp_path / "outside", mesh="../pkg/meshes/a.obj", packages={})


def test_mujocos_own_mesh_folder_is_followed_where_the_file_names_it(tmp_path: Path) -> None:
    more = '<mujoco><compiler meshdir="../pkg/meshes"/></mujoco>'
    assert len(converted(tmp_path, mesh="package://x/y/a.obj", more=more).info.parts) == 2


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        ("package://other/a.obj", r"package 'other' is not named. Known: parts.*--package other="),
        ("package://parts/b.obj", r"no such file: .*/pkg/b\.obj"),
        ("package://parts/../../secret.obj", "outside the folders"),
        ("http://host/a.obj", "only paths, file:// and package:// are followed"),
        ("", "a mesh without a file name"),
    ],
)
def test_meshes_that_cannot_be_read_are_refused_by_name(
    tmp_path: Path, mesh: str, message: str
) -> None:
    with pytest.raises(AssetError, match=message):
        converted(tmp_path / "scene", mesh=mesh)


def test_formats_that_mujoco_cannot_read_are_refused_with_the_remedy(tmp_path: Path) -> None:
    source = urdf(tmp_path, mesh="package://parts/a.dae")
    (tmp_path / "pkg" / "a.dae").write_text("<COLLADA/>")
    with pytest.raises(AssetError, match=r"cannot read \.dae files; convert .* to STL or OBJ"):
        compile_urdf(source)


def test_a_vertex_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    source = urdf(tmp_path)
    (tmp_path / "pkg" / "meshes" / "a.obj").write_text(TETRAHEDRON.replace("v 0 1 0", "v 0 inf 0"))
    with pytest.raises(AssetError, match="vertex 2 is not finite"):
        compile_urdf(source)


def test_entities_and_broken_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.urdf"
    for text, message in (
        ('<!DOCTYPE r [<!ENTITY a "b">]><robot name="r"/>', "holds <!DOCTYPE"),
        ('<robot name="r"><link></robot>', "not readable as XML"),
        ("<sdf/>", "the root element is <sdf>; of URDF it is <robot>"),
    ):
        path.write_text(text)
        with pytest.raises(AssetError, match=message):
            compile_urdf(UrdfConfig(path=path))


def test_what_mujoco_does_not_take_is_reported(tmp_path: Path) -> None:
    scene = converted(
        tmp_path,
        more='<gazebo/><material name="m"><texture filename="t.png"/></material>'
        '<joint name="twin" type="fixed"><mimic joint="turn"/><parent link="base"/>'
        '<child link="extra"/></joint><link name="extra"/>',
    )
    left_out = json.loads((scene.folder / "report.json").read_text())["left_out"]
    for sentence in (
        "texture 't.png' of material 'm': MuJoCo reads none from URDF",
        "joint twin: that it mimics another",
        "elements <gazebo>: of other programs, not read",
    ):
        assert sentence in left_out


def test_cameras_come_from_the_config(tmp_path: Path) -> None:
    cameras = {"front": AddedCamera(position=(3, 0, 1), look_at=(0, 0, 1))}
    scene = converted(tmp_path, cameras=cameras)
    lens = pinhole(scene, "front", 64, 64)
    np.testing.assert_allclose(lens.T_world_camera[:3, 2], [-1, 0, 0], atol=1e-9)
    assert len(scene.info.lights) == 1


def test_a_cached_scene_is_made_again_where_a_mesh_changed(tmp_path: Path) -> None:
    source, cache = urdf(tmp_path), tmp_path / "cache"
    first = urdf_scene(source, cache).folder
    assert urdf_scene(source, cache).folder == first
    (tmp_path / "pkg" / "meshes" / "a.obj").write_text(TETRAHEDRON.replace("v 0 1 0", "v 0 2 0"))
    assert urdf_scene(source, cache).folder != first


def test_convert_takes_packages_on_the_command_line(tmp_path: Path) -> None:
    source = urdf(tmp_path)
    arguments = ["convert", str(source.path), str(tmp_path / "out")]
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 3 and "package 'parts' is not named" in refused.output
    done = CliRunner().invoke(app, [*arguments, "--package", f"parts={tmp_path / 'pkg'}"])
    assert done.exit_code == 0, done.output
    assert "2 drawn geoms" in done.output
    wrong = CliRunner().invoke(app, [*arguments[:2], str(tmp_path / "x"), "--package", "parts"])
    assert wrong.exit_code == 2 and "should be NAME=FOLDER" in wrong.output


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ('<mass value="2"', '<mass value="nan"', "link 'arm': mass: value = nan"),
        ('<mass value="2"', '<mass value="-2"', "link 'arm': mass: value = -2"),
        ('ixx="1"', 'ixx="nan"', "link 'arm': inertia: ixx = nan"),
        ('upper="2"', 'upper="nan"', r"joint 'turn': range is not finite: \[-1. nan\]"),
        ('effort="5"', 'effort="inf"', "joint 'turn': actfrcrange is not finite"),
        ('axis xyz="0 1 0"', 'axis xyz="0 inf 0"', "joint 'turn': axis is not finite"),
        ('version="1.0"', 'version="1.0" encoding="utf-7"', "not readable as XML"),
        ('version="1.0"', 'version="1.0" encoding="klingon"', "not readable as XML"),
    ],
)
def test_what_mujoco_would_take_or_trip_over_is_refused(
    tmp_path: Path, was: str, now: str, told: str
) -> None:
    source = urdf(tmp_path)
    text = source.path.read_text()
    assert was in text
    source.path.write_text(text.replace(was, now))
    with pytest.raises(AssetError, match=told):
        convert_urdf(tmp_path / "out", source)
    assert not (tmp_path / "out").exists()


def test_a_robot_without_links_is_refused(tmp_path: Path) -> None:
    source = urdf(tmp_path)
    source.path.write_text("<robot name='r'/>")
    with pytest.raises(AssetError, match="there is no <link>"):
        convert_urdf(tmp_path / "out", source)


def test_elements_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    source = urdf(tmp_path, more="<x>" * 50_000 + "</x>" * 50_000)
    with pytest.raises(AssetError, match="nested too deeply"):
        convert_urdf(tmp_path / "out", source)
