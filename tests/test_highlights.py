"""MuJoCo's highlights as microfacets, against closed forms and MuJoCo's own pictures."""

from __future__ import annotations

import math
from pathlib import Path

import mujoco
import numpy as np
import pytest

import scenes
from datagen.backends import Backend, Pass, Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mujoco.backend import MujocoBackend
from scenes import SampleLayer, Scene, srgb_decode
from scenes.convert.looks.highlights import LightLevels, highlight, roughness_from_shininess
from scenes.convert.settings import MaterialRule
from scenes.sources.mjcf.config import MjcfConfig

MODEL = """<mujoco>
<visual>
  <headlight active="{headlight}" ambient="0 0 0" diffuse=".6 .6 .6" specular=".4 .4 .4"/>
</visual>
<asset><material name="m" rgba="{rgba} 1" specular="{specular}" shininess="{shininess}"/></asset>
<worldbody>{light}
  <geom name="floor" type="plane" size="2 2 .1" material="m"/>
  <camera name="top" pos="0 0 2" fovy="20"/>
</worldbody></mujoco>"""
SUN = '<light directional="true" dir="0 0 -1" diffuse=".7 .7 .7" specular=".3 .3 .3"/>'
SIZE = Size(33, 33)
GREY = '<material name="grey" rgba=".5 .5 .5 1" specular="0"/>'
"""A geom without a material, without its highlight."""
SHINE = Path(__file__).parent / "cases" / "x09-materials-shine" / "scene.xml"


def converted(folder: Path, rule: MaterialRule, **values: object) -> Scene:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "m.xml"
    given = {"headlight": 0, "rgba": "0 0 0", "specular": 0.5, "shininess": 0.5, "light": SUN}
    path.write_text(MODEL.format(**(given | values)))
    return scenes.convert_mjcf(path, folder / "scene", source=MjcfConfig(path=path, materials=rule))


def center(backend: Backend, scene: Scene, name: Pass) -> np.ndarray:
    backend.open(scene)
    backend.apply(SampleLayer(scene, "rest"))
    return np.asarray(getattr(backend.render("top", SIZE, {name}), name)[16, 16], np.float64)


