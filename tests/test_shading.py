from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from datagen.backends import Buffers, Pass, Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.shading import formula as mujoco_formula
from datagen.shading.boxes import box_sizes
from datagen.shading.formula import luminance, mujoco_shading
from scenes import Pinhole, SampleLayer, Scene, convert_mjcf, pinhole, srgb_decode

NO_HEADLIGHT = '<headlight active="0"/>'
GREY = 'rgba=".5 .5 .5 1"'
Points = list[tuple[float, float, float]]
SceneOf = Callable[..., Scene]


@pytest.fixture
def scene_of(tmp_path: Path) -> SceneOf:
    def make(body: str, visual: str = NO_HEADLIGHT, assets: str = "") -> Scene:
        number = len(list(tmp_path.iterdir()))
        model = tmp_path / f"model_{number}.xml"
        model.write_text(
            f"<mujoco><visual>{visual}</visual><asset>{assets}</asset>"
            f"<worldbody>{body}</worldbody></mujoco>"
        )
        scene = convert_mjcf(model, tmp_path / f"scene_{number}")
        scene.show(SampleLayer(scene, scene.state_names[0]))
        return scene

    return make


def camera_at(*position: float) -> Pinhole:
    """A camera that looks down."""
    pose = np.diag([1.0, -1.0, -1.0, 1.0])
    pose[:3, 3] = position
    return Pinhole(np.eye(3), pose, 1, 1, 0.01)


def hits(points: Points, normals: Points, color: float = 0.5) -> Buffers:
    """Buffers of one row of pixels on part 1."""
    albedo = np.full((1, len(points), 3), srgb_decode(np.array(color)), np.float32)
    return Buffers(
        part=np.ones((1, len(points)), np.int32),
        position=np.array([points], np.float32),
        normal=np.array([normals], np.float32),
        albedo=albedo,
    )


def shade(scene: Scene, points: Points, normals: Points, view: Pinhole | None = None) -> np.ndarray:
    """Red of the picture at points."""
    return mujoco_shading(scene, hits(points, normals), view or camera_at(0, 0, 5))[0, :, 0]


UP = (0.0, 0.0, 1.0)
FLOOR = f'<geom type="plane" size="4 4 .1" {GREY}/>'


def test_a_directional_light_lights_a_plane_by_its_cosine(scene_of: SceneOf) -> None:
    sun = (
        '<light type="directional" dir="0 3 -4" diffuse=".8 .8 .8" ambient=".1 .1 .1"'
        ' specular="0 0 0"/>'
    )
    shown = shade(scene_of(FLOOR + sun), [(0, 0, 0), (2, 1, 0)], [UP, UP])
    np.testing.assert_allclose(shown, 0.5 * (0.1 + 0.8 * 0.8), rtol=1e-5)


def test_a_spot_falls_off_with_its_exponent_and_ends_at_its_cutoff(scene_of: SceneOf) -> None:
    spot = (
        '<light pos="0 0 2" dir="0 0 -1" diffuse="1 1 1" specular="0 0 0" cutoff="45"'
        ' exponent="3"/>'
    )
    shown = shade(scene_of(FLOOR + spot), [(0, 0, 0), (1, 0, 0), (2.1, 0, 0)], [UP] * 3)
    cosine = 2 / np.sqrt(5)
    np.testing.assert_allclose(shown, [0.5, 0.5 * cosine**3 * cosine, 0.0], atol=1e-6)


def test_attenuation_divides_by_its_polynomial_of_distance(scene_of: SceneOf) -> None:
    spot = (
        '<light pos="0 0 2" dir="0 0 -1" diffuse="1 1 1" specular="0 0 0" attenuation="1 .5 .25"/>'
    )
    np.testing.assert_allclose(shade(scene_of(FLOOR + spot), [(0, 0, 0)], [UP]), 0.5 / 3, rtol=1e-5)


def test_the_headlight_shines_along_the_camera_axis(scene_of: SceneOf) -> None:
    head = '<headlight ambient=".1 .1 .1" diffuse=".4 .4 .4" specular="0 0 0"/>'
    tilted = (0.6, 0.0, 0.8)
    shown = shade(scene_of(FLOOR, head), [(3, 0, 0), (0, 0, 0)], [UP, tilted])
    np.testing.assert_allclose(shown, [0.5 * 0.5, 0.5 * (0.1 + 0.4 * 0.8)], rtol=1e-5)


