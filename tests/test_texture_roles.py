from __future__ import annotations

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest
from PIL import Image
from pxr import Usd, UsdShade, UsdValidation

from datagen.backends.base import Size
from datagen.backends.errors import BackendError
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mujoco.values import ModelValues
from datagen.backends.newton.values import NEWTON_HONOURED
from scenes import SampleLayer, Scene, convert_mjcf, srgb_decode

LAYERS = """
<texture name="paint" type="2d" file="paint.png"/>
<texture name="gray" type="2d" file="gray.png" nchannel="1"/>
<texture name="packed" type="2d" file="packed.png"/>
<texture name="bumps" type="2d" file="bumps.png"/>
<texture name="cube" type="cube" builtin="flat" rgb1="1 1 1" width="4" height="24"/>
<material name="full" rgba=".5 .6 .7 .8" metallic=".5" emission=".3">
  <layer role="rgb" texture="paint"/><layer role="occlusion" texture="gray"/>
  <layer role="roughness" texture="gray"/><layer role="metallic" texture="gray"/>
  <layer role="normal" texture="bumps"/><layer role="opacity" texture="gray"/>
  <layer role="emissive" texture="packed"/></material>
<material name="packed" roughness=".25"><layer role="orm" texture="packed"/></material>
<material name="own" roughness=".25">
  <layer role="orm" texture="packed"/><layer role="roughness" texture="gray"/></material>
<material name="odd">
  <layer role="rgb" texture="paint"/><layer role="roughness" texture="cube"/>
  <layer role="orm" texture="gray"/></material>
<material name="dice"><layer role="metallic" texture="cube"/></material>
"""
NAMES = ("full", "packed", "own", "odd", "dice")


def pictures(folder: Path) -> None:
    halves = np.zeros((4, 4), np.uint8)
    halves[:, 2:] = 255
    Image.fromarray(halves).save(folder / "gray.png")
    rgb = np.random.default_rng(0).integers(0, 255, (2, 4, 4, 3), dtype=np.uint8)
    Image.fromarray(rgb[0]).save(folder / "paint.png")
    Image.fromarray(rgb[1]).save(folder / "packed.png")
    Image.fromarray(np.full((4, 4, 3), (128, 128, 255), np.uint8)).save(folder / "bumps.png")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("roles")
    pictures(folder)
    geoms = "".join(f'<geom type="box" name="{n}" size="1 1 1" material="{n}"/>' for n in NAMES)
    (folder / "m.xml").write_text(
        f"<mujoco><asset>{LAYERS}</asset><worldbody>{geoms}</worldbody></mujoco>"
    )
    return convert_mjcf(folder / "m.xml", folder / "out")


def surface(scene: Scene, part: str) -> UsdShade.Shader:
    path = next(p.path for p in scene.info.parts if p.name == part)
    binding = UsdShade.MaterialBindingAPI(scene.stage.GetPrimAtPath(path))
    return binding.ComputeBoundMaterial()[0].ComputeSurfaceSource()[0]


def source(scene: Scene, part: str, name: str) -> tuple[UsdShade.Shader, str]:
    found = surface(scene, part).GetInput(name)
    assert found.HasConnectedSource(), name
    prim, output, _ = found.GetConnectedSource()
    return UsdShade.Shader(prim.GetPrim()), str(output)


def values(shader: UsdShade.Shader) -> dict:
    return {entry.GetBaseName(): entry.Get() for entry in shader.GetInputs()}


