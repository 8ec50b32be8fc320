"""Faults that a converter can make with colours and lights, each of which an audit must fail."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pxr import Sdf, Usd, UsdGeom, UsdShade

from datagen.audit.config import LOOKS_LIMITS
from datagen.audit.measure.looks import compare_looks
from datagen.audit.view import AUDIT_PASSES, Side, ViewPair
from datagen.backends import Pass, Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mujoco.backend import MUJOCO_PASSES, MujocoBackend
from datagen.labels import Labeler
from scenes import SampleLayer, Scene, convert_mjcf, srgb_decode, srgb_encode
from scenes.storage.digests import write_digests

pytestmark = pytest.mark.gl
SIZE = Size(128, 96)
FINE: frozenset[Pass] = frozenset({"part", "position", "normal", "albedo"})
ROOM = """
<mujoco>
  <visual><headlight ambient=".15 .15 .15" diffuse=".2 .2 .2" specular="0 0 0"/></visual>
  <asset>
    <texture name="squares" type="2d" file="squares.png"/>
    <texture name="tiles" type="2d" file="tiles.png"/>
    <material name="squares" texture="squares" rgba=".6 .9 .7 1" specular="0"/>
    <material name="tiles" texture="tiles" specular="0"/>
    <mesh name="ramp" file="ramp.obj"/>
  </asset>
  <worldbody>
    <light name="lamp" pos=".3 -.6 1.6" dir="-.1 .3 -1" diffuse=".6 .6 .6" specular="0 0 0"
      exponent="12" cutoff="50" castshadow="false"/>
    <camera name="front" pos="0 -2 1.1" xyaxes="1 0 0 0 .45 1" fovy="45"/>
    <geom name="floor" type="plane" size="1.2 1.2 .1" material="tiles"/>
    <geom name="ramp" type="mesh" mesh="ramp" material="squares" pos="-.4 0 .05"/>
    <geom name="crate" type="box" size=".25 .2 .2" pos=".45 .1 .2" material="squares"/>
  </worldbody>
