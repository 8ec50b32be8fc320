from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bench.faults_looks import FAULTS, LooksFault, named
from datagen.audit.diagnose.findings import Comparison
from datagen.audit.diagnose.looks.light_findings import diagnose_lights
from datagen.audit.diagnose.looks.light_fit import LightScale, fit_scales
from datagen.audit.measure.looks import compare_looks
from datagen.audit.view import AUDIT_PASSES, Side, ViewPair
from datagen.backends import Backend, Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mujoco.backend import MUJOCO_PASSES, MujocoBackend
from datagen.labels import Labeler
from datagen.run.exposure import EXPOSURE, scene_exposure
from datagen.shading.formula import Shading
from datagen.shading.lights import DisplayLight
from scenes import SampleLayer, Scene, convert_mjcf

pytestmark = pytest.mark.gl
SIZE = Size(160, 120)
ROOM = """
<mujoco>
  <visual><headlight ambient=".1 .1 .1" diffuse=".4 .4 .4" specular="0 0 0"/></visual>
  <asset>
    <texture name="squares" type="2d" file="squares.png"/>
    <texture name="tiles" type="2d" file="tiles.png"/>
    <material name="squares" texture="squares" specular=".1" shininess=".3"/>
    <material name="tiles" texture="tiles" specular="0"/>
  </asset>
  <worldbody>
    <light name="lamp" pos=".4 .3 2" dir="-.2 -.1 -1" diffuse=".5 .5 .5" specular="0 0 0"
      castshadow="false"/>
    <light name="sun" pos="0 0 3" dir=".5 .4 -1" type="directional" diffuse=".15 .15 .15"
      specular="0 0 0" castshadow="false"/>
    <camera name="agentview" pos="0 -.9 1.5" xyaxes="1 0 0 0 .85 .5" fovy="50"/>
    <geom name="floor" type="plane" size="1.5 1.5 .1" material="tiles"/>
    <body name="crate" pos="0 .05 .1">
      <freejoint/>
      <geom name="crate" type="box" size=".3 .25 .1" material="squares"/>
    </body>
  </worldbody>
</mujoco>
"""


def picture(path: Path, seed: int, low: float, high: float) -> None:
    squares = np.random.default_rng(seed).uniform(low, high, (6, 6, 3)) * 255
    Image.fromarray(squares.astype(np.uint8)).resize((96, 96), Image.Resampling.NEAREST).save(path)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ViewPair, SampleLayer]]:
    folder = tmp_path_factory.mktemp("looks")
    picture(folder / "squares.png", 1, 0.1, 1.0)
    picture(folder / "tiles.png", 2, 0.3, 0.8)
    (folder / "room.xml").write_text(ROOM)
    scene = convert_mjcf(folder / "room.xml", folder / "scene")
    sample = SampleLayer(scene, scene.state_names[0])
    labeler = Labeler(scene, {each.label: n for n, each in enumerate(scene.info.objects, 1)})
    backends: tuple[Backend, ...] = (
        MujocoBackend(colorspace="display"),
        MitsubaBackend(spp=16, cull_back_faces=True),
    )
    backends[1].open(scene)
    sample.set(EXPOSURE, scene_exposure(scene, backends[1], sample.state.name))
    sides = [side(backend, scene, sample, labeler) for backend in backends]
    yield ViewPair(scene, scene.info.scene_id, 0, 0, "agentview", SIZE, sides[0], sides[1]), sample


def side(backend: Backend, scene: Scene, sample: SampleLayer, labeler: Labeler) -> Side:
    passes = set(AUDIT_PASSES) & (MUJOCO_PASSES if backend.name == "mujoco" else set(AUDIT_PASSES))
    backend.open(scene)
    backend.apply(sample)
    buffers = backend.render("agentview", SIZE, passes)
    backend.close()
    return Side(backend.name, buffers, labeler.labels(sample, "agentview", SIZE, buffers))


@pytest.fixture(scope="module")
def compared(clean: tuple[ViewPair, SampleLayer]) -> Comparison:
    pair, sample = clean
    pair.scene.show(sample)
    return compare_looks(pair)


def test_a_clean_view_raises_no_alarm(compared: Comparison) -> None:
    assert compared.findings == ()


