from __future__ import annotations

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest
from PIL import Image
from pxr import Usd, UsdShade

from scenes import Scene, convert_mjcf, srgb_decode
from scenes.convert.looks.highlights import roughness_from_shininess
from scenes.convert.looks.materials import geom_look
from scenes.convert.looks.textures import TextureFiles

MODEL = """
<mujoco><asset>
<texture name="check" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="4" height="4"/>
<texture name="dots" type="cube" builtin="flat" rgb1=".2 .4 .6" width="4" height="24"/>
<material name="red" rgba=".8 .1 .2 1" shininess="1" specular=".3" emission=".5"/>
<material name="tiled" texture="check" rgba=".5 .6 .7 1"/>
<material name="dotted" texture="dots" reflectance=".3" roughness=".2"/>
<material name="tin" metallic=".7"/>
<material name="lamp" texture="check" emission=".5" rgba=".5 .6 .7 1"/>
</asset><worldbody>
<geom name="plain" size="1"/>
<geom name="from_material" size="1" material="red"/>
<geom name="own" size="1" material="red" rgba="0 1 0 .4"/>
<geom name="hidden" size="1" material="red" rgba="0 1 0 0"/>
<geom name="tiled" type="box" size="1 1 1" material="tiled"/>
<geom name="tiled_too" type="box" size="1 1 1" material="tiled"/>
<geom name="dotted" type="box" size="1 1 1" material="dotted"/>
<geom name="tin" type="box" size="1 1 1" material="tin"/>
<geom name="lamp" type="box" size="1 1 1" material="lamp"/>
</worldbody></mujoco>
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("materials")
    (folder / "m.xml").write_text(MODEL)
    return convert_mjcf(folder / "m.xml", folder / "out")


def material(scene: Scene, part: str) -> UsdShade.Material:
    path = next(p.path for p in scene.info.parts if p.name == part)
    prim = scene.stage.GetPrimAtPath(path)
    return UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0]


def inputs(scene: Scene, part: str) -> dict:
    surface, _, _ = material(scene, part).ComputeSurfaceSource()
    return {i.GetBaseName(): i.Get() for i in surface.GetInputs()}


def test_geom_colour_wins_unless_it_is_the_default(scene: Scene) -> None:
    assert np.allclose(inputs(scene, "plain")["diffuseColor"], srgb_decode(0.5))
    assert np.allclose(inputs(scene, "from_material")["diffuseColor"], srgb_decode([0.8, 0.1, 0.2]))
    assert np.allclose(inputs(scene, "own")["diffuseColor"], [0, 1, 0])
    assert inputs(scene, "own")["opacity"] == pytest.approx(0.4)


def test_wholly_transparent_geoms_are_no_parts(scene: Scene) -> None:
    assert "hidden" not in {part.name for part in scene.info.parts}


def test_material_values_reach_the_surface(scene: Scene) -> None:
    values = inputs(scene, "from_material")
    assert values["roughness"] == pytest.approx(roughness_from_shininess(1.0))
    assert np.allclose(values["emissiveColor"], 0.5 * srgb_decode([0.8, 0.1, 0.2]))
    assert values["metallic"] == 0
    assert np.allclose(inputs(scene, "plain")["emissiveColor"], 0.0)


def test_colours_outside_0_to_1_are_shown_within_and_reported(tmp_path: Path) -> None:
    bright = '<geom name="bright" size="1" rgba=".5 7.5 -1 2"/>'
    (tmp_path / "m.xml").write_text(f"<mujoco><worldbody>{bright}</worldbody></mujoco>")
    scene = convert_mjcf(tmp_path / "m.xml", tmp_path / "out")
    values = inputs(scene, "bright")
    assert np.allclose(values["diffuseColor"], [srgb_decode(0.5), 1, 0])
    assert values["opacity"] == 1.0
    report = json.loads((scene.folder / "report.json").read_text(encoding="utf-8"))
    said = "geom bright: rgba 0.5 7.5 -1 2 is shown within 0 to 1"
    assert any(line.startswith(said) for line in report["approximated"])


def test_metallic_and_roughness_of_the_model_reach_the_surface(scene: Scene) -> None:
    tin, dotted, plain = (inputs(scene, part) for part in ("tin", "dotted", "plain"))
    assert tin["metallic"] == pytest.approx(0.7) and tin["useSpecularWorkflow"] == 0
    assert tin["roughness"] == pytest.approx(roughness_from_shininess(0.5))
    assert dotted["roughness"] == pytest.approx(0.2) and dotted["metallic"] == 0
    assert plain["useSpecularWorkflow"] == 1


def test_emission_is_tinted_by_the_texture(scene: Scene) -> None:
    surface, _, _ = material(scene, "lamp").ComputeSurfaceSource()
    ((connection,), _) = surface.GetInput("emissiveColor").GetConnectedSources()
    glow = UsdShade.Shader(connection.source.GetPrim())
    expected = 0.5 * srgb_decode([0.5, 0.6, 0.7])
    assert np.allclose(glow.GetInput("scale").Get(), [*expected, 1.0])
    assert glow.GetInput("file").Get().path == texture(scene, "lamp").GetInput("file").Get().path


def test_equal_looks_share_a_material(scene: Scene) -> None:
    assert material(scene, "tiled").GetPath() == material(scene, "tiled_too").GetPath()
    assert material(scene, "own").GetPath() != material(scene, "from_material").GetPath()


def texture(scene: Scene, part: str) -> Usd.Prim:
    surface, _, _ = material(scene, part).ComputeSurfaceSource()
    ((connection,), _) = surface.GetInput("diffuseColor").GetConnectedSources()
    return UsdShade.Shader(connection.source.GetPrim())


@pytest.mark.parametrize(("part", "wrap"), [("tiled", "repeat"), ("dotted", "clamp")])
def test_texture_states_colour_space_wrap_and_tint(scene: Scene, part: str, wrap: str) -> None:
    shader = texture(scene, part)
    assert shader.GetInput("sourceColorSpace").Get() == "sRGB"
    assert shader.GetInput("wrapS").Get() == shader.GetInput("wrapT").Get() == wrap
    tint = [0.5, 0.6, 0.7] if part == "tiled" else [1, 1, 1]
    assert np.allclose(shader.GetInput("scale").Get(), [*srgb_decode(tint), 1.0])


def test_texture_is_a_file_beside_the_stage_with_mujocos_pixels(scene: Scene) -> None:
    file = texture(scene, "tiled").GetInput("file").Get()
    assert file.path.startswith("./textures/")
    model = scene.load_model()
    first = int(model.tex_adr[0])
    expected = model.tex_data[first : first + 4 * 4 * 3].reshape(4, 4, 3)
    assert np.array_equal(np.array(Image.open(file.resolvedPath)), expected)


def test_what_mujocos_pictures_ignore_is_reported(scene: Scene) -> None:
    report = json.loads((scene.folder / "report.json").read_text(encoding="utf-8"))
    lines = [line for line in report["approximated"] if line.startswith("material")]
    assert [line.split(",")[0] for line in lines] == [
        "material red: emission 0.5 shows on the surface and lights nothing else",
        "material dotted: reflectance 0.3",
        "material dotted: metallic and roughness",
        "material tin: metallic and roughness",
        "material lamp: emission 0.5 shows on the surface and lights nothing else",
    ]


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_textures_of_any_channel_count_are_written(tmp_path: Path, channels: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (4, 5, 4), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "t.png")
    (tmp_path / "m.xml").write_text(
        f"<mujoco><asset><texture type='2d' file='t.png' nchannel='{channels}'/></asset></mujoco>"
    )
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    written = np.array(Image.open(tmp_path / TextureFiles(tmp_path, None).file(model, 0)))
    assert written.shape[:2] == (4, 5)
    assert np.array_equal(written.ravel(), model.tex_data[: 20 * channels])


def test_look_of_a_geom_without_material_has_mujocos_defaults() -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    look = geom_look(model, model.geom("plain").id)
    assert (look.material, look.texture, look.specular, look.shininess) == (-1, -1, 0.5, 0.5)


def test_roughness_falls_with_shininess_from_one() -> None:
    values = [roughness_from_shininess(s) for s in np.linspace(0, 1, 11)]
    assert values[0] == 1.0
    assert all(np.diff(values) < 0)
    # Exponent 128: alpha = sqrt(2 / 130), roughness its square root.
    assert values[-1] == pytest.approx((2 / 130) ** 0.25)


def test_textures_of_many_scenes_are_stored_once(tmp_path: Path) -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    names = [TextureFiles(tmp_path / s, tmp_path / "store").file(model, 0) for s in ("a", "b")]
    assert names[0] == names[1]
    assert (tmp_path / "a" / names[0]).samefile(tmp_path / "b" / names[1])
    assert [f.name[:24] for f in (tmp_path / "store").iterdir()] == [names[0].removesuffix(".png")]