@pytest.mark.parametrize(
    ("name", "role", "output", "space", "scale"),
    [
        ("occlusion", "occlusion", "r", "raw", 1.0),
        ("roughness", "roughness", "r", "raw", 1.0),
        ("metallic", "metallic", "r", "raw", 0.5),
        ("opacity", "opacity", "r", "raw", 0.8),
        ("normal", "normal", "rgb", "raw", 2.0),
        ("emissiveColor", "emissive", "rgb", "sRGB", 1.0),
        ("diffuseColor", "texture", "rgb", "sRGB", None),
    ],
)
def test_each_role_feeds_its_input_times_the_number_that_mujoco_states(
    scene: Scene, name: str, role: str, output: str, space: str, scale: float | None
) -> None:
    shader, taken = source(scene, "full", name)
    found = values(shader)
    assert (shader.GetPrim().GetName(), taken) == (role, output)
    assert shader.GetOutput(output) and found["sourceColorSpace"] == space
    reader = shader.GetInput("st").GetConnectedSource()[0].GetPrim()
    assert reader.GetPath() == shader.GetPrim().GetParent().GetPath().AppendChild("st")
    if scale is not None:
        assert np.allclose(found["scale"], [scale] * 3 + [1.0])


def test_normals_are_brought_from_bytes_to_a_ball(scene: Scene) -> None:
    assert tuple(values(source(scene, "full", "normal")[0])["bias"]) == (-1, -1, -1, 0)


def test_files_hold_mujocos_pixels_once_for_all_roles(scene: Scene) -> None:
    files = {
        name: values(source(scene, "full", name)[0])["file"]
        for name in ("occlusion", "roughness", "emissiveColor")
    }
    assert files["occlusion"].path == files["roughness"].path
    model = scene.load_model()
    first = int(model.tex_adr[model.texture("packed").id])
    shown = np.array(Image.open(files["emissiveColor"].resolvedPath))
    assert np.array_equal(shown.ravel(), model.tex_data[first : first + 48])


def test_one_texture_packs_occlusion_roughness_and_metallic(scene: Scene) -> None:
    taken = {n: source(scene, "packed", n) for n in ("occlusion", "roughness", "metallic")}
    assert [output for _, output in taken.values()] == ["r", "g", "b"]
    assert len({str(shader.GetPath()) for shader, _ in taken.values()}) == 1
    assert tuple(values(taken["metallic"][0])["scale"]) == (1.0, 0.25, 1.0, 1.0)
    assert values(surface(scene, "packed"))["useSpecularWorkflow"] == 0
    assert values(surface(scene, "odd"))["useSpecularWorkflow"] == 1


def test_a_role_of_its_own_wins_over_the_packed_one(scene: Scene) -> None:
    assert source(scene, "own", "roughness")[0].GetPrim().GetName() == "roughness"
    assert source(scene, "own", "metallic")[0].GetPrim().GetName() == "orm"


def test_geoms_have_coordinates_where_only_another_role_has_a_texture(scene: Scene) -> None:
    paths = {part.name: part.path for part in scene.info.parts}
    assert scene.triangles(paths["packed"]).st is not None
    flat, cube = (scene.triangles(paths[name]).st for name in ("full", "dice"))
    assert flat is not None and cube is not None and len(cube) != len(flat)


def test_every_texture_of_another_role_is_reported_by_name(scene: Scene) -> None:
    report = json.loads((scene.folder / "report.json").read_text(encoding="utf-8"))
    lines = [line for line in report["approximated"] if " of the role " in line]
    tracer = "is shown by the path tracer, not by MuJoCo"
    assert f"material full: texture gray of the role roughness {tracer}" in lines
    assert f"material dice: texture cube of the role metallic {tracer}" in lines
    parts = [
        "full: texture gray of the role occlusion is in the stage only",
        "full: texture packed of the role emissive is in the stage only",
        "own: texture packed of the role orm gives way to the textures of roughness",
        "odd: texture cube of the role roughness is not shown: it is laid out otherwise",
        "odd: texture gray of the role orm is not shown: it has 1 channel, the role needs 3",
    ]
    assert [p for p in parts if not any(line.startswith(f"material {p}") for line in lines)] == []
    assert len(lines) == 6 + 1 + 3 + 2 + 1
    assert not surface(scene, "odd").GetInput("roughness").HasConnectedSource()


