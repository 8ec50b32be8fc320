from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdValidation
from usd_stages import CUBE, mesh, translate, write

from datagen.backends.base import Buffers, Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mujoco.backend import MujocoBackend
from scenes import SampleLayer, Scene, SceneError, convert_mjcf, convert_usd, pinhole, usd_scene
from scenes.sources.additions import AddedCamera
from scenes.sources.usd.config import UsdConfig

SIZE = Size(96, 96)
PASSES = frozenset({"part", "depth", "albedo"})
CAMERA = (
    'def Camera "eye" {{ float focalLength = 20\nfloat horizontalAperture = {across}\n'
    "float verticalAperture = {down}\nfloat2 clippingRange = (1, 10000)\n{more}\n}}\n"
)
ROOM = """
<mujoco><asset>
<texture name="t" type="2d" builtin="checker" rgb1=".9 .2 .1" rgb2=".1 .2 .9" width="64" height="64"
 mark="edge" markrgb="0 1 0"/>
<texture type="skybox" builtin="gradient" rgb1=".2 .4 .6" rgb2=".9 .9 .9" width="16" height="96"/>
<material name="tiled" texture="t" texrepeat="2 3"/><material name="red" rgba=".8 .1 .1 1"
 shininess=".8" specular=".3"/></asset>
<visual><headlight ambient=".2 .2 .2" diffuse=".3 .3 .3"/></visual>
<worldbody>
<light name="lamp" pos="1 -1 3" dir="-.3 .3 -1" cutoff="60" exponent="5" diffuse=".6 .5 .4"/>
<light name="sun" type="directional" dir="0 .5 -1" diffuse=".2 .2 .3"/>
<camera name="front" pos="0 -3 1.2" xyaxes="1 0 0 0 .35 .94"/>
<camera name="off" pos="0 -3 1.2" xyaxes="1 0 0 0 .35 .94" sensorsize=".02 .015" focal=".02 .02"
 principal=".002 -.001" resolution="80 60"/>
<geom name="floor" type="plane" size="2 2 .1" material="tiled"/>
<body name="crate" pos="-.5 0 .4" euler="0 0 30"><freejoint/>
<geom name="crate" type="box" size=".3 .2 .4" material="tiled"/></body>
<body name="ball" pos=".5 0 .3"><geom name="ball" size=".3" material="red"/>
<body name="arm" pos="0 0 .4"><joint name="h"/>
<geom name="arm" type="capsule" fromto="0 0 0 .3 0 .3" size=".07"/>
<camera name="wrist" pos="0 -1 .2" xyaxes="1 0 0 0 0 1"/></body></body>
</worldbody></mujoco>
"""


def rendered(scene: Scene, cameras: list[str]) -> dict[tuple[str, str], Buffers]:
    shown: dict[tuple[str, str], Buffers] = {}
    sample = SampleLayer(scene, scene.info.default_state)
    for backend in (MujocoBackend(samples=0), MitsubaBackend(spp=1, cull_back_faces=True)):
        backend.open(scene)
        backend.apply(sample)
        for camera in cameras:
            shown[backend.name, camera] = backend.render(camera, SIZE, PASSES)
        backend.close()
    return shown


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scene, Scene]:
    """A MuJoCo model converted, and its stage converted again as a USD source."""
    folder = tmp_path_factory.mktemp("round")
    (folder / "room.xml").write_text(ROOM)
    first = convert_mjcf(folder / "room.xml", folder / "first")
    return first, convert_usd(folder / "second", UsdConfig(path=first.folder / "scene.usda"))


def test_a_converted_scene_keeps_objects_bodies_and_cameras(pair: tuple[Scene, Scene]) -> None:
    first, second = pair
    for name in ("objects", "cameras", "lights"):
        theirs, ours = (
            [(each.name, getattr(each, "label", "")) for each in getattr(scene.info, name)]
            for scene in pair
        )
        assert sorted(theirs) == sorted(ours)
    free = [{body.name for body in scene.info.bodies if body.free} for scene in pair]
    assert free == [{"crate"}, {"crate"}]
    poses = [
        {
            body.name: pose
            for body, pose in zip(
                scene.info.bodies,
                scene.world_transforms([body.path for body in scene.info.bodies]),
                strict=True,
            )
        }
        for scene in (first, second)
    ]
    for name in ("crate", "ball", "arm"):
        np.testing.assert_allclose(poses[1][name], poses[0][name], atol=1e-9)


def test_a_converted_scene_keeps_lights_headlight_looks_and_sky(pair: tuple[Scene, Scene]) -> None:
    first, second = (scene.load_model() for scene in pair)
    for light in ("lamp", "sun"):
        for field in ("diffuse", "ambient", "specular", "cutoff", "exponent", "pos", "dir"):
            ours, theirs = (getattr(model.light(light), field) for model in (second, first))
            np.testing.assert_allclose(ours, theirs, atol=1e-6, err_msg=f"{light} {field}")
    for field in ("ambient", "diffuse", "specular"):
        np.testing.assert_allclose(
            getattr(second.vis.headlight, field), getattr(first.vis.headlight, field), atol=1e-6
        )
    np.testing.assert_allclose(second.material("red").rgba, [0.8, 0.1, 0.1, 1], atol=1e-6)
    assert second.material("red").shininess == pytest.approx(0.8)
    assert pair[1].has("/World/lights/skybox.datagen:cube")


