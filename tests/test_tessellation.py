"""Round shapes are cut as finely as MuJoCo draws them, or finer on request in both pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from datagen.backends import Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mujoco.backend import MujocoBackend
from datagen.cli import app
from scenes import SampleLayer, SceneError, convert_mjcf
from scenes.convert.shapes.meshes import geom_triangles
from scenes.convert.shapes.primitives import ellipsoid
from scenes.convert.shapes.tessellation import MUJOCO, Tessellation, model_tessellation, refine
from scenes.sources.mjcf.config import MjcfConfig
from scenes.sources.mjcf.source import mjcf_scene
from scenes.sources.urdf.config import UrdfConfig
from scenes.sources.urdf.source import compile_urdf

ROUND = """<mujoco><visual><quality {quality}/></visual><worldbody>
<geom name="ball" size=".4" pos="-.5 .5 0" euler="20 30 0"/>
<geom name="egg" type="ellipsoid" size=".2 .3 .4" pos=".5 .5 0" euler="40 0 0"/>
<geom name="can" type="cylinder" size=".3 .2" pos="-.5 -.5 0" euler="50 0 0"/>
<geom name="pill" type="capsule" size=".25 .2" pos=".5 -.5 0" euler="60 0 20"/>
<camera name="above" pos="0 0 4" fovy="30"/></worldbody></mujoco>"""
URDF = """<robot name="r"><link name="base"><visual><geometry><sphere radius=".1"/></geometry>
</visual></link></robot>"""


def written(folder: Path, quality: str = "", **settings: Any) -> MjcfConfig:
    (folder / "m.xml").write_text(ROUND.format(quality=quality))
    return MjcfConfig(path=folder / "m.xml", **settings)


def model_of(quality: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(ROUND.format(quality=quality))


def test_the_default_is_that_of_mujoco() -> None:
    assert model_tessellation(model_of("")) == MUJOCO == Tessellation(28, 16)


@pytest.mark.parametrize("times", [1, 2, 4, 16])
def test_a_sphere_lies_as_deep_as_the_middle_of_its_largest_quads(times: int) -> None:
    sphere = ellipsoid(np.ones(3), Tessellation(28 * times, 16 * times))
    a, b, c = np.moveaxis(sphere.points[sphere.faces], 1, 0)
    normal = np.cross(b - a, c - a)
    distance = np.einsum("ij,ij->i", a, normal) / np.linalg.norm(normal, axis=1)
    # The quad from the equator to elevation e, of half angle s around the axis.
    s, e = np.pi / (28 * times), np.pi / (16 * times)
    edge = np.hypot(np.cos(s) * (1 - np.cos(e)), np.sin(e))
    assert distance.min() == pytest.approx(np.cos(s) * np.sin(e) / edge, abs=1e-12)


def test_finer_models_have_so_many_times_as_many_slices_and_stacks() -> None:
    model = model_of("numslices='10' numstacks='7'")
    assert len(geom_triangles(model, 0, -1).points) == 11 * 7
    refine(model, "mujoco", Path("m.xml"))
    assert model_tessellation(model) == Tessellation(10, 7)
    refine(model, 3, Path("m.xml"))
    assert len(geom_triangles(model, 0, -1).points) == 31 * 21


@pytest.mark.parametrize("quality", ["numslices='2'", "numstacks='1'", "numslices='1025'"])
def test_numbers_that_make_no_solid_are_refused(quality: str) -> None:
    name = quality.partition("=")[0]
    with pytest.raises(SceneError, match=f"visual/quality: {name} is"):
        geom_triangles(model_of(quality), 0, -1)


def test_too_fine_a_model_is_refused(tmp_path: Path) -> None:
    source = written(tmp_path, "numslices='100'", tessellation=16)
    with pytest.raises(SceneError, match=r"m\.xml: tessellation 16: .* 100 slices"):
        convert_mjcf(source.path, tmp_path / "out", source=source)


@pytest.mark.parametrize("value", [1, 17, "fine", 2.0])
def test_other_settings_are_refused(value: object) -> None:
    for kind in (MjcfConfig, UrdfConfig):
        with pytest.raises(ValidationError, match="tessellation"):
            kind.model_validate({"path": Path("m.xml"), "tessellation": value})


def test_the_cache_keeps_a_finer_scene_beside_the_other(tmp_path: Path) -> None:
    plain = mjcf_scene(written(tmp_path), tmp_path / "cache")
    finer = mjcf_scene(written(tmp_path, tessellation=2), tmp_path / "cache")
    assert plain.folder != finer.folder
    assert plain.load_model().vis.quality.numslices == 28
    assert finer.load_model().vis.quality.numslices == 56
    ball = finer.info.parts[0].path
    assert len(plain.triangles(ball).points) == 28 * 17
    assert len(finer.triangles(ball).points) == 56 * 33


def test_urdf_shapes_are_finer_on_request(tmp_path: Path) -> None:
    (tmp_path / "r.urdf").write_text(URDF)
    compiled, _ = compile_urdf(UrdfConfig(path=tmp_path / "r.urdf", tessellation=4))
    assert model_tessellation(compiled.model) == Tessellation(112, 64)


def test_the_command_converts_finer(tmp_path: Path) -> None:
    model, out = written(tmp_path).path, tmp_path / "out"
    done = CliRunner().invoke(app, ["convert", str(model), str(out), "--tessellation", "2"])
    assert done.exit_code == 0, done.output
    finer = mujoco.MjModel.from_binary_path(str(out / "model.mjb"))
    assert model_tessellation(finer) == Tessellation(56, 32)


@pytest.mark.gl
@pytest.mark.parametrize(
    ("quality", "tessellation"),
    [
        ("numslices='64' numstacks='32'", "mujoco"),
        ("numslices='7' numstacks='5'", "mujoco"),
        ("", 4),
    ],
)
def test_silhouettes_and_depth_are_those_of_mujoco(
    quality: str, tessellation: str | int, tmp_path: Path
) -> None:
    source = written(tmp_path, quality, tessellation=tessellation)
    scene = convert_mjcf(source.path, tmp_path / "out", source=source)
    ours = MitsubaBackend(spp=1, denoise=False, variant="llvm")
    theirs = MujocoBackend(samples=0)
    seen = []
    for backend in (ours, theirs):
        backend.open(scene)
        backend.apply(SampleLayer(scene, "rest"))
        seen.append(backend.render("above", Size(160, 160), {"part", "depth"}))
        backend.close()
    a, b = seen
    assert set(np.unique(b.part)) == {0, 1, 2, 3, 4}
    assert (a.part == b.part).mean() >= 0.999
    same = (a.part == b.part) & (a.part > 0)
    assert np.quantile(np.abs(a.depth[same] - b.depth[same]), 0.99) < 1e-5