</mujoco>
"""
RAMP = """v -.3 -.3 0\nv .3 -.3 0\nv .3 .3 .3\nv -.3 .3 .3\nv .3 .3 0\nv -.3 .3 0
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1
f 1/1 2/2 3/3\nf 1/1 3/3 4/4\nf 5/1 6/2 4/3\nf 5/1 4/3 3/4
f 2/1 5/2 3/3\nf 6/1 1/2 4/3\nf 1/1 6/2 5/3\nf 1/1 5/3 2/4
"""
Fault = Callable[[Usd.Stage, Path], None]


def squares(path: Path, seed: int) -> None:
    colors = np.random.default_rng(seed).uniform(0.15, 1.0, (5, 5, 3)) * 255
    picture = Image.fromarray(colors.astype(np.uint8))
    picture.resize((80, 80), Image.Resampling.NEAREST).save(path)


def flipped(*names: str) -> Fault:
    def plant(stage: Usd.Stage, folder: Path) -> None:
        for mesh in meshes(stage, names):
            st = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st")
            st.Set([(u, 1.0 - v) for u, v in st.Get()])

    return plant


def colour_ignored(stage: Usd.Stage, folder: Path) -> None:
    for texture in shaders(stage, "UsdUVTexture"):
        texture.GetInput("scale").Set((1.0, 1.0, 1.0, 1.0))


def untextured(stage: Usd.Stage, folder: Path) -> None:
    for mesh in meshes(stage, ("floor", "crate")):
        material, _ = UsdShade.MaterialBindingAPI(mesh.GetPrim()).ComputeBoundMaterial()
        diffuse = material.ComputeSurfaceSource()[0].GetInput("diffuseColor")
        diffuse.DisconnectSource()
        diffuse.Set((0.5, 0.5, 0.5))


def encoded_twice(stage: Usd.Stage, folder: Path) -> None:
    for file in folder.glob("textures/*.png"):
        texels = np.asarray(Image.open(file).convert("RGB")) / 255.0
        file.unlink()
        Image.fromarray((srgb_encode(texels) * 255).astype(np.uint8)).save(file)


def decoded_twice(stage: Usd.Stage, folder: Path) -> None:
    for file in folder.glob("textures/*.png"):
        texels = np.asarray(Image.open(file).convert("RGB")) / 255.0
        file.unlink()
        Image.fromarray((srgb_decode(texels) * 255).astype(np.uint8)).save(file)


def light_off(stage: Usd.Stage, folder: Path) -> None:
    lamp(stage).GetAttribute("visibility").Set("invisible")


def light_doubled(stage: Usd.Stage, folder: Path) -> None:
    intensity = lamp(stage).GetAttribute("inputs:intensity")
    intensity.Set(intensity.Get() * srgb_decode(2 * 0.6) / srgb_decode(0.6))


def no_exponent(stage: Usd.Stage, folder: Path) -> None:
    lamp(stage).GetAttribute("datagen:exponent").Set(0.0)


def nothing(stage: Usd.Stage, folder: Path) -> None:
    pass


def lamp(stage: Usd.Stage) -> Usd.Prim:
    return stage.GetPrimAtPath("/World/lights/lamp")


def meshes(stage: Usd.Stage, names: tuple[str, ...]) -> list[UsdGeom.Mesh]:
    found = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.GetName() in names]
    return [mesh for mesh in found if mesh]


def shaders(stage: Usd.Stage, kind: str) -> list[UsdShade.Shader]:
    found = [UsdShade.Shader(prim) for prim in stage.Traverse() if prim.IsA(UsdShade.Shader)]
    return [shader for shader in found if shader.GetIdAttr().Get() == kind]


def failed_metrics(folder: Path, plant: Fault) -> set[str]:
    """Plant a fault into the stage that Mitsuba shows, and give what is beyond its limit."""
    squares(folder / "squares.png", 1)
    squares(folder / "tiles.png", 2)
    (folder / "ramp.obj").write_text(RAMP)
    (folder / "room.xml").write_text(ROOM)
    out = folder / "scene"
    convert_mjcf(folder / "room.xml", out)
    layer = Sdf.Layer.FindOrOpen(str(out / "base.usdc"))
    stage = Usd.Stage.Open(layer)
    plant(stage, out)
    layer.Save()
    write_digests(out)
    scene = Scene.open(out)
    sample = SampleLayer(scene, "rest")
    labeler = Labeler(scene, {each.label: n for n, each in enumerate(scene.info.objects, 1)})
    reference = MujocoBackend(colorspace="display", samples=4)
    candidate = MitsubaBackend(spp=1, denoise=False, cull_back_faces=True)
    sides, fine = [], None
    unlit = set(AUDIT_PASSES) - {"rgb", "hdr"}
    for backend, passes in (
        (reference, MUJOCO_PASSES),
        (candidate, unlit),
    ):
        backend.open(scene)
        backend.apply(sample)
        buffers = backend.render("front", SIZE, set(AUDIT_PASSES) & passes)
        if backend is candidate:
            fine = backend.render("front", Size(SIZE.width * 2, SIZE.height * 2), FINE)
        backend.close()
        labels = labeler.labels(sample, "front", SIZE, buffers)
        sides.append(Side(backend.name, buffers, labels))
    found = compare_looks(ViewPair(scene, "room", 0, 0, "front", SIZE, *sides), fine).metrics
    judged = {
        name: limit
        for name, limit in LOOKS_LIMITS.items()
        if not name.startswith(("rgb", "objects"))
    }
    assert judged.keys() <= found.keys()
    return {name for name, limit in judged.items() if not limit.allow(found[name])}


def test_a_right_scene_is_within_every_limit(tmp_path: Path) -> None:
    assert failed_metrics(tmp_path, nothing) == set()


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(flipped("ramp"), id="mesh v flip"),
        pytest.param(flipped("crate", "floor"), id="primitive v flip"),
        pytest.param(colour_ignored, id="rgba ignored"),
        pytest.param(untextured, id="untextured primitives"),
        pytest.param(encoded_twice, id="encoded twice"),
        pytest.param(decoded_twice, id="decoded twice"),
    ],
)
def test_wrong_colours_fail_the_albedo(tmp_path: Path, plant: Fault) -> None:
    assert "albedo.psnr" in failed_metrics(tmp_path, plant)


@pytest.mark.parametrize("plant", [light_off, light_doubled, no_exponent])
def test_wrong_lights_fail_the_import_of_lights(tmp_path: Path, plant: Fault) -> None:
    failed = failed_metrics(tmp_path, plant)
    assert {"light.luminance_ratio", "light.psnr"} & failed
    assert not any(name.startswith("albedo") for name in failed)