def test_highlights_follow_the_half_vector_to_the_camera_itself(scene_of: SceneOf) -> None:
    assets = '<material name="m" rgba=".5 .5 .5 1" specular=".6" shininess=".1"/>'
    sun = '<light type="directional" dir="0 0 -1" diffuse="0 0 0" specular=".5 .5 .5"/>'
    floor = '<geom type="plane" size="4 4 .1" material="m"/>'
    shown = shade(scene_of(floor + sun, assets=assets), [(3, 0, 0)], [UP], camera_at(0, 0, 4))
    to_camera = np.array([-0.6, 0.0, 0.8])
    half = to_camera + UP
    half /= np.linalg.norm(half)
    np.testing.assert_allclose(shown, 0.6 * 0.5 * half[2] ** 12.8, rtol=1e-4)


def test_a_lit_sphere_shows_the_cosine_of_its_normals(scene_of: SceneOf) -> None:
    sun = '<light type="directional" dir="0 0 -1" diffuse="1 1 1" specular="0 0 0"/>'
    scene = scene_of(f'<geom type="sphere" size="1" {GREY}/>' + sun)
    angles = np.radians([0, 30, 60, 100])
    normals: Points = [(float(np.sin(a)), 0.0, float(np.cos(a))) for a in angles]
    shown = shade(scene, normals, normals)
    np.testing.assert_allclose(shown, 0.5 * np.maximum(np.cos(angles), 0), atol=1e-6)


def test_light_is_clipped_before_the_texture_multiplies_it(scene_of: SceneOf) -> None:
    sun = '<light type="directional" dir="0 0 -1" diffuse="3 3 3" specular="0 0 0"/>'
    scene = scene_of(FLOOR + sun)
    buffers = hits([(0, 0, 0)], [UP], color=0.25)
    shown = mujoco_shading(scene, buffers, camera_at(0, 0, 5))[0, 0]
    np.testing.assert_allclose(shown, 1.0 * 0.25 / 0.5, rtol=1e-5)


def test_boxes_are_lit_at_the_corners_of_four_by_four_quads(scene_of: SceneOf) -> None:
    spot = '<light pos="0 0 1" dir="0 0 -1" diffuse="1 1 1" specular="0 0 0" exponent="0"/>'
    scene = scene_of(f'<geom type="box" size="1 2 .5" pos="0 0 -.5" {GREY}/>' + spot)
    centre, corner = 0.5, 0.5 / np.sqrt(1 + 0.25)
    shown = shade(scene, [(0, 0, 0), (0.5, 0, 0), (0.25, 0, 0)], [UP] * 3)
    np.testing.assert_allclose(shown, [centre, corner, (centre + corner) / 2], rtol=1e-5)


def test_textured_boxes_are_told_from_meshes_too(scene_of: SceneOf) -> None:
    assets = (
        '<texture name="t" type="2d" builtin="checker" width="8" height="8"/>'
        '<material name="m" texture="t"/>'
    )
    body = '<geom type="box" size=".1 .2 .3" material="m"/><geom size=".1"/>'
    sizes = box_sizes(scene_of(body, assets=assets))
    assert list(sizes) == [1]
    np.testing.assert_allclose(sizes[1], [0.1, 0.2, 0.3], rtol=1e-6)


def test_lit_on_both_sides_the_inside_of_a_box_shows_normals_turned_to_the_viewer(
    scene_of: SceneOf,
) -> None:
    lamp = np.array([0.3, -0.2, 0.4])
    body = (
        f'<geom type="box" size="1 1 1" {GREY}/><camera name="cam" fovy="110" euler="90 0 20"/>'
        '<light pos=".3 -.2 .4" cutoff="180" exponent="0" ambient=".05 .05 .05" diffuse=".7 .7 .7"'
        ' specular="0 0 0"/>'
    )
    head = '<headlight ambient=".1 .1 .1" diffuse=".2 .2 .2" specular="0 0 0"/>'
    scene = scene_of(body, head)
    backend, size = MitsubaBackend(spp=1, denoise=False, variant="llvm"), Size(48, 32)
    backend.open(scene)
    backend.apply(SampleLayer(scene, scene.state_names[0]))
    passes: set[Pass] = {"part", "position", "normal", "albedo", "triangle", "shadowed"}
    buffers = backend.render("cam", size, passes)
    view = pinhole(scene, "cam", *size)
    x, y = np.meshgrid(np.arange(48) + 0.5, np.arange(32) + 0.5)
    rays = np.stack([x, y, np.ones_like(x)], axis=2) @ np.linalg.inv(view.K).T
    rays = rays @ view.T_world_camera[:3, :3].T
    places = rays / np.abs(rays).max(axis=2, keepdims=True)
    inward = -np.round(places * (np.abs(places) > 1 - 1e-9))
    to_lamp = lamp - places
    to_lamp /= np.linalg.norm(to_lamp, axis=2, keepdims=True)
    head_on = np.maximum(-inward @ view.T_world_camera[:3, 2], 0)
    expected = 0.5 * (0.15 + 0.7 * np.sum(inward * to_lamp, axis=2) + 0.2 * head_on)
    assert len(np.unique(inward.reshape(-1, 3), axis=0)) >= 4
    inside = mujoco_shading(scene, buffers, view, both_sides=True)[..., 0]
    np.testing.assert_allclose(inside, expected, atol=1e-4)


