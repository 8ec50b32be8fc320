from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from mujoco.rendering.classic import renderer as plain_renderer
from PIL import Image, PngImagePlugin
from pxr import Gf, UsdGeom

from datagen.backends.base import Buffers, Size
from datagen.backends.errors import BackendError
from datagen.backends.mujoco.backend import MUJOCO_PASSES, MujocoBackend
from datagen.backends.mujoco.gl import choose_gl
from datagen.configuration.config import cache_folder
from scenes import SampleLayer, Scene, convert_mjcf, libero_bundle, libero_scene, pinhole
from scenes.stage.colors import srgb_decode, srgb_encode

pytestmark = pytest.mark.gl

CASES = Path(__file__).parent / "cases"
ALL = {"rgb", "part", "depth"}
SIZE = Size(96, 72)

ROOM = """
<mujoco>
  <visual><headlight diffuse=".3 .3 .3"/><global offwidth="96" offheight="72"/>
    <quality shadowsize="512"/></visual>
  <asset>
    <texture name="checks" type="2d" builtin="checker" rgb1=".8 .7 .6" rgb2=".2 .3 .4"
      width="64" height="64"/>
    <material name="checks" texture="checks" texrepeat="4 4"/>
    <material name="plain" rgba=".2 .6 .3 1" specular=".8" shininess=".6"/>
  </asset>
  <worldbody>
    <light name="lamp" pos="1 -1 2" dir="-1 1 -2" diffuse=".5 .4 .3"/>
    <light name="sun" pos="0 0 3" dir=".2 .1 -1" type="directional" castshadow="false"
      diffuse=".2 .2 .3"/>
    <camera name="front" pos="0 -1.5 1" xyaxes="1 0 0 0 .5 .8" fovy="50"/>
    <geom name="floor" type="plane" size="2 2 .1" material="checks"/>
    <site name="mark" pos="0 0 .5" size=".2" rgba="1 0 0 1"/>
    <body name="ball" pos="-.3 0 .3">
      <freejoint/>
      <geom name="ball" size=".2" rgba=".9 .2 .1 1"/>
      <geom name="shell" size=".4" group="3" rgba="0 0 1 1"/>
    </body>
    <body name="box" pos=".3 .1 .2">
      <freejoint/>
      <geom name="box" type="box" size=".15 .2 .1" material="plain"/>
      <geom name="glass" type="capsule" size=".06 .15" pos="0 -.3 .1" euler="0 60 20"
        rgba=".2 .4 .9 .4"/>
      <camera name="wrist" pos="0 -.4 .4" xyaxes="1 0 0 0 .7 .7" fovy="75"/>
      <light name="torch" pos="0 0 .5" dir="0 0 -1" diffuse=".1 .2 .1" castshadow="false"/>
    </body>
  </worldbody>
</mujoco>
"""