def test_stage_passes_usds_own_validators(scene: Scene) -> None:
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    context = UsdValidation.ValidationContext(validators)
    for file in ("scene.usda", "base.usdc"):
        errors = context.Validate(Usd.Stage.Open(str(scene.folder / file)))
        assert [f"{error.GetName()}: {error.GetMessage()}" for error in errors] == []


@pytest.mark.parametrize("role", ["roughness", "emissive"])
def test_samples_cannot_tint_what_holds_no_colour(scene: Scene, role: str) -> None:
    path = surface(scene, "full").GetPrim().GetParent().GetPath().AppendChild(role)
    sample = SampleLayer(scene, "rest")
    sample.set(f"{path}.inputs:scale", (0.5, 0.5, 0.5, 1.0))
    model = scene.load_model()
    with pytest.raises(BackendError, match=f"{role}.inputs:scale"):
        ModelValues(scene, model, mujoco.MjData(model)).apply(sample)
    with pytest.raises(BackendError, match=f"{role}.inputs:scale"):
        NEWTON_HONOURED.require(scene, sample)


AMBIENT = 'ambient="1 1 1" diffuse="0 0 0"'
HEADLIT = 'ambient="0 0 0" diffuse=".8 .8 .8"'
PLANE = """
<mujoco><visual><headlight {head} specular="0 0 0"/></visual><asset>
<texture name="gray" type="2d" file="gray.png" nchannel="1"/>
<texture name="packed" type="2d" file="packed.png"/>
<texture name="bumps" type="2d" file="bumps.png"/>
<material name="m" rgba=".8 .4 .2 1" {values}>{layer}</material></asset><worldbody>
{light}<geom type="plane" size="1 1 .1" material="m"/>{behind}
<camera name="c" pos="{eye}" xyaxes="{axes}" fovy="30"/></worldbody></mujoco>
"""


@pytest.fixture(scope="module")
def backend() -> MitsubaBackend:
    return MitsubaBackend(spp=64, denoise=False)


def shown(
    backend: MitsubaBackend, folder: Path, layer: str, head: str = AMBIENT, **more: str
) -> tuple[np.ndarray, np.ndarray]:
    folder.mkdir()
    pictures(folder)
    packed = np.zeros((4, 4, 3), np.uint8)
    packed[:, 2:] = (9, 51, 255)
    packed[:, :2] = (99, 255, 0)
    Image.fromarray(packed).save(folder / "packed.png")
    # A quarter turn towards x, then towards y, at 45 degrees each.
    slope = 255 * (1 + np.sqrt(0.5)) / 2
    bumps = np.full((4, 4, 3), (slope, 127.5, slope))
    bumps[:, 2:] = (127.5, slope, slope)
    Image.fromarray(bumps.round().astype(np.uint8)).save(folder / "bumps.png")
    keys = {"values": "", "light": "", "behind": "", "eye": "0 0 3", "axes": "1 0 0 0 1 0"}
    (folder / "m.xml").write_text(PLANE.format(layer=layer, head=head, **{**keys, **more}))
    scene = convert_mjcf(folder / "m.xml", folder / "out")
    sample = SampleLayer(scene, "rest")
    if head == HEADLIT:
        sample.set("/World.datagen:fill", 0.0)
    backend.open(scene)
    backend.apply(sample)
    found = backend.render("c", Size(48, 48), {"hdr", "part"})
    backend.close()
    assert found.hdr is not None and found.part is not None
    return found.hdr, found.part


LIGHT = '<light directional="true" dir="{}" ambient="0 0 0" diffuse=".8 .8 .8"/>'
ASLANT = {"eye": "0 -2 1.5", "axes": "1 0 0 0 .6 .8", "light": LIGHT.format("0 .6 -.8")}


def layer(role: str, texture: str) -> str:
    return f'<layer role="{role}" texture="{texture}"/>'


