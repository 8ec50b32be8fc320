from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from usd_stages import SQUARE, mesh, opened, write

from scenes import AssetError, Scene, convert_usd, srgb_encode
from scenes.sources.usd.config import UsdConfig
from scenes.sources.usd.looks.looks import Looks, UsdLook
from scenes.sources.usd.parts import UsdPart, read_parts
from scenes.sources.usd.reading.stage import UsdStage

ST = 'texCoord2f[] primvars:st = [(0,0),(1,0),(1,1),(0,1)] (interpolation = "vertex")\n'
BOUND = "rel material:binding = </W/look>\n"


def material(inputs: str, nodes: str = "", kind: str = "UsdPreviewSurface") -> str:
    return (
        'def Material "look" { token outputs:surface.connect = </W/look/s.outputs:surface>\n'
        f'def Shader "s" {{ uniform token info:id = "{kind}"\n{inputs}\ntoken outputs:surface\n}}\n'
        f"{nodes}\n}}\n"
    )


def textured(more: str = "", between: str = "</W/look/r.outputs:result>", nodes: str = "") -> str:
    return material(
        "color3f inputs:diffuseColor.connect = </W/look/t.outputs:rgb>",
        'def Shader "t" { uniform token info:id = "UsdUVTexture"\n'
        "asset inputs:file = @./tex.png@\n"
        f"float2 inputs:st.connect = {between}\n{more}\nfloat3 outputs:rgb\n}}\n"
        'def Shader "r" { uniform token info:id = "UsdPrimvarReader_float2"\n'
        'string inputs:varname = "st"\nfloat2 outputs:result\n}\n' + nodes,
    )


def square(folder: Path, look: str, more: str = ST + BOUND) -> tuple[UsdStage, UsdPart]:
    folder.mkdir(exist_ok=True)
    pixels = np.full((2, 2, 3), 255, np.uint8)
    pixels[0, 0] = (200, 100, 50)
    Image.fromarray(pixels).save(folder / "tex.png")
    stage = opened(folder, look + mesh("m", SQUARE, more))
    prim = stage.stage.GetPrimAtPath("/W/m")
    (part,) = read_parts(stage, Looks(stage), prim, stage.transform(prim))
    return stage, part


def look(folder: Path, content: str, more: str = ST + BOUND) -> UsdLook:
    return square(folder, content, more)[1].look


def test_constants_of_a_preview_surface_are_taken(tmp_path: Path) -> None:
    found = look(
        tmp_path,
        material(
            "color3f inputs:diffuseColor = (0.2, 0.4, 0.6)\nfloat inputs:opacity = 0.5\n"
            "float inputs:roughness = 0.3\nfloat inputs:metallic = 1\n"
            "color3f inputs:emissiveColor = (0.1, 0.2, 0.3)"
        ),
    )
    np.testing.assert_allclose(found.rgba, [*srgb_encode([0.2, 0.4, 0.6]), 0.5], rtol=1e-6)
    assert (found.roughness, found.metallic) == pytest.approx((0.3, 1.0))
    assert found.emission == pytest.approx(0.5)


def test_inputs_of_the_material_reach_the_surface(tmp_path: Path) -> None:
    content = material("color3f inputs:diffuseColor.connect = </W/look.inputs:tint>").replace(
        "{ token", "{ color3f inputs:tint = (1, 0, 0)\ntoken", 1
    )
    assert look(tmp_path, content).rgba == pytest.approx((1.0, 0.0, 0.0, 1.0))


@pytest.mark.parametrize("purpose", ["preview", "full"])
def test_bindings_of_one_purpose_are_followed(tmp_path: Path, purpose: str) -> None:
    content = material("color3f inputs:diffuseColor = (1, 0, 0)")
    more = ST + BOUND.replace("material:binding", f"material:binding:{purpose}")
    assert look(tmp_path, content, more).rgba == pytest.approx((1.0, 0.0, 0.0, 1.0))


def test_what_glows_and_reflects_nothing_shows_its_glow(tmp_path: Path) -> None:
    found = look(
        tmp_path,
        material(
            "color3f inputs:diffuseColor = (0, 0, 0)\ncolor3f inputs:emissiveColor = (5, 1, 0)"
        ),
    )
    assert found.rgba == pytest.approx((1.0, 1.0, 0.0, 1.0))
    assert found.emission == 1.0


def test_display_color_is_shown_where_no_material_is_bound(tmp_path: Path) -> None:
    more = "color3f[] primvars:displayColor = [(0.2, 0.4, 0.6)]\n"
    found = look(tmp_path, "", more)
    np.testing.assert_allclose(found.rgba[:3], srgb_encode([0.2, 0.4, 0.6]), rtol=1e-6)


def test_display_color_that_varies_is_its_mean_and_reported(tmp_path: Path) -> None:
    colors = "[(0,0,0), (1,1,1), (0,0,0), (1,1,1)]"
    more = f'color3f[] primvars:displayColor = {colors} (interpolation = "vertex")\n'
    stage, part = square(tmp_path, "", more)
    np.testing.assert_allclose(part.look.rgba[:3], srgb_encode([0.5] * 3))
    assert any("displayColor varies" in note for note in stage.notes.approximated)


def test_a_picture_is_taken_with_its_scale(tmp_path: Path) -> None:
    found = look(tmp_path, textured("float4 inputs:scale = (0.5, 1, 1, 1)"))
    assert found.picture is not None
    assert found.picture.pixels[0, 0].tolist() == [200, 100, 50]
    assert found.rgba == pytest.approx((float(srgb_encode(0.5)), 1, 1, 1))