def test_a_converted_scene_keeps_its_lenses(pair: tuple[Scene, Scene]) -> None:
    for camera in ("front", "off", "wrist"):
        first, second = (pinhole(scene, camera, 80, 60) for scene in pair)
        np.testing.assert_allclose(second.K, first.K, rtol=1e-6)
        np.testing.assert_allclose(second.T_world_camera, first.T_world_camera, atol=1e-9)


@pytest.mark.gl
def test_a_converted_scene_looks_the_same_to_both_renderers(pair: tuple[Scene, Scene]) -> None:
    cameras = ["front", "off", "wrist"]
    first, second = (rendered(scene, cameras) for scene in pair)
    number = {part.path: part.part for part in pair[0].info.parts}
    same_part = np.zeros(len(pair[1].info.parts) + 1, np.int32)
    for part in pair[1].info.parts:
        note = pair[1].stage.GetPrimAtPath(part.path).GetCustomDataByKey("datagen")
        same_part[part.part] = number[note["prim"]]
    for view, ours in second.items():
        theirs = first[view]
        assert ours.part is not None and theirs.part is not None
        assert ours.depth is not None and theirs.depth is not None
        assert ours.albedo is not None and theirs.albedo is not None
        same = same_part[ours.part] == theirs.part
        assert same.mean() >= 0.999, view
        mujoco_part = second["mujoco", view[1]].part
        assert (ours.part == mujoco_part).mean() >= 0.999, view
        there = same & (theirs.part > 0)
        assert there.mean() > 0.2
        assert np.abs(ours.depth[there] - theirs.depth[there]).max() < 1e-4, view
        assert np.median(np.abs(ours.albedo - theirs.albedo)[there]) < 1e-4, view


def box_stage(folder: Path, camera: str) -> Path:
    """A box of 40 x 20 x 60 cm, Y up in centimetres, turned by 30 degrees below two prims."""
    box = mesh(
        "box",
        CUBE.replace("catmullClark", "none"),
        'float3 xformOp:scale = (20, 10, 30)\nuniform token[] xformOpOrder = ["xformOp:scale"]',
    )
    turned = (
        f'def Xform "inner" {{ double xformOp:rotateY = 30\n'
        f'uniform token[] xformOpOrder = ["xformOp:rotateY"]\n{box}}}\n'
    )
    content = f'def Xform "outer" {{ {translate(10, 20, -15)} {turned} }}\n' + camera
    return write(folder, content, up="Y", unit=0.01)


def test_corners_of_a_nested_box_lie_where_the_stage_puts_them(tmp_path: Path) -> None:
    camera = CAMERA.format(across=24, down=18, more=translate(0, 20, 200))
    scene = convert_usd(tmp_path / "out", UsdConfig(path=box_stage(tmp_path, camera)))
    (part,) = scene.info.parts
    (T,) = scene.world_transforms([part.path])
    points = scene.triangles(part.path).points.astype(float) @ T[:3, :3].T + T[:3, 3]
    c, s = math.cos(math.radians(30)), math.sin(math.radians(30))
    corners = []
    for x in (-20, 20):
        for y in (-10, 10):
            for z in (-30, 30):
                # About Y, then moved; Y becomes Z, centimetres become metres.
                right, up, back = c * x + s * z + 10, y + 20, -s * x + c * z - 15
                corners.append(np.array([right, -back, up]) / 100)
    for corner in corners:
        assert np.linalg.norm(points - corner, axis=1).min() < 1e-7
    lens = pinhole(scene, "eye", 160, 120)
    focal = 120 * 20 / 18
    np.testing.assert_allclose(lens.K, [[focal, 0, 80], [0, focal, 60], [0, 0, 1]], rtol=1e-6)
    local = np.linalg.inv(lens.T_world_camera) @ np.append(corners[0], 1.0)
    # The corner -20 -10 -30 as the camera, 200 cm back and 20 cm up, sees it.
    right, up, back = c * -20 + s * -30 + 10, -10.0, 200 - (-s * -20 + c * -30 - 15)
    np.testing.assert_allclose(local[:3], np.array([right, -up, back]) / 100, atol=1e-9)
    assert lens.near == pytest.approx(0.01)