def front(backend: Backend, scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Grey picture and part map of `SHINE`."""
    backend.open(scene)
    backend.apply(SampleLayer(scene, "rest"))
    found = backend.render("front", Size(192, 192), {"rgb", "part"})
    assert found.rgb is not None and found.part is not None
    return found.rgb.mean(axis=2), found.part


@pytest.fixture(scope="module")
def tracer() -> MitsubaBackend:
    return MitsubaBackend(spp=64, denoise=False, variant="llvm", soft_copies=1)


def peak(shininess: float, display: float) -> float:
    """F0 E / (4 alpha^2) of a dielectric under a light of a display value."""
    return 0.04 * float(srgb_decode(display)) * (128 * shininess + 2) / 8


@pytest.mark.parametrize("shininess", [0.1, 0.5, 1.0])
def test_the_lobe_is_as_wide_as_mujocos(shininess: float) -> None:
    alpha = roughness_from_shininess(shininess) ** 2
    angle = np.linspace(0.0, 0.1, 11)
    blinn = np.cos(angle) ** (128 * shininess)
    beckmann = np.exp(-(np.tan(angle) ** 2) / alpha**2) / np.cos(angle) ** 4
    np.testing.assert_allclose(beckmann, blinn, atol=0.02)


@pytest.mark.parametrize("shininess", [0.1, 0.5])
def test_a_black_floor_reflects_a_light_with_the_peak_of_a_dielectric(
    tracer: MitsubaBackend, tmp_path: Path, shininess: float
) -> None:
    found = center(tracer, converted(tmp_path, "physical", shininess=shininess), "hdr")
    # The fill of 0.06 is reflected as well.
    np.testing.assert_allclose(found, peak(shininess, 0.7) + 0.04 * 0.06, rtol=0.05)


def test_the_headlight_has_the_same_highlight(tracer: MitsubaBackend, tmp_path: Path) -> None:
    scene = converted(tmp_path, "physical", headlight=1, light="")
    found = center(tracer, scene, "hdr")
    np.testing.assert_allclose(found, peak(0.5, 0.6) + 0.04 * 0.06, rtol=0.05)


@pytest.mark.parametrize("rule", ["mujoco", "physical"])
def test_without_specular_light_a_surface_is_matte(
    tracer: MitsubaBackend, tmp_path: Path, rule: MaterialRule
) -> None:
    scene = converted(tmp_path, rule, specular=0, rgba=".5 .5 .5")
    expected = srgb_decode(0.5) * (srgb_decode(0.7) + 0.06)
    np.testing.assert_allclose(center(tracer, scene, "hdr"), expected, rtol=0.03)


@pytest.mark.gl
@pytest.mark.parametrize("rgba", ["0 0 0", ".3 .1 .1", ".5 .5 .5"])
@pytest.mark.parametrize("specular", [0.3, 0.8])
def test_by_mujocos_rule_a_highlight_is_about_as_strong_as_in_its_picture(
    tracer: MitsubaBackend, tmp_path: Path, rgba: str, specular: float
) -> None:
    added = {}
    for name, backend in (("mujoco", MujocoBackend()), ("mitsuba", tracer)):
        pictures = [
            center(
                backend, converted(tmp_path / name / str(s), "mujoco", rgba=rgba, specular=s), "rgb"
            )
            for s in (specular, 0)
        ]
        added[name] = (pictures[0] - pictures[1]).mean()
    assert added["mujoco"] > 10
    assert added["mitsuba"] == pytest.approx(added["mujoco"], rel=0.35)


@pytest.mark.gl
def test_highlights_stand_where_mujocos_do(tracer: MitsubaBackend, tmp_path: Path) -> None:
    shiny = SHINE.read_text()
    matte = shiny.replace('specular=".8"', 'specular="0"').replace("<asset>", f"<asset>{GREY}")
    matte = matte.replace('name="plain"', 'name="plain" material="grey"')
    shown = []
    for name, text in (("shiny", shiny), ("matte", matte)):
        path = tmp_path / f"{name}.xml"
        path.write_text(text)
        source = MjcfConfig(path=path, materials="mujoco")
        shown.append(scenes.convert_mjcf(path, tmp_path / name, source=source))
    balls = [part.part for part in shown[0].info.parts if part.name != "table"]
    places = {}
    for backend in (MujocoBackend(), tracer):
        (with_shine, part), (without, _) = (front(backend, scene) for scene in shown)
        added = with_shine - without
        found = []
        for ball in balls:
            here = np.where(part == ball, added, 0.0)
            assert here.max() > 40
            weights = np.where(here > here.max() / 2, here, 0.0)
            found.append(np.average(np.indices(here.shape), axis=(1, 2), weights=weights))
        places[backend.name] = found
    assert len(balls) == 2
    distances = np.linalg.norm(np.subtract(*places.values()), axis=1)
    assert distances.max() < 1.5, "pixels; a ball is 36 pixels wide"


def test_a_lit_white_surface_shows_no_more_light_and_a_texture_dims_it() -> None:
    levels = LightLevels(0.7, 0.3, 1.0)
    white, grey = (1.0, 1.0, 1.0, 1.0), (0.5, 0.5, 0.5, 1.0)
    assert highlight("mujoco", white, 0.5, 0.5, levels).reflectance == 0.0
    plain = highlight("mujoco", grey, 0.5, 0.5, levels).reflectance
    # sRGB of .65 less that of .5, over (n + 2) / 8 times that of .7.
    decode = [((v + 0.055) / 1.055) ** 2.4 for v in (0.65, 0.5, 0.7)]
    assert plain == pytest.approx(8 * (decode[0] - decode[1]) / (66 * decode[2]), rel=1e-3)
    assert 0 < highlight("mujoco", grey, 0.5, 0.5, levels, 0.5).reflectance < plain


def test_light_levels_are_those_of_the_lights_that_shine() -> None:
    model = mujoco.MjModel.from_xml_string(
        MODEL.format(
            headlight=1,
            rgba="1 1 1",
            specular=0.5,
            shininess=0.5,
            light=SUN + '<light active="false"/>',
        )
    )
    found = LightLevels.of(model)
    assert (found.diffuse, found.specular) == pytest.approx((0.7, 0.3))
    assert found.lit == pytest.approx(math.sqrt(0.5) * 1.3)
    assert LightLevels.of_headlight(model)[:2] == pytest.approx((0.6, 0.4))