def test_linear_pictures_and_biases_become_display_values(tmp_path: Path) -> None:
    raw = look(tmp_path / "raw", textured('token inputs:sourceColorSpace = "raw"'))
    assert raw.picture is not None
    expected = srgb_encode(np.array([200, 100, 50]) / 255) * 255
    np.testing.assert_allclose(raw.picture.pixels[0, 0], expected, atol=0.51)
    biased = look(
        tmp_path / "biased",
        textured("float4 inputs:bias = (0.1, 0, 0, 0)\nfloat4 inputs:scale = (0, 1, 1, 1)"),
    )
    assert biased.picture is not None and biased.rgba == (1, 1, 1, 1)
    np.testing.assert_allclose(biased.picture.pixels[0, 0, 0], srgb_encode(0.1) * 255, atol=0.51)


def test_texture_coordinates_are_turned_scaled_and_moved(tmp_path: Path) -> None:
    nodes = (
        'def Shader "x" { uniform token info:id = "UsdTransform2d"\n'
        "float2 inputs:in.connect = </W/look/r.outputs:result>\n"
        "float inputs:rotation = 90\nfloat2 inputs:scale = (2, 3)\n"
        "float2 inputs:translation = (10, 20)\nfloat2 outputs:result\n}\n"
    )
    _, part = square(tmp_path, textured("", "</W/look/x.outputs:result>", nodes))
    corner = part.points[part.faces]
    expected = np.stack([10 - 3 * corner[..., 1], 20 + 2 * corner[..., 0]], axis=-1)
    np.testing.assert_allclose(part.st, expected, atol=1e-6)


def test_without_coordinates_a_picture_is_its_mean_colour(tmp_path: Path) -> None:
    stage, part = square(tmp_path, textured(), BOUND)
    assert part.look.picture is None
    assert any("no texture coordinates 'st'" in note for note in stage.notes.approximated)
    linear = np.array([1, 1, 1, ((200 / 255 + 0.055) / 1.055) ** 2.4])
    np.testing.assert_allclose(part.look.rgba[0], srgb_encode(linear.mean()), atol=1e-6)


def test_a_missing_picture_is_named_with_the_full_path(tmp_path: Path) -> None:
    content = textured().replace("./tex.png", "./no/tex.png")
    with pytest.raises(AssetError) as error:
        look(tmp_path, content)
    assert f"/W/look: picture './no/tex.png': no such file: {tmp_path}/no/tex.png" in str(
        error.value
    )


def test_a_picture_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"no picture")
    with pytest.raises(AssetError, match=r"/W/look: picture .*bad\.png cannot be read"):
        look(tmp_path, textured().replace("./tex.png", "./bad.png"))


def test_unknown_shaders_are_reported_and_their_usual_inputs_taken(tmp_path: Path) -> None:
    content = material(
        "color3f inputs:diffuse_color_constant = (0.2, 0.4, 0.6)\n"
        "float inputs:reflection_roughness_constant = 0.7",
        kind="OmniPBR",
    )
    stage, part = square(tmp_path, content)
    np.testing.assert_allclose(part.look.rgba[:3], srgb_encode([0.2, 0.4, 0.6]), rtol=1e-6)
    assert part.look.roughness == pytest.approx(0.7)
    assert any("shader OmniPBR is not known" in note for note in stage.notes.approximated)


def test_pictures_of_other_inputs_are_reported(tmp_path: Path) -> None:
    inputs = "float inputs:roughness.connect = </W/look/t.outputs:r>\n"
    content = textured("float outputs:r").replace("color3f inputs", inputs + "color3f inputs", 1)
    stage, _ = square(tmp_path, content)
    assert "material /W/look: the picture of roughness is not used" in stage.notes.approximated


def test_nodes_in_a_circle_are_refused(tmp_path: Path) -> None:
    nodes = (
        'def Shader "x" { uniform token info:id = "UsdTransform2d"\n'
        "float2 inputs:in.connect = </W/look/x.outputs:result>\nfloat2 outputs:result\n}\n"
    )
    with pytest.raises(AssetError, match="/W/look/x: it is connected to itself in a circle"):
        look(tmp_path, textured("", "</W/look/x.outputs:result>", nodes))


def test_a_connection_to_nothing_is_reported(tmp_path: Path) -> None:
    content = material("float inputs:roughness.connect = </W/look/gone.outputs:r>")
    stage, part = square(tmp_path, content)
    assert part.look.roughness == 0.5
    assert "/W/look/s: the connection of roughness leads nowhere" in stage.notes.approximated


def test_pictures_inside_a_package_are_read(tmp_path: Path) -> None:
    from pxr import UsdUtils

    Image.new("RGB", (2, 2), (9, 8, 7)).save(tmp_path / "tex.png")
    write(tmp_path, textured() + mesh("m", SQUARE, ST + BOUND))
    package = tmp_path / "box" / "stage.usdz"
    package.parent.mkdir()
    assert UsdUtils.CreateNewUsdzPackage(str(tmp_path / "stage.usda"), str(package))
    scene = convert_usd(tmp_path / "out", UsdConfig(path=package))
    assert isinstance(scene, Scene)
    (picture,) = (scene.folder / "textures").iterdir()
    assert np.asarray(Image.open(picture))[0, 0].tolist() == [9, 8, 7]


def test_a_picture_beyond_those_that_were_checked_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("tex.mdl", "te<x.png"):
        Image.new("RGB", (2, 2)).save(outside / name, "PNG")
        nodes = textured().replace("./tex.png", str(outside / name))
        with pytest.raises(AssetError, match=r"/W/look: picture .* is not read"):
            look(tmp_path / "in", nodes)