@pytest.mark.gl
def test_both_renderers_see_the_box_where_the_camera_projects_it(tmp_path: Path) -> None:
    camera = CAMERA.format(across=24, down=24, more=translate(0, 20, 200))
    scene = convert_usd(tmp_path / "out", UsdConfig(path=box_stage(tmp_path, camera)))
    (part,) = scene.info.parts
    lens = pinhole(scene, "eye", *SIZE)
    (T,) = scene.world_transforms([part.path])
    points = scene.triangles(part.path).points.astype(float) @ T[:3, :3].T + T[:3, 3]
    local = (points - lens.T_world_camera[:3, 3]) @ lens.T_world_camera[:3, :3]
    pixels = (local @ lens.K.T)[:, :2] / local[:, 2:]
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    for view, found in rendered(scene, ["eye"]).items():
        assert found.part is not None and found.depth is not None
        rows, columns = np.nonzero(found.part)
        for seen, ends in ((columns, (low[0], high[0])), (rows, (low[1], high[1]))):
            # A pixel counts where its centre is covered.
            assert abs(seen.min() + 0.5 - ends[0]) <= 1.0, view
            assert abs(seen.max() + 0.5 - ends[1]) <= 1.0, view
        assert found.depth[found.part > 0].min() >= local[:, 2].min() - 1e-5


def test_an_aperture_offset_moves_the_principal_point(tmp_path: Path) -> None:
    more = "float horizontalApertureOffset = 3\nfloat verticalApertureOffset = -1.5"
    path = box_stage(tmp_path, CAMERA.format(across=24, down=18, more=more))
    scene = convert_usd(tmp_path / "out", UsdConfig(path=path))
    lens = pinhole(scene, "eye", 160, 120)
    # The picture's window is moved right and down, so its middle moves left and up.
    np.testing.assert_allclose(lens.K[:2, 2], [80 - 20, 60 - 10], rtol=1e-5)
    assert "its aperture has an offset" in (scene.folder / "report.json").read_text()


def test_the_stage_passes_usds_own_validators(pair: tuple[Scene, Scene]) -> None:
    stage = Usd.Stage.Open(str(pair[1].folder / "scene.usda"))
    registry = UsdValidation.ValidationRegistry()
    names = ("usdValidation:CompositionErrorTest", "usdValidation:StageMetadataChecker")
    context = UsdValidation.ValidationContext(
        [v for v in registry.GetOrLoadAllValidators() if v.GetMetadata().name in names]
    )
    assert not context.Validate(stage)


def test_a_scene_without_camera_and_light_gets_one_of_each(tmp_path: Path) -> None:
    scene = convert_usd(tmp_path / "out", UsdConfig(path=write(tmp_path, mesh("m"))))
    assert [camera.name for camera in scene.info.cameras] == ["view"]
    lens = pinhole(scene, "view", 100, 100)
    corners = np.array([(x, y, z, 1) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    local = (corners @ np.linalg.inv(lens.T_world_camera).T)[:, :3]
    pixels = (local @ lens.K.T)[:, :2] / local[:, 2:]
    assert pixels.min() > 0 and pixels.max() < 100
    approximated = json.loads((scene.folder / "report.json").read_text())["approximated"]
    assert [text.partition(":")[0] for text in approximated if "added" in text] == [
        "cameras",
        "lights",
    ]


def test_cameras_are_added_where_the_config_says(tmp_path: Path) -> None:
    path = box_stage(tmp_path, CAMERA.format(across=24, down=18, more=""))
    camera = AddedCamera(position=(0, -2, 1), look_at=(0, 0, 1), fovy=90)
    scene = convert_usd(tmp_path / "out", UsdConfig(path=path, cameras={"side": camera}))
    assert [each.name for each in scene.info.cameras] == ["eye", "side"]
    lens = pinhole(scene, "side", 100, 100)
    np.testing.assert_allclose(lens.T_world_camera[:3, 2], [0, 1, 0], atol=1e-9)
    assert lens.K[0, 0] == pytest.approx(50)
    with pytest.raises(SceneError, match=r"cameras\.eye: there is a camera of this name"):
        convert_usd(tmp_path / "again", UsdConfig(path=path, cameras={"eye": camera}))


def test_the_main_camera_is_the_first_or_the_one_named(tmp_path: Path) -> None:
    path = write(tmp_path, mesh("m") + 'def Camera "a" {}\ndef Camera "b" {}\n')
    for number, (named, main) in enumerate(((None, "a"), ("b", "b"))):
        source = UsdConfig(path=path, main_camera=named)
        assert convert_usd(tmp_path / str(number), source).info.main_camera == main
    with pytest.raises(SceneError, match=r"main_camera: no camera 'c'. Known: a, b"):
        convert_usd(tmp_path / "out", UsdConfig(path=path, main_camera="c"))


def test_a_cached_scene_is_made_again_where_a_file_changed(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    source = UsdConfig(path=write(tmp_path / "s", mesh("m")))
    first = usd_scene(source, cache)
    assert usd_scene(source, cache).folder == first.folder
    other = UsdConfig(path=write(tmp_path / "t", mesh("m") + mesh("n")))
    assert usd_scene(other, cache).folder != first.folder
    assert usd_scene(UsdConfig(path=source.path, collision="hull"), cache).folder != first.folder


def test_nothing_is_left_behind_by_a_refusal(tmp_path: Path) -> None:
    path = write(tmp_path, mesh("m", CUBE.replace("0,2,3,1,", "0,2,9,1,")))
    with pytest.raises(SceneError, match="faceVertexIndices"):
        convert_usd(tmp_path / "out", UsdConfig(path=path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["stage.usda"]
