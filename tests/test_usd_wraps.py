"""Pictures of a USD stage beyond their edges, moved, scaled and biased."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from PIL import Image
from pxr import UsdGeom, UsdShade
from usd_stages import write

from scenes import Scene, convert_usd, srgb_decode
from scenes.sources.usd.config import UsdConfig

CASES = Path(__file__).parent / "cases"


def at(scene: Scene, part: str, u: float, v: float) -> list[int]:
    """Display value at a place of a card of 1 m, 0 to 1 from its lower left corner, in its stage.

    The coordinates are linear over the card, and the picture repeats.
    """
    prim = scene.stage.GetPrimAtPath(part)
    mesh = UsdGeom.Mesh(prim)
    corners = np.array(mesh.GetFaceVertexIndicesAttr().Get())
    to_world = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(prim))[:3, :3]
    points = (np.array(mesh.GetPointsAttr().Get()) @ to_world)[corners, :2]
    places = (points - points.min(axis=0)) / np.ptp(points, axis=0)
    primvar = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st")
    st = np.array(primvar.Get())[np.array(primvar.GetIndices())]
    fit = np.linalg.lstsq(np.c_[places, np.ones(len(places))], st, rcond=None)[0]
    s, t = np.array([u, v, 1.0]) @ fit
    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    shader = UsdShade.Shader(scene.stage.GetPrimAtPath(f"{material.GetPath()}/texture"))
    assert shader.GetInput("wrapS").Get() == shader.GetInput("wrapT").Get() == "repeat"
    with Image.open(shader.GetInput("file").Get().resolvedPath) as image:
        column = int(np.floor(s * image.width)) % image.width
        row = int(np.floor((1 - t) * image.height)) % image.height
        return list(image.convert("RGB").getpixel((column, row)))  # pyright: ignore


def part(scene: Scene, name: str) -> str:
    (found,) = (each.path for each in scene.info.parts if name in each.path)
    return found


def test_pictures_are_moved_clamped_scaled_and_biased(tmp_path: Path) -> None:
    case = CASES / "a45-usd-texture-transform"
    right = json.loads((case / "case.json").read_text())["expect"]["rule"]
    scene = convert_usd(tmp_path / "out", UsdConfig(path=case / "scene.usda"))
    quarters = {"TL": (0.25, 0.75), "TR": (0.75, 0.75), "BL": (0.25, 0.25), "BR": (0.75, 0.25)}
    for name in ("plain", "moved"):
        for corner, value in right[name].items():
            assert np.allclose(at(scene, part(scene, name), *quarters[corner]), value, atol=8)
    for corner, value in right["biased_linear"].items():
        shown = srgb_decode(np.array(at(scene, part(scene, "biased"), *quarters[corner])) / 255)
        assert np.allclose(shown, value, atol=0.01)
    clamped = part(scene, "clamped")
    for place, value in right["clamped"].items():
        u, v = map(float, place.removeprefix("at_card_").split("_"))
        # The case counts down from the upper edge of the card.
        assert np.allclose(at(scene, clamped, u, 1 - v), value, atol=8)
    for corner, value in right["plain"].items():
        u, v = (x / 2 for x in quarters[corner])
        assert np.allclose(at(scene, clamped, u, v), value, atol=8)


def card(folder: Path, wraps: tuple[str, str], more: str = "") -> Scene:
    """A card of 3 x 3 pictures, the middle one from 0 to 1, of 2 x 2 texels."""
    pixels = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 0]]], dtype=np.uint8)
    folder.mkdir(exist_ok=True)
    Image.fromarray(pixels).save(folder / "quad.png")
    content = f"""
    def Mesh "card" (prepend apiSchemas = ["MaterialBindingAPI"]) {{
     uniform token subdivisionScheme = "none"
     point3f[] points = [(0,0,0), (3,0,0), (3,3,0), (0,3,0)]
     int[] faceVertexCounts = [4]
     int[] faceVertexIndices = [0, 1, 2, 3]
     texCoord2f[] primvars:st = [(-1,-1), (2,-1), (2,2), (-1,2)] (interpolation = "vertex")
     rel material:binding = </W/m>
    }}
    def Material "m" {{
     token outputs:surface.connect = </W/m/s.outputs:surface>
     def Shader "s" {{
      uniform token info:id = "UsdPreviewSurface"
      color3f inputs:diffuseColor.connect = </W/m/t.outputs:rgb>
      token outputs:surface
     }}
     def Shader "t" {{
      uniform token info:id = "UsdUVTexture"
      asset inputs:file = @quad.png@
      token inputs:sourceColorSpace = "sRGB"
      token inputs:wrapS = "{wraps[0]}"
      token inputs:wrapT = "{wraps[1]}"
      {more}
      float2 inputs:st.connect = </W/m/r.outputs:result>
      float3 outputs:rgb
     }}
     def Shader "r" {{
      uniform token info:id = "UsdPrimvarReader_float2"
      string inputs:varname = "st"
      float2 outputs:result
     }}
    }}"""
    return convert_usd(folder / "out", UsdConfig(path=write(folder, content)))


R, G, B, Y, K = [255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0], [0, 0, 0]
# Rows from the top, for 6 x 6 texels of which the middle 2 x 2 are the picture.
SHOWN: dict[tuple[str, str], list[list[Any]]] = {
    ("clamp", "clamp"): [[R, R, R, G, G, G]] * 3 + [[B, B, B, Y, Y, Y]] * 3,
    ("mirror", "mirror"): [
        [Y, B, B, Y, Y, B],
        [G, R, R, G, G, R],
        [G, R, R, G, G, R],
        [Y, B, B, Y, Y, B],
        [Y, B, B, Y, Y, B],
        [G, R, R, G, G, R],
    ],
    ("black", "black"): [[K] * 6] * 2 + [[K, K, R, G, K, K], [K, K, B, Y, K, K]] + [[K] * 6] * 2,
    ("repeat", "clamp"): [[R, G, R, G, R, G]] * 3 + [[B, Y, B, Y, B, Y]] * 3,
    ("black", "repeat"): [[K, K, R, G, K, K], [K, K, B, Y, K, K]] * 3,
}


@pytest.mark.parametrize("wraps", SHOWN, ids="-".join)
def test_each_axis_goes_on_beyond_its_edges_in_its_own_way(
    tmp_path: Path, wraps: tuple[str, str]
) -> None:
    scene = card(tmp_path, wraps)
    shown = [
        [at(scene, scene.info.parts[0].path, (x + 0.5) / 6, (5.5 - y) / 6) for x in range(6)]
        for y in range(6)
    ]
    assert shown == SHOWN[wraps]


def test_beyond_a_black_edge_the_bias_shows(tmp_path: Path) -> None:
    bias = "float4 inputs:bias = (0.5, 0, 0, 0)\nfloat4 inputs:scale = (0.5, 0.5, 0.5, 1)"
    scene = card(tmp_path, ("black", "black"), bias)
    shown = srgb_decode(np.array(at(scene, scene.info.parts[0].path, 0.1, 0.1)) / 255)
    assert np.allclose(shown, [0.5, 0, 0], atol=0.01)


def test_a_wide_reach_repeats_and_the_report_names_it(tmp_path: Path) -> None:
    path = tmp_path / "stage.usda"
    card(tmp_path, ("clamp", "clamp"))
    path.write_text(path.read_text().replace("(2,2)", "(9000,2)"))
    scene = convert_usd(tmp_path / "wide", UsdConfig(path=path))
    told = (scene.folder / "report.json").read_text()
    assert "material /W/m: beyond its edges the picture repeats, though it should clamp" in told


def test_the_model_shows_what_the_stage_shows(tmp_path: Path) -> None:
    model = card(tmp_path, ("clamp", "clamp")).load_model()
    assert model.tex_type[0] == mujoco.mjtTexture.mjTEXTURE_2D
    # The picture, what lies beyond it within the card, and one texel more on each side.
    assert (model.tex_width[0], model.tex_height[0]) == (8, 8)