class Plain:
    """MuJoCo's own renderer of a model: once as it is, once with one sample per pixel."""

    def __init__(
        self, model: mujoco.MjModel, qpos: np.ndarray | None = None, size: Size = SIZE
    ) -> None:
        self.data = mujoco.MjData(model)
        if qpos is not None:
            self.data.qpos[:] = qpos
        mujoco.mj_forward(model, self.data)
        self.option = mujoco.MjvOption()
        self.option.sitegroup[:] = 0
        model.vis.global_.offwidth, model.vis.global_.offheight = size
        self.color = mujoco.Renderer(model, size.height, size.width)
        samples, model.vis.quality.offsamples = model.vis.quality.offsamples, 0
        self.geometry = mujoco.Renderer(model, size.height, size.width)
        model.vis.quality.offsamples = samples

    def render(self, camera: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Picture, geom ids (-1 for none) and depth [m]."""
        self.color.update_scene(self.data, camera, self.option)
        self.geometry.update_scene(self.data, camera, self.option)
        self.geometry.enable_segmentation_rendering()
        geom = self.geometry.render()[..., 0].copy()
        self.geometry.enable_depth_rendering()
        return self.color.render().copy(), geom, self.geometry.render().copy()

    def close(self) -> None:
        self.color.close()
        self.geometry.close()


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Plain]]:
    context = importlib.import_module(f"mujoco.{choose_gl()[0]}").GLContext
    monkeypatch.setattr(plain_renderer.gl_context, "GLContext", context)
    made: list[Plain] = []

    def make(*args: Any, **options: Any) -> Plain:
        made.append(Plain(*args, **options))
        return made[-1]

    yield make
    for renderer in made:
        renderer.close()


@pytest.fixture
def convert(tmp_path: Path) -> Callable[[str | Path], Scene]:
    def run(model: str | Path) -> Scene:
        if isinstance(model, str):
            path = tmp_path / "model.xml"
            path.write_text(model, encoding="utf-8")
            model = path
        return convert_mjcf(model, tmp_path / f"scene_{len(list(tmp_path.iterdir()))}")

    return run


@pytest.fixture
def backend() -> Iterator[MujocoBackend]:
    backend = MujocoBackend()
    yield backend
    backend.close()


@pytest.fixture
def room(convert: Callable[[str], Scene], backend: MujocoBackend) -> Scene:
    scene = convert(ROOM)
    # A sample may only set what the base layer holds.
    for item in (*scene.info.objects, *scene.info.parts):
        UsdGeom.Imageable(scene.stage.GetPrimAtPath(item.path)).CreateVisibilityAttr("inherited")
    backend.open(scene)
    return scene


def sample_of(scene: Scene) -> SampleLayer:
    return SampleLayer(scene, scene.info.default_state)


def shown(
    backend: MujocoBackend, sample: SampleLayer, camera: str = "front", size: Size = SIZE
) -> Buffers:
    backend.apply(sample)
    return backend.render(camera, size, ALL)


def prim_of(scene: Scene, kind: str, name: str) -> str:
    return next(item.path for item in getattr(scene.info, kind) if item.name == name)


def part_of(scene: Scene, name: str) -> int:
    return next(part.part for part in scene.info.parts if part.name == name)


def assert_same(a: Buffers, b: Buffers) -> None:
    for name in ALL:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def assert_plain(scene: Scene, buffers: Buffers, plain: Plain, camera: str) -> None:
    rgb, geom, depth = plain.render(camera)
    part_of_geom = {part.geom_id: part.part for part in scene.info.parts} | {-1: 0}
    np.testing.assert_array_equal(buffers.rgb, rgb)
    np.testing.assert_array_equal(buffers.part, np.vectorize(part_of_geom.get)(geom))
    hit = buffers.part > 0
    np.testing.assert_allclose(buffers.depth[hit], depth[hit], rtol=0, atol=1e-6)
    assert np.isposinf(buffers.depth[~hit]).all()


@pytest.mark.parametrize("camera", ["front", "wrist"])
def test_an_unchanged_sample_is_plain_mujoco_to_the_byte(room, backend, camera, plain) -> None:
    assert_plain(room, shown(backend, sample_of(room), camera), plain(room.load_model()), camera)


def test_poses_of_the_stage_show_what_the_qpos_route_shows(room, backend, plain) -> None:
    qpos = np.array([-0.1, 0.2, 0.5, 0.8, 0.6, 0, 0, 0.4, -0.1, 0.3, 0.6, 0, 0.48, 0.64])
    posed = plain(room.load_model(), qpos)
    sample = sample_of(room)
    for name in ("ball", "box"):
        pose = np.eye(4)
        pose[:3, :3] = posed.data.body(name).xmat.reshape(3, 3)
        pose[:3, 3] = posed.data.body(name).xpos
        sample.set_pose(prim_of(room, "bodies", name), pose)
    for camera in ("front", "wrist"):
        assert_plain(room, shown(backend, sample, camera), posed, camera)


def test_a_frame_made_in_place_equals_one_made_fresh(room, backend) -> None:
    def varied(step: int) -> SampleLayer:
        sample = sample_of(room)
        lamp, sun = prim_of(room, "lights", "lamp"), prim_of(room, "lights", "sun")
        for prim in (
            prim_of(room, "bodies", "ball"),
            prim_of(room, "cameras", "front"),
            lamp,
        )[: step % 4]:
            pose = sample.start_pose(prim)
            pose[:3, 3] += (0.05 * step, -0.03 * step, 0.02)
            sample.set_pose(prim, pose)
        if step % 2:
            sample.set(f"{lamp}.inputs:intensity", 3.0 * step)
            sample.set(f"{prim_of(room, 'cameras', 'front')}.focalLength", 20.0 + step)
            sample.set(f"{prim_of(room, 'parts', 'box')}.visibility", "invisible")
        if step % 3 == 1:
            sample.set(f"{sun}.inputs:color", Gf.Vec3f(0.9, 0.1, 0.2))
            sample.set("/World.datagen:headlight:ambient", Gf.Vec3f(0.4, 0.2, 0.1))
            sample.set(f"{lamp}.visibility", "invisible")
        return sample

    steps = [3, 1, 0, 4, 2, 7, 0]
    in_place = [shown(backend, varied(step)) for step in steps]
    for step, got in zip(steps, in_place, strict=True):
        fresh = MujocoBackend()
        fresh.open(room)
        assert_same(got, shown(fresh, varied(step)))
        fresh.close()
    assert (in_place[0].rgb != in_place[2].rgb).any()
    assert (in_place[1].part != in_place[2].part).any()


def test_light_values_reach_the_model_by_the_stage_contract(room, backend, plain) -> None:
    lamp, sun = prim_of(room, "lights", "lamp"), prim_of(room, "lights", "sun")
    sample = sample_of(room)
    color = Gf.Vec3f(0.3, 0.05, 0.2)
    unit = room.value(f"{lamp}.datagen:unitIntensity")
    sample.set(f"{lamp}.inputs:color", color)
    sample.set(f"{lamp}.inputs:intensity", 2.0 * unit)
    sample.set(f"{lamp}.datagen:cutoff", 20.0)
    sample.set(f"{sun}.visibility", "invisible")
    sample.set("/World.datagen:headlight:diffuse", Gf.Vec3f(0.1, 0.5, 0.1))
    model = room.load_model()
    model.light_diffuse[model.light("lamp").id] = srgb_encode(2.0 * np.array(color))
    model.light_cutoff[model.light("lamp").id] = 20.0
    model.light_active[model.light("sun").id] = 0
    model.vis.headlight.diffuse[:] = (0.1, 0.5, 0.1)
    assert_plain(room, shown(backend, sample), plain(model), "front")


def test_a_changed_diffuse_colour_shows_on_all_its_parts(room, backend, plain) -> None:
    sample = sample_of(room)
    linear = srgb_decode([0.1, 0.2, 0.9])
    surface = "/World/materials/plain/surface"
    sample.set(f"{surface}.inputs:diffuseColor", Gf.Vec3f(*linear))
    model = room.load_model()
    model.mat_rgba[model.mat("plain").id][:3] = (0.1, 0.2, 0.9)
    wanted = plain(model).render("front")[0].astype(int)
    assert np.abs(shown(backend, sample).rgb - wanted).max() <= 1
    texture = "/World/materials/checks/texture"
    sample.set(f"{texture}.inputs:scale", Gf.Vec4f(*linear, 1.0))
    model.mat_rgba[model.mat("checks").id][:3] = (0.1, 0.2, 0.9)
    wanted = plain(model).render("front")[0].astype(int)
    assert np.abs(shown(backend, sample).rgb - wanted).max() <= 1


def test_a_part_made_grey_does_not_fall_back_to_its_material(room, backend) -> None:
    # MuJoCo reads the rgba 0.5 0.5 0.5 1 as "the material's".
    sample = sample_of(room)
    grey = Gf.Vec3f(*srgb_decode([0.5, 0.5, 0.5]))
    sample.set("/World/materials/plain/surface.inputs:diffuseColor", grey)
    backend.apply(sample)
    got = backend.render("front", SIZE, {"albedo", "part"})
    inside = got.albedo[got.part == part_of(room, "box")]
    np.testing.assert_allclose(np.median(inside, axis=0), grey, atol=0.005)


def test_hidden_parts_and_objects_are_gone_from_every_buffer(room, backend, plain) -> None:
    sample = sample_of(room)
    sample.set(f"{prim_of(room, 'objects', 'ball')}.visibility", "invisible")
    model = room.load_model()
    model.geom_group[model.geom("ball").id] = 4
    got = shown(backend, sample)
    assert_plain(room, got, plain(model), "front")
    assert part_of(room, "ball") not in got.part
    assert part_of(room, "ball") in shown(backend, sample_of(room)).part


def test_transparent_parts_count_as_surfaces_in_all_geometric_passes(room, backend) -> None:
    backend.apply(sample_of(room))
    got = backend.render("front", SIZE, MUJOCO_PASSES)
    glass = got.part == part_of(room, "glass")
    T = room.world_transforms([prim_of(room, "parts", "glass")])[0]
    local = (got.position[glass].astype(np.float64) - T[:3, 3]) @ T[:3, :3]
    local[:, 2] -= np.clip(local[:, 2], -0.15, 0.15)
    assert glass.sum() > 50
    np.testing.assert_allclose(np.linalg.norm(local, axis=1), 0.06, atol=2e-3)


def test_positions_project_to_the_pixel_centres_they_were_seen_at(room, backend) -> None:
    sample = sample_of(room)
    camera = prim_of(room, "cameras", "front")
    sample.set(f"{camera}.focalLength", 31.0)
    sample.set(f"{camera}.verticalApertureOffset", 1.5)
    sample.set(f"{camera}.horizontalApertureOffset", -2.5)
    backend.apply(sample)
    got = backend.render("front", SIZE, {"position", "distance", "depth", "part"})
    lens = pinhole(room, "front", *SIZE)
    hit = got.part > 0
    T = np.linalg.inv(lens.T_world_camera)
    points = got.position[hit].astype(np.float64) @ T[:3, :3].T + T[:3, 3]
    pixels = points @ lens.K.T
    v, u = np.nonzero(hit)
    np.testing.assert_allclose(pixels[:, 0] / pixels[:, 2], u + 0.5, atol=1e-3)
    np.testing.assert_allclose(pixels[:, 1] / pixels[:, 2], v + 0.5, atol=1e-3)
    np.testing.assert_allclose(points[:, 2], got.depth[hit], rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), got.distance[hit], rtol=1e-5)
    floor = got.part == part_of(room, "floor")
    np.testing.assert_allclose(got.position[floor][:, 2], 0.0, atol=1e-5)


def test_a_shifted_principal_point_shifts_the_picture_by_whole_pixels(room, backend) -> None:
    still = shown(backend, sample_of(room))
    sample = sample_of(room)
    camera = prim_of(room, "cameras", "front")
    aperture = room.value(f"{camera}.verticalAperture")
    sample.set(f"{camera}.horizontalApertureOffset", 8 * aperture / SIZE.height)
    sample.set(f"{camera}.verticalApertureOffset", 5 * aperture / SIZE.height)
    lens_before = pinhole(room, "front", *SIZE)
    moved = shown(backend, sample)
    dx, dy = (pinhole(room, "front", *SIZE).K - lens_before.K)[:2, 2]
    assert (round(dx, 3), round(dy, 3)) == (-8.0, 5.0)
    assert (moved.part[5:, :-8] != still.part[:-5, 8:]).mean() < 0.003


def test_a_changed_field_of_view_equals_the_models(room, backend, plain) -> None:
    sample = sample_of(room)
    camera = prim_of(room, "cameras", "front")
    aperture = room.value(f"{camera}.verticalAperture")
    sample.set(f"{camera}.focalLength", aperture / 2 / np.tan(np.deg2rad(32.0) / 2))
    model = room.load_model()
    model.cam_fovy[model.cam("front").id] = 32.0
    _, geom, depth = plain(model).render("front")
    got = shown(backend, sample)
    part_of_geom = {part.geom_id: part.part for part in room.info.parts} | {-1: 0}
    wanted = np.vectorize(part_of_geom.get)(geom)
    same = got.part == wanted
    assert same.mean() > 0.999
    np.testing.assert_allclose(got.depth[same], depth[same], rtol=1e-4)


def test_depth_does_not_depend_on_the_models_extent(convert, backend) -> None:
    case = CASES / "d04-depth-does-not-depend-on-extent"
    expect = json.loads((case / "case.json").read_text())["expect"]
    got = {}
    for key, file in (("near", "near.xml"), ("far", "far_object.xml")):
        scene = convert(case / file)
        backend.open(scene)
        backend.apply(sample_of(scene))
        got[key] = backend.render("c", Size(64, 48), {"part", "depth", "distance"})
        wall = got[key].part == part_of(scene, "wall")
        np.testing.assert_allclose(got[key].depth[wall], 2.99, atol=1e-5)
        assert got[key].distance[wall].max() > 3.5
        for name, seen in expect[key]["c"]["objects"].items():
            count = int((got[key].part == part_of(scene, name)).sum())
            # MuJoCo's tessellated sphere is a little smaller than the true one.
            assert abs(count - seen["visible_pixels"]) <= 4
        for pixel in expect[key]["c"]["pixels"]:
            u, v = pixel["uv"]
            tolerance = 0.02 if pixel["object"] == "ball" else 1e-4
            assert got[key].depth[v, u] == pytest.approx(
                float(pixel["planar_depth_m"]), abs=tolerance
            )
            assert got[key].distance[v, u] == pytest.approx(
                float(pixel["distance_m"]), abs=tolerance
            )
    np.testing.assert_array_equal(got["near"].part, got["far"].part)
    hit = got["near"].part > 0
    np.testing.assert_allclose(got["near"].depth[hit], got["far"].depth[hit], atol=1e-5)


def test_the_near_distance_of_the_camera_prim_decides_what_is_cut(room, backend) -> None:
    sample = sample_of(room)
    camera = prim_of(room, "cameras", "front")
    before = shown(backend, sample_of(room))
    sample.set(f"{camera}.clippingRange", Gf.Vec2f(0.02, 900.0))
    after = shown(backend, sample)
    np.testing.assert_array_equal(before.part, after.part)
    hit = before.part > 0
    np.testing.assert_allclose(before.depth[hit], after.depth[hit], rtol=3e-6)
    far = float(before.depth[before.part == part_of(room, "ball")].max())
    sample = sample_of(room)
    sample.set(f"{camera}.clippingRange", Gf.Vec2f(far + 0.01, 900.0))
    cut = shown(backend, sample)
    assert part_of(room, "ball") not in cut.part
    assert cut.depth.min() >= far + 0.01 - 1e-5


def test_a_rangefinders_ray_is_no_part(convert, backend) -> None:
    seen = []
    for sensor in ("", '<sensor><clock/><rangefinder site="eye"/></sensor>'):
        scene = convert(
            f"""<mujoco><worldbody><geom type="plane" size="3 3 .1"/>
            <camera name="front" pos="0 -2 1" xyaxes="1 0 0 0 .5 .9"/><body pos="0 0 1">
            <site name="eye" xyaxes="1 0 0 0 -1 0"/><joint/><inertial pos="0 0 0" mass="1"
            diaginertia="1 1 1"/></body></worldbody>{sensor}</mujoco>"""
        )
        backend.open(scene)
        seen.append(shown(backend, sample_of(scene)))
    assert_same(*seen)


def test_pixels_without_a_surface_have_infinite_depth_and_part_zero(convert, backend) -> None:
    scene = convert(CASES / "d05-background-depth" / "scene.xml")
    backend.open(scene)
    backend.apply(sample_of(scene))
    got = backend.render("c", Size(32, 24), {"part", "depth", "distance", "position", "albedo"})
    assert abs(int((got.part == 0).sum()) - 736) <= 4
    np.testing.assert_array_equal(np.isposinf(got.depth), got.part == 0)
    np.testing.assert_array_equal(np.isposinf(got.distance), got.part == 0)
    np.testing.assert_array_equal(np.isposinf(got.position).all(axis=2), got.part == 0)
    assert got.depth[12, 16] == pytest.approx(1.70567, abs=0.018)
    assert not got.albedo[0, 0].any()


def test_pictures_are_neither_flipped_nor_given_a_second_gamma(convert, backend) -> None:
    case = CASES / "d12-flip-and-mirror"
    expect = json.loads((case / "case.json").read_text())["expect"]
    scene = convert(case / "scene.xml")
    backend.open(scene)
    got = shown(backend, sample_of(scene), "top", Size(64, 64))
    for pixel in expect["pixels"]["top"]:
        u, v = pixel["uv"]
        assert got.rgb[v, u].tolist() == pixel["rgb"]
    for name, seen in expect["ids"]["top"]["objects"].items():
        v, u = np.nonzero(got.part == part_of(scene, name))
        box = [int(u.min()), int(v.min()), int(u.max()) + 1, int(v.max()) + 1]
        off = np.abs(np.subtract(box, seen["tight_box_half_open_xyxy"])).max()
        assert off <= (1 if name == "BL" else 0), name  # The sphere is tessellated.


def test_a_picture_larger_than_the_models_framebuffer_comes_out_whole(
    convert, backend, plain
) -> None:
    path = CASES / "g01-framebuffer-too-small" / "scene.xml"
    before = path.read_bytes()
    scene = convert(path)
    backend.open(scene)
    small = shown(backend, sample_of(scene), "top", Size(64, 48))
    large = shown(backend, sample_of(scene), "top", Size(320, 240))
    assert large.rgb.shape == (240, 320, 3)
    assert_plain(scene, large, plain(scene.load_model(), size=Size(320, 240)), "top")
    assert_same(shown(backend, sample_of(scene), "top", Size(64, 48)), small)
    assert path.read_bytes() == before


def test_an_impossible_size_is_refused_with_the_size(room, backend) -> None:
    backend.apply(sample_of(room))
    with pytest.raises(BackendError, match="0 x 4 pixels"):
        backend.render("front", Size(0, 4), ALL)
    with pytest.raises(BackendError, match="200000 x 200000 pixels"):
        backend.render("front", Size(200000, 200000), ALL)
    assert backend.render("front", SIZE, {"rgb"}).rgb.shape == (72, 96, 3)


def test_albedo_is_the_decoded_colour_without_light(room, backend) -> None:
    sample = sample_of(room)
    sample.set("/World.datagen:headlight:ambient", Gf.Vec3f(0.0))
    backend.apply(sample)
    got = backend.render("front", SIZE, {"rgb", "part", "albedo"})
    again = backend.render("front", SIZE, {"rgb"})
    np.testing.assert_array_equal(got.rgb, again.rgb)
    for name, rgb in (("ball", (0.9, 0.2, 0.1)), ("box", (0.2, 0.6, 0.3))):
        inside = got.albedo[got.part == part_of(room, name)]
        np.testing.assert_allclose(np.median(inside, axis=0), srgb_decode(rgb), atol=0.005)


def test_colorspace_display_shows_the_bytes_of_textures_marked_srgb(
    convert, tmp_path: Path
) -> None:
    marked = PngImagePlugin.PngInfo()
    marked.add(b"sRGB", b"\0")
    Image.new("RGB", (8, 8), (128, 60, 200)).save(tmp_path / "grey.png", pnginfo=marked)
    scene = convert("""
      <mujoco>
        <visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual>
        <asset><texture name="t" type="2d" file="grey.png"/><material name="m" texture="t"/></asset>
        <worldbody>
          <geom name="tile" type="box" size="1 1 .1" material="m"/>
          <camera name="top" pos="0 0 1"/>
        </worldbody>
      </mujoco>""")
    bytes_shown = {}
    for colorspace in ("native", "display"):
        backend = MujocoBackend(colorspace=colorspace)
        backend.open(scene)
        backend.apply(sample_of(scene))
        got = backend.render("top", Size(16, 16), {"rgb", "albedo"})
        bytes_shown[colorspace] = got.rgb[8, 8]
        np.testing.assert_allclose(
            got.albedo[8, 8], srgb_decode(np.array([128, 60, 200]) / 255), atol=0.01
        )
        assert backend.describe()["colorspace"] == colorspace
        backend.close()
    np.testing.assert_allclose(bytes_shown["display"], [128, 60, 200], atol=1)
    assert scene.load_model().tex("t").colorspace == 2
    assert (bytes_shown["native"] < bytes_shown["display"] - 15).all()


def test_what_mujoco_cannot_show_is_refused_by_name(room, backend) -> None:
    sample = sample_of(room)
    sample.set("/World/materials/plain/surface.inputs:roughness", 0.123)
    with pytest.raises(BackendError, match=r"/World/materials/plain/surface\.inputs:roughness"):
        backend.apply(sample)
    sample = sample_of(room)
    sample.set("/World/materials/checks/surface.inputs:diffuseColor", Gf.Vec3f(0.5))
    with pytest.raises(BackendError, match=r"checks/surface\.inputs:diffuseColor"):
        backend.apply(sample)
    with pytest.raises(BackendError, match="no sample is shown"):
        backend.render("front", SIZE, ALL)
    sample = sample_of(room)
    sample.set("/World.datagen:exposure", 1.7)
    backend.apply(sample)
    for name in ("hdr", "normal"):
        with pytest.raises(BackendError, match=name):
            backend.render("front", SIZE, {"rgb", name})


@pytest.mark.parametrize("broken", ["scale", "mirror"])
def test_a_pose_that_is_not_rigid_is_refused_with_its_prim(room, backend, broken) -> None:
    sample = sample_of(room)
    body = prim_of(room, "bodies", "ball")
    pose = sample.start_pose(body)
    match broken:
        case "scale":
            pose[:3, :3] *= 1.1
        case "mirror":
            pose[:3, 0] *= -1
    sample.set_pose(body, pose)
    with pytest.raises(BackendError, match=prim_of(room, "parts", "ball")):
        backend.apply(sample)


def test_more_lights_than_opengl_draws_are_refused(convert, backend) -> None:
    lights = "".join(f'<light name="l{k}" pos="{k} 0 3"/>' for k in range(8))
    scene = convert(f'<mujoco><worldbody>{lights}<geom size=".1"/></worldbody></mujoco>')
    backend.open(scene)
    sample = sample_of(scene)
    with pytest.raises(BackendError, match="9 lights"):
        backend.apply(sample)
    sample = sample_of(scene)
    sample.set(f"{prim_of(scene, 'lights', 'l3')}.visibility", "invisible")
    backend.apply(sample)


def test_a_sample_of_another_scene_is_refused(convert, room, backend) -> None:
    other = convert("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>")
    with pytest.raises(BackendError, match="scene open is"):
        backend.apply(sample_of(other))


def test_bad_options_name_what_is_allowed() -> None:
    with pytest.raises(BackendError, match="Known: native, display"):
        MujocoBackend(colorspace="srgb")  # type: ignore[arg-type]
    with pytest.raises(BackendError, match="0 to 64"):
        MujocoBackend(samples=-1)


def test_samples_per_pixel_do_not_change_the_geometric_passes(room) -> None:
    got = {}
    for samples in (0, 4):
        backend = MujocoBackend(samples=samples)
        backend.open(room)
        got[samples] = shown(backend, sample_of(room))
        assert backend.describe()["msaa"] == str(samples)
        backend.close()
    np.testing.assert_array_equal(got[0].part, got[4].part)
    np.testing.assert_array_equal(got[0].depth, got[4].depth)
    assert (got[0].rgb != got[4].rgb).any()


def test_any_thread_may_make_the_next_picture(room, backend) -> None:
    here = shown(backend, sample_of(room))
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(shown, backend, sample_of(room)).result()
    assert_same(here, there)
    assert_same(here, shown(backend, sample_of(room)))


def test_memory_stays_flat_over_200_samples(room, backend) -> None:
    body, lamp = prim_of(room, "bodies", "ball"), prim_of(room, "lights", "lamp")

    def run(count: int) -> None:
        for step in range(count):
            sample = sample_of(room)
            pose = sample.start_pose(body)
            pose[0, 3] += 0.001 * step
            sample.set_pose(body, pose)
            sample.set(f"{lamp}.inputs:intensity", 1.0 + step)
            backend.apply(sample)
            backend.render("front", Size(32, 24), {"rgb", "part", "depth", "albedo"})

    def resident_mib() -> float:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    run(50)
    before = resident_mib()
    run(200)
    assert resident_mib() - before < 3.0


FORK = """
import multiprocessing, sys
from pathlib import Path
import mujoco
from datagen.backends.mujoco.backend import MujocoBackend
from scenes import SampleLayer, Scene

scene = Scene.open(Path(sys.argv[1]))
backend = MujocoBackend()
backend.open(scene)

def picture(queue):
    try:
        backend.apply(SampleLayer(scene, scene.info.default_state))
        queue.put(backend.render("front", (32, 24), {"rgb"}).rgb.sum())
    except Exception as error:
        queue.put(f"{type(error).__name__}: {error}")

def forked():
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=picture, args=(queue,))
    child.start()
    print(queue.get(timeout=60))
    child.join()

class Here:
    put = staticmethod(print)

forked()
picture(Here)
forked()
"""


def test_a_fork_before_the_first_picture_renders_and_one_after_it_is_refused(room) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("MUJOCO_GL",)}
    done = subprocess.run(
        [sys.executable, "-c", FORK, str(room.folder)],
        cwd=Path(__file__).parents[1],
        env=environment | {"PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    child, parent, late = done.stdout.strip().splitlines()
    assert child == parent and int(child) > 0
    assert late.startswith("BackendError") and "forked" in late
    assert "Exception ignored" not in done.stderr


@pytest.mark.libero
def test_a_libero_scene_is_plain_mujoco_to_the_byte(backend, plain) -> None:
    cache = cache_folder()
    bundle = libero_bundle("libero_spatial", 0, cache=cache)
    scene, (state,) = libero_scene(bundle, [0], "stored", cache)
    reference = plain(scene.load_model(), scene.state(state).qpos, Size(128, 128))
    reference.option.geomgroup[0] = 0
    backend.open(scene)
    for camera in ("agentview", "robot0_eye_in_hand"):
        got = shown(backend, SampleLayer(scene, state), camera, Size(128, 128))
        assert_plain(scene, got, reference, camera)