def test_lights_of_a_clean_view_are_imported_to_one_percent(compared: Comparison) -> None:
    metrics = compared.metrics
    assert 0.99 < metrics["light.luminance_ratio"] < 1.01
    assert metrics["light.psnr"] > 32
    assert metrics["light.ssim"] > 0.93
    assert metrics["light.flip"] < 0.05


def test_every_measurement_of_looks_is_there(compared: Comparison) -> None:
    assert {
        "albedo.psnr",
        "albedo.interior_psnr",
        "rgb.psnr",
        "rgb.ssim",
        "rgb.flip",
        "rgb.luminance_ratio",
        "rgb.hue_deg",
        "rgb.histogram",
    } <= set(compared.metrics)
    assert {"luminance_ratio", "hue_deg", "albedo_psnr"} <= set(compared.objects["crate"])
    assert compared.maps["flip"].shape == (SIZE.height, SIZE.width)
    assert compared.maps["rgb_difference"].dtype == np.uint8


CASES = [
    (fault, size)
    for fault in FAULTS
    for size in fault.sizes
    if (fault.name, size)
    in {
        ("decoded again", 2.2),
        ("encoded again", 2.2),
        ("tone curve up", 1.5),
        ("raw textures", 1.4),
        ("channels", 4),
        ("exposure up", 60),
        ("exposure down", -40),
        ("texture lost", 1.0),
        ("v flipped", 1),
        ("u flipped", 1),
        ("light up", 10),
        ("light down", -10),
        ("light doubled", 2),
        ("light off", 1),
    }
]


@pytest.mark.parametrize(("fault", "size"), CASES, ids=lambda v: getattr(v, "name", str(v)))
def test_a_planted_fault_is_named(
    clean: tuple[ViewPair, SampleLayer], fault: LooksFault, size: float
) -> None:
    pair, sample = clean
    pair.scene.show(sample)
    changed = SampleLayer(pair.scene, sample.state.name)
    planted = fault.plant(pair, changed, size)
    assert planted is not None
    faulty, subject = planted
    pair.scene.show(changed)
    findings = compare_looks(faulty).findings
    pair.scene.show(sample)
    assert named(findings, fault.kind, subject), findings
    assert {each.kind for each in findings} == {fault.kind}


def test_the_size_of_a_light_fault_is_stated(clean: tuple[ViewPair, SampleLayer]) -> None:
    pair, sample = clean
    fault = next(fault for fault in FAULTS if fault.name == "light up")
    changed = SampleLayer(pair.scene, sample.state.name)
    pair.scene.show(sample)
    assert fault.plant(pair, changed, 20.0) is not None
    pair.scene.show(changed)
    (finding,) = compare_looks(pair).findings
    pair.scene.show(sample)
    assert finding.size == pytest.approx(20.0, abs=4.0)
    assert "brighter" in finding.sentence


def light_scale(gain: float) -> LightScale:
    return LightScale("lamp", "/World/lights/lamp", 1.0, 0.8, 0.3, 0.02, gain)


def test_a_light_is_named_only_where_its_other_strength_explains_the_picture(
    clean: tuple[ViewPair, SampleLayer],
) -> None:
    (named,) = diagnose_lights(clean[0], (light_scale(0.6),))
    assert named.kind == "light_intensity" and named.subject == "light lamp"
    assert diagnose_lights(clean[0], (light_scale(-0.5),)) == []


def test_a_fitted_strength_tells_how_much_of_the_error_it_takes_away() -> None:
    rng = np.random.default_rng(2)
    terms = rng.uniform(0.1, 0.4, (2, 20, 30, 3)).astype(np.float32)
    nothing = np.zeros(3)
    left, right = (
        DisplayLight(n, f"/{n}", nothing, nothing, nothing, nothing) for n in ("left", "right")
    )
    ones = np.ones((20, 30, 3), np.float32)
    everywhere = np.ones((20, 30), dtype=np.bool_)
    shading = Shading((left, right), terms, 0 * ones, 0 * ones, terms.sum(axis=0), ones, everywhere)
    picture = terms[0] + 0.8 * terms[1]
    first, second = fit_scales(shading, ones, picture, everywhere)
    assert abs(second.scale - 0.8) < 0.01
    assert second.gain > 0.9 and abs(first.gain) < 0.1
