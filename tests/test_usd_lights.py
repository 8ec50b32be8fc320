from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from usd_stages import mesh, opened, translate

from scenes import convert_usd, srgb_decode
from scenes.sources.usd.config import UsdConfig
from scenes.sources.usd.lights import Lighting, read_lighting
from scenes.sources.usd.reading.prims import read_prims
from scenes.sources.usd.reading.stage import UsdStage

RADIUS = math.sqrt(3)


def lighting(folder: Path, content: str, *, unit: float = 1.0) -> tuple[UsdStage, Lighting]:
    stage = opened(folder, mesh("m") + content, unit=unit)
    prims = read_prims(stage)
    return stage, read_lighting(stage, prims.lights, np.zeros(3), RADIUS)


def light(kind: str, name: str, inputs: str, more: str = "") -> str:
    return f'def {kind} "{name}" {more} {{ {inputs}\n}}\n'


def shares(found: Lighting) -> list[float]:
    """Linear brightness of each light, then of the ambient."""
    values = [lamp.diffuse[0] for lamp in found.lights] + [found.ambient[0]]
    return [float(srgb_decode(value)) for value in values]


def test_display_values_add_up_to_one_and_keep_their_ratio(tmp_path: Path) -> None:
    sun = "bool inputs:normalize = 1\nfloat inputs:intensity = {}"
    content = light("DistantLight", "a", sun.format(math.pi)) + light(
        "DistantLight", "b", sun.format(2 * math.pi)
    )
    _, found = lighting(tmp_path, content + light("DomeLight", "sky", "float inputs:intensity = 4"))
    first, second, sky = shares(found)
    # A distant light of irradiance pi is as bright on a white surface as a dome of radiance 1.
    assert second / first == pytest.approx(2, rel=1e-5)
    assert sky / first == pytest.approx(4, rel=1e-5)
    total = sum(lamp.diffuse[0] for lamp in found.lights) + found.ambient[0]
    assert total == pytest.approx(1.0)


def test_exposure_and_colour_count(tmp_path: Path) -> None:
    sun = "bool inputs:normalize = 1\n"
    content = light("DistantLight", "a", sun) + light(
        "DistantLight", "b", sun + "float inputs:exposure = 1\ncolor3f inputs:color = (1, 0.5, 0)"
    )
    _, found = lighting(tmp_path, content)
    linear = srgb_decode(np.array([lamp.diffuse for lamp in found.lights]))
    np.testing.assert_allclose(linear[1] / linear[0], [2, 1, 0], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "inputs", "irradiance"),
    [
        # Radiance 1 over the disk that a sphere of radius 0.1 shows, 4 m away.
        ("SphereLight", "float inputs:radius = 0.1", math.pi * 0.01 / 16),
        ("DiskLight", "float inputs:radius = 0.1", math.pi * 0.01 / 16),
        ("RectLight", "float inputs:width = 0.3\nfloat inputs:height = 0.2", 0.06 / 16),
        ("CylinderLight", "float inputs:radius = 0.1\nfloat inputs:length = 2", 0.4 / 16),
        # Normalized: the power does not depend on the size.
        ("SphereLight", "float inputs:radius = 0.1\nbool inputs:normalize = 1", 0.25 / 16),
        ("RectLight", "float inputs:width = 9\nbool inputs:normalize = 1", 1 / 16),
    ],
)
def test_local_lights_are_as_bright_as_physics_says(
    tmp_path: Path, kind: str, inputs: str, irradiance: float
) -> None:
    sun = light("DistantLight", "sun", "bool inputs:normalize = 1\nfloat inputs:intensity = 1")
    lamp = light(kind, "lamp", f"float inputs:intensity = 1\n{inputs}\n{translate(0, 0, 4)}")
    _, found = lighting(tmp_path, sun + lamp)
    reference, local, _ = shares(found)
    assert local / reference == pytest.approx(irradiance, rel=1e-4)


def test_sizes_and_places_follow_the_unit(tmp_path: Path) -> None:
    sun = light("DistantLight", "sun", "bool inputs:normalize = 1\nfloat inputs:intensity = 1")
    lamp = light(
        "SphereLight", "lamp", f"float inputs:intensity = 1\nfloat inputs:radius = 10\n"
        f"{translate(0, 0, 400)}"
    )  # fmt: skip
    _, found = lighting(tmp_path, sun + lamp, unit=0.01)
    reference, local, _ = shares(found)
    assert local / reference == pytest.approx(math.pi * 0.01 / 16, rel=1e-4)
    np.testing.assert_allclose(found.lights[1].pose[:3, 3], [0, 0, 4])


def test_a_shaped_light_keeps_its_direction_and_cone(tmp_path: Path) -> None:
    lamp = light(
        "SphereLight", "lamp",
        "float inputs:shaping:cone:angle = 30\nfloat inputs:shaping:focus = 5\n"
        "double xformOp:rotateX = 90\n"
        'uniform token[] xformOpOrder = ["xformOp:rotateX"]',
        '(prepend apiSchemas = ["ShapingAPI"])',
    )  # fmt: skip
    _, found = lighting(tmp_path, lamp)
    (spot,) = found.lights
    assert (spot.cutoff, spot.exponent, spot.directional) == (30.0, 7.0, False)
    np.testing.assert_allclose(-spot.pose[:3, 2], [0, 1, 0], atol=1e-12)


def test_a_light_that_shines_everywhere_looks_at_the_scene_and_is_reported(tmp_path: Path) -> None:
    stage, found = lighting(tmp_path, light("SphereLight", "lamp", translate(3, 0, 4)))
    (lamp,) = found.lights
    np.testing.assert_allclose(-lamp.pose[:3, 2], [-0.6, 0, -0.8], atol=1e-12)
    assert any("became a wide spot" in note for note in stage.notes.approximated)


def test_invisible_and_unknown_lights_are_left_out_by_name(tmp_path: Path) -> None:
    content = light("DistantLight", "off", 'token visibility = "invisible"')
    content += light("PortalLight", "portal", "")
    content += light("DistantLight", "negative", "float inputs:intensity = -1")
    stage, found = lighting(tmp_path, content)
    assert not found.lights and found.none
    assert set(stage.notes.left_out) == {
        "light /W/off: invisible",
        "light /W/portal: a PortalLight is not read",
        "light /W/negative: below zero; it would take light away",
    }


def test_attributes_of_old_exporters_are_read_and_named(tmp_path: Path) -> None:
    case = Path(__file__).parent / "cases" / "a67-usd-light-attributes-without-prefix"
    scene = convert_usd(tmp_path / "out", UsdConfig(path=case / "a67.usda"))
    red, green, blue = scene.load_model().light_diffuse[0]
    # The lamp is (1, 0.2, 0.2); the display value of its brightest channel is one.
    assert red == pytest.approx(1, abs=1e-5)
    assert srgb_decode(green) == srgb_decode(blue) == pytest.approx(0.2, rel=1e-4)
    told = (scene.folder / "report.json").read_text()
    assert "light /World/sun: intensity, color, angle, without the 'inputs:'" in told


def test_the_prefixed_attribute_wins_and_old_shaping_makes_a_cone(tmp_path: Path) -> None:
    old = "float radius = 0.1\nfloat shaping:cone:angle = 20\n"
    content = light("SphereLight", "a", old, "") + light(
        "SphereLight",
        "b",
        old.replace("20", "60") + "float inputs:shaping:cone:angle = 30",
        '(prepend apiSchemas = ["ShapingAPI"])',
    )
    _, found = lighting(tmp_path, content)
    assert [lamp.cutoff for lamp in found.lights] == pytest.approx([20, 30])
