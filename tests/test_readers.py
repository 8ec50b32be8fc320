"""Lights and looks as records, against what the MJCF says."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from scenes import SampleLayer, Scene, SceneError, convert_mjcf, srgb_decode
from scenes.stage import attributes
from scenes.stage.lights import Distant, Light, Spot, read_lights, read_surroundings
from scenes.stage.looks import Look, read_look, read_looks

MODEL = """
<mujoco><visual><headlight diffuse=".2 .3 .4"/></visual><asset>
<texture name="check" type="2d" builtin="checker" rgb1=".9 .1 .2" rgb2=".1 .8 .3"
         width="8" height="8"/>
<texture name="dots" type="cube" builtin="flat" rgb1=".2 .4 .6" width="4" height="24"/>
<material name="tiled" texture="check" rgba=".5 .6 .7 1"/>
<material name="dotted" texture="dots" reflectance=".3" specular=".2" shininess=".7"/>
<material name="lamp" rgba=".8 .1 .2 .5" emission=".5"/>
</asset><worldbody>
<camera name="main" pos="0 0 3"/>
<geom name="floor" type="plane" size="5 5 .1"/>
<geom name="tiled" type="box" pos="3 3 0" size=".1 .1 .1" material="tiled"/>
<geom name="tiled_too" type="box" pos="3 3 0" size=".2 .1 .1" material="tiled"/>
<geom name="dotted" type="box" pos="3 3 0" size=".1 .1 .1" material="dotted"/>
<geom name="lamp" type="box" pos="3 3 0" size=".1 .1 .1" material="lamp"/>
<light name="spot" pos="0 -2 2" dir="0 1 -1" cutoff="30" exponent="4" diffuse=".5 .2 1"
       attenuation="1 .5 .25" castshadow="false"/>
<light name="sun" directional="true" dir="0 0 -1" diffuse=".7 .7 .7" ambient=".1 .2 .3"/>
</worldbody></mujoco>
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("readers")
    (folder / "m.xml").write_text(MODEL)
    return convert_mjcf(folder / "m.xml", folder / "out")


def shown(scene: Scene, **values: object) -> None:
    sample = SampleLayer(scene, scene.info.default_state)
    for path, value in values.items():
        sample.set(path, value)
    scene.show(sample)


def lights(scene: Scene) -> dict[str, Light]:
    return {light.name: light for light in read_lights(scene)}


def looks(scene: Scene) -> dict[str, Look]:
    parts = scene.info.parts
    found = read_looks(scene, [part.path for part in parts])
    return {part.name: look for part, look in zip(parts, found, strict=True)}


def test_power_is_irradiance_of_the_sun_and_intensity_of_a_spot(scene: Scene) -> None:
    shown(scene)
    found = lights(scene)
    np.testing.assert_allclose(found["sun"].power, np.pi * srgb_decode([0.7] * 3), rtol=1e-6)
    # The axis meets the floor after the square root of 8 m.
    wanted = 8 * np.pi * srgb_decode([0.5, 0.2, 1.0])
    np.testing.assert_allclose(found["spot"].power, wanted, rtol=1e-5)


def test_a_light_says_what_the_model_says_of_it(scene: Scene) -> None:
    shown(scene)
    spot, sun = lights(scene)["spot"], lights(scene)["sun"]
    assert isinstance(spot.shape, Spot) and isinstance(sun.shape, Distant)
    assert (spot.shape.cutoff, spot.shape.exponent) == (30.0, 4.0)
    assert spot.shape.attenuation == (1.0, 0.5, 0.25)
    assert (spot.casts_shadow, sun.casts_shadow) == (False, True)
    np.testing.assert_allclose(spot.display_diffuse, [0.5, 0.2, 1.0], atol=1e-6)
    np.testing.assert_allclose(sun.ambient, [0.1, 0.2, 0.3], atol=1e-7)
    np.testing.assert_allclose(spot.T_world_light[:3, 3], [0, -2, 2])
    np.testing.assert_allclose(-spot.T_world_light[:3, 2], np.array([0, 1, -1]) / np.sqrt(2))


def test_records_follow_the_sample(scene: Scene) -> None:
    shown(scene)
    before = lights(scene)
    shown(
        scene,
        **{
            f"{before['spot'].path}.inputs:intensity": 3 * before["spot"].intensity,
            f"{before['sun'].path}.visibility": "invisible",
            f"/World.{attributes.EXPOSURE}": 2.5,
        },
    )
    after = lights(scene)
    np.testing.assert_allclose(after["spot"].power, 3 * before["spot"].power, rtol=1e-6)
    assert not after["sun"].shines and np.all(after["sun"].power == 0)
    assert read_surroundings(scene).exposure == 2.5
    shown(scene)
    assert read_surroundings(scene).exposure == 1.0


def test_the_headlight_gives_nothing_linear_where_it_is_off(scene: Scene) -> None:
    shown(scene)
    headlight = read_surroundings(scene).headlight
    np.testing.assert_allclose(headlight.linear_diffuse, srgb_decode([0.2, 0.3, 0.4]), rtol=1e-6)
    shown(scene, **{f"/World.{attributes.HEADLIGHT_ACTIVE}": False})
    assert np.all(read_surroundings(scene).headlight.linear_diffuse == 0)


def test_a_texture_has_a_tint_a_file_and_edges(scene: Scene) -> None:
    shown(scene)
    found = looks(scene)
    np.testing.assert_allclose(found["tiled"].tint, srgb_decode([0.5, 0.6, 0.7]), rtol=1e-6)
    assert found["tiled"].picture is not None and found["tiled"].picture.is_file()
    assert found["tiled"].textures["base_color"].wrap == ("repeat", "repeat")
    assert found["dotted"].textures["base_color"].wrap == ("clamp", "clamp")
    assert found["lamp"].picture is None


def test_parts_of_one_material_share_their_look(scene: Scene) -> None:
    shown(scene)
    found = looks(scene)
    assert found["tiled"] is found["tiled_too"]
    assert found["tiled"].material != found["dotted"].material


def test_a_look_says_what_the_model_says_of_it(scene: Scene) -> None:
    shown(scene)
    dotted, lamp = looks(scene)["dotted"], looks(scene)["lamp"]
    assert (dotted.mirror, dotted.specular, dotted.shininess) == pytest.approx((0.3, 0.2, 0.7))
    assert lamp.glow == pytest.approx(0.5)
    assert lamp.opacity == lamp.least_opacity == pytest.approx(0.5)


def test_records_are_frozen(scene: Scene) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        lights(scene)["sun"].intensity = 2.0  # type: ignore[misc]


def test_a_path_without_a_material_is_refused_by_name(scene: Scene) -> None:
    with pytest.raises(SceneError, match="/World/lights"):
        read_look(scene, "/World/lights")