def halves(hdr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean colours of the left and right half, away from where the texture goes over."""
    return hdr[20:30, 5:14].mean(axis=(0, 1)), hdr[20:30, 34:43].mean(axis=(0, 1))


@pytest.mark.parametrize(
    ("role", "texture", "stated", "left", "right"),
    [
        ("metallic", "gray", 'roughness=".3"', 'metallic="0"', 'metallic="1"'),
        ("roughness", "gray", 'metallic="1"', 'roughness="0"', 'roughness="1"'),
        (
            "orm",
            "packed",
            'roughness=".5"',
            'metallic="0" roughness=".5"',
            'metallic="1" roughness=".1"',
        ),
    ],
)
def test_each_half_of_a_texture_looks_as_the_number_it_holds(
    backend: MitsubaBackend,
    tmp_path: Path,
    role: str,
    texture: str,
    stated: str,
    left: str,
    right: str,
) -> None:
    hdr, _ = shown(backend, tmp_path / "t", layer(role, texture), values=stated, **ASLANT)
    found = halves(hdr)
    for side, (name, values) in enumerate((("left", left), ("right", right))):
        told = values if role == "orm" else f"{values} {stated}"
        plain, _ = shown(backend, tmp_path / name, "", values=told, **ASLANT)
        np.testing.assert_allclose(found[side], halves(plain)[side], rtol=0.015, atol=1e-3)
    assert np.abs(found[0] - found[1]).max() > 0.2


def test_an_opacity_texture_hides_its_dark_half_from_the_eye_but_not_from_the_labels(
    backend: MitsubaBackend, tmp_path: Path
) -> None:
    behind = '<geom type="plane" pos="0 0 -9" size="9 9 .1" rgba=".1 .9 .3 1"/>'
    hdr, part = shown(backend, tmp_path / "t", layer("opacity", "gray"), behind=behind)
    plain, _ = shown(backend, tmp_path / "plain", "", behind=behind)
    far, _ = shown(backend, tmp_path / "far", "", behind=behind, eye="9 0 0")
    left, right = halves(hdr)
    np.testing.assert_allclose(left, halves(far)[0], rtol=0.03, atol=2e-3)
    np.testing.assert_allclose(right, halves(plain)[1], rtol=0.01)
    assert np.all(part == 1)


def test_normals_lean_along_s_and_up_along_t(backend: MitsubaBackend, tmp_path: Path) -> None:
    bumps = layer("normal", "bumps")
    lit = {
        axis: halves(
            shown(
                backend,
                tmp_path / axis,
                bumps,
                values='specular="0"',
                light=LIGHT.format(direction),
            )[0]
        )
        for axis, direction in (("s", "-1 0 -1"), ("t", "0 -1 -1"))
    }
    # The left half leans to where s grows, the right half to where t grows.
    assert np.all(lit["s"][0] > 1.15 * lit["s"][1]) and np.all(lit["t"][1] > 1.15 * lit["t"][0])
    np.testing.assert_allclose(lit["s"][0], lit["t"][1], rtol=0.02)


def test_the_headlight_shines_through_what_an_opacity_texture_hides(
    backend: MitsubaBackend, tmp_path: Path
) -> None:
    behind = '<geom type="plane" pos="0 0 -9" size="9 9 .1" rgba=".1 .9 .3 1"/>'
    hdr, _ = shown(backend, tmp_path / "t", layer("opacity", "gray"), HEADLIT, behind=behind)
    left, right = halves(hdr)
    # Nothing but the headlight: its colour times that of what is seen.
    head = srgb_decode(np.array([0.8, 0.8, 0.8]))
    np.testing.assert_allclose(left, head * srgb_decode(np.array([0.1, 0.9, 0.3])), rtol=2e-2)
    np.testing.assert_allclose(right, head * srgb_decode(np.array([0.8, 0.4, 0.2])), rtol=2e-2)