def test_a_dark_light_keeps_its_term_and_lights_nothing(scene_of: SceneOf) -> None:
    lights = "".join(
        f'<light name="{name}" active="{active}" type="directional" dir="0 0 -1" diffuse=".6 .6 .6"'
        ' specular="0 0 0"/>'
        for name, active in (("on", "true"), ("off", "false"))
    )
    shading = mujoco_formula.shade(
        scene_of(FLOOR + lights), hits([(0, 0, 0)], [UP]), camera_at(0, 0, 5)
    )
    assert [(light.name, light.shines) for light in shading.lights] == [
        ("headlight", False),
        ("on", True),
        ("off", False),
    ]
    np.testing.assert_allclose(shading.terms[1:, 0, 0, 0], 0.3, rtol=1e-5)
    np.testing.assert_allclose(shading.lit[0, 0, 0], 0.3, rtol=1e-5)


def test_without_any_light_there_is_mujocos_ambient(scene_of: SceneOf) -> None:
    np.testing.assert_allclose(shade(scene_of(FLOOR), [(0, 0, 0)], [UP]), 0.5 * 0.3, rtol=1e-5)


def test_emission_adds_a_share_of_the_colour(scene_of: SceneOf) -> None:
    assets = '<material name="m" rgba=".5 .5 .5 1" emission=".4"/>'
    scene = scene_of('<geom type="plane" size="4 4 .1" material="m"/>', assets=assets)
    np.testing.assert_allclose(shade(scene, [(0, 0, 0)], [UP]), 0.5 * (0.3 + 0.4), rtol=1e-4)


def test_luminance_weighs_channels() -> None:
    assert luminance(np.full((2, 2, 3), 255, np.uint8)) == pytest.approx(1.0)
    assert luminance(np.array([[[0.0, 1.0, 0.0]]])) == pytest.approx(0.7152)


@pytest.mark.gl
def test_mujocos_own_picture_follows_the_formula(scene_of: SceneOf) -> None:
    from datagen.backends.mujoco.backend import MujocoBackend

    assets = '<material name="m" rgba=".4 .5 .6 1" specular=".5" shininess=".3"/>'
    body = """
      <geom type="plane" size="2 2 .05" rgba=".7 .6 .5 1"/>
      <geom type="box" size=".6 .4 .2" pos="0 0 .2" euler="0 0 20" material="m"/>
      <light name="spot" pos=".5 -.3 1.5" dir="-.2 .1 -1" diffuse=".6 .5 .4" cutoff="40"
        exponent="6" castshadow="false"/>
      <light name="sun" type="directional" dir=".3 .4 -1" diffuse=".2 .2 .3" castshadow="false"/>
      <camera name="front" pos="0 -1.6 1.4" xyaxes="1 0 0 0 .66 .75" fovy="55"/>"""
    scene = scene_of(body, '<headlight diffuse=".3 .3 .3"/>', assets)
    backend, size = MujocoBackend(samples=0), Size(128, 96)
    backend.open(scene)
    sample = SampleLayer(scene, scene.state_names[0])
    backend.apply(sample)
    seen = backend.render("front", size, {"rgb", "part", "position", "albedo"})
    backend.close()
    assert seen.rgb is not None and seen.position is not None and seen.part is not None
    box = next(part.part for part in scene.info.parts if part.geom_id == 1)
    (pose,) = scene.world_transforms([scene.info.parts[box - 1].path])
    local = (np.nan_to_num(seen.position, posinf=0) - pose[:3, 3]) @ pose[:3, :3] / [0.6, 0.4, 0.2]
    axis = np.argmax(np.abs(local), axis=2)
    sign = np.sign(np.take_along_axis(local, axis[..., None], axis=2))
    normal = np.where((seen.part == box)[..., None], sign * pose[:3, :3].T[axis], UP)
    buffers = Buffers(
        part=seen.part,
        position=seen.position,
        albedo=seen.albedo,
        normal=normal.astype(np.float32),
    )
    shown = mujoco_shading(scene, buffers, pinhole(scene, "front", *size))
    error = np.abs(shown - seen.rgb / 255.0)[seen.part > 0]
    assert np.median(error) < 0.5 / 255
    assert np.percentile(error, 99) < 6 / 255
