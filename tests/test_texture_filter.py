"""MuJoCo's texture filter done to a stage's own textures."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from datagen.audit.measure.similarity import interior, psnr
from datagen.audit.measure.texture_filter import filtered_albedo
from datagen.backends import Buffers, Pass, Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mujoco.backend import MujocoBackend
from scenes import SampleLayer, Scene, convert_mjcf, pinhole, srgb_encode

SIZE = Size(96, 64)
PASSES: frozenset[Pass] = frozenset({"part", "albedo", "st", "position"})
FLOOR = """
<mujoco>
  <asset>
    <texture name="speckles" type="2d" file="speckles.png"/>
    <material name="floor" texture="speckles" texrepeat="2 2"/>
  </asset>
  <worldbody>
    <camera name="low" pos="0 -2 .7" xyaxes="1 0 0 0 .4 1" fovy="45"/>
    <geom name="floor" type="plane" size="3 3 .1" material="floor"/>
    <geom name="post" type="box" size=".1 .1 .3" pos=".3 .2 .3" rgba=".2 .4 .6 1"/>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("filter")
    speckles = np.random.default_rng(3).integers(0, 256, (150, 98, 3), dtype=np.uint8)
    Image.fromarray(speckles).save(folder / "speckles.png")
    (folder / "floor.xml").write_text(FLOOR)
    return convert_mjcf(folder / "floor.xml", folder / "scene")


@pytest.fixture(scope="module")
def traced(scene: Scene) -> Buffers:
    backend = MitsubaBackend(spp=1, denoise=False, cull_back_faces=True)
    return shown(backend, scene, PASSES)


def shown(
    backend: MitsubaBackend | MujocoBackend, scene: Scene, passes: frozenset[Pass]
) -> Buffers:
    sample = SampleLayer(scene, "rest")
    backend.open(scene)
    backend.apply(sample)
    buffers = backend.render("low", SIZE, passes)
    backend.close()
    return buffers


def part(scene: Scene, name: str) -> int:
    return next(each.part for each in scene.info.parts if each.path.endswith(name))


def test_st_is_where_the_ray_meets_the_plane(scene: Scene, traced: Buffers) -> None:
    assert traced.st is not None and traced.part is not None
    view = pinhole(scene, "low", *SIZE)
    floor = np.argwhere(traced.part == part(scene, "floor"))
    y, x = floor[len(floor) // 2]
    expected = []
    for column, row in ((x, y), (x + 1, y), (x, y + 1)):
        ray = view.T_world_camera[:3, :3] @ np.linalg.inv(view.K) @ (column + 0.5, row + 0.5, 1.0)
        eye = view.T_world_camera[:3, 3]
        place = eye - ray * eye[2] / ray[2]
        # A finite plane of half width 3 shows the texture twice, corner to corner.
        expected.append((place[:2] + 3.0) / 6.0 * 2.0)
    first = traced.st[y, x]
    steps = np.array([expected[1] - expected[0], expected[2] - expected[0]])
    assert np.allclose((first[0] - expected[0] + 0.5) % 1.0, 0.5, atol=1e-4)
    assert np.allclose(first[1:], steps, rtol=1e-3, atol=1e-6)


def test_st_is_the_same_whether_back_faces_are_culled_or_not(scene: Scene, traced: Buffers) -> None:
    backend = MitsubaBackend(spp=1, denoise=False)
    plain = shown(backend, scene, PASSES)
    assert plain.st is not None and traced.st is not None and plain.part is not None
    floor = plain.part == part(scene, "floor")
    assert np.allclose(plain.st[floor], traced.st[floor], rtol=0.02, atol=2e-3)
    assert (plain.part == 0).any() and not plain.st[plain.part == 0].any()
    assert not traced.st[traced.part == 0].any()


@pytest.mark.gl
def test_filtered_colours_are_mujocos(scene: Scene, traced: Buffers) -> None:
    reference = shown(MujocoBackend(colorspace="display"), scene, frozenset({"part", "albedo"}))
    filtered = filtered_albedo(scene, traced)
    assert filtered is not None and reference.albedo is not None
    assert traced.part is not None and traced.albedo is not None and reference.part is not None
    inside = interior(traced.part) & interior(reference.part) & filtered.smooth
    assert inside.mean() > 0.5
    expected = srgb_encode(reference.albedo.astype(np.float64))
    sharp = srgb_encode(traced.albedo.astype(np.float64))
    assert psnr(expected, filtered.colors, inside) > 40.0
    assert psnr(expected, sharp, inside) < 25.0


@pytest.mark.gl
def test_a_flipped_texture_is_not_filtered_away(scene: Scene, traced: Buffers) -> None:
    reference = shown(MujocoBackend(colorspace="display"), scene, frozenset({"part", "albedo"}))
    assert traced.st is not None and reference.albedo is not None and traced.part is not None
    flipped = replace(traced, st=traced.st * np.array([1.0, -1.0], np.float32))
    filtered = filtered_albedo(scene, flipped)
    assert filtered is not None
    inside = interior(traced.part) & filtered.smooth
    expected = srgb_encode(reference.albedo.astype(np.float64))
    assert psnr(expected, filtered.colors, inside) < 30.0


def view_of(scene: Scene, st: np.ndarray) -> Buffers:
    number = part(scene, "floor")
    shape = st.shape[:2]
    return Buffers(
        part=np.full(shape, number, np.int32),
        albedo=np.zeros((*shape, 3), np.float32),
        st=st.astype(np.float32),
    )


def test_a_step_of_two_texels_shows_the_mean_of_four(scene: Scene) -> None:
    texels = speckles_of(scene)
    height, width = texels.shape[:2]
    st = np.zeros((1, 1, 3, 2))
    st[0, 0, 0] = (12 / width, 1.0 - 22 / height)
    st[0, 0, 1] = (2 / width, 0.0)
    st[0, 0, 2] = (0.0, 1.5 / height)
    found = filtered_albedo(scene, view_of(scene, st))
    assert found is not None
    # The point is the corner of four texels of the halved picture, so each counts a quarter.
    mean = texels[20:24, 10:14].mean(axis=(0, 1)) / 255.0
    assert np.allclose(found.colors[0, 0], mean, atol=0.012)


def test_a_step_below_a_texel_shows_the_texture_as_it_is(scene: Scene) -> None:
    texels = speckles_of(scene)
    height, width = texels.shape[:2]
    st = np.zeros((1, 1, 3, 2))
    st[0, 0, 0] = (10.5 / width, 1.0 - 20.5 / height)
    st[0, 0, 1:] = 0.3 / height
    found = filtered_albedo(scene, view_of(scene, st))
    assert found is not None
    assert np.allclose(found.colors[0, 0], texels[20, 10] / 255.0, atol=0.01)


def test_a_seam_in_the_texture_coordinates_is_not_smooth(scene: Scene) -> None:
    rows, columns = np.mgrid[0:5, 0:8] / 100.0
    st = np.zeros((5, 8, 3, 2))
    st[:, :, 0] = np.stack([columns, rows], axis=2)
    st[:, :, 1], st[:, :, 2] = (0.01, 0.0), (0.0, 0.01)
    st[:, 4:, 0] += 0.3
    found = filtered_albedo(scene, view_of(scene, st))
    assert found is not None
    assert np.array_equal(found.smooth[2], [False, True, True, False, False, True, True, False])


def speckles_of(scene: Scene) -> np.ndarray:
    (file,) = Path(scene.folder / "textures").glob("*.png")
    return np.asarray(Image.open(file).convert("RGB")).astype(np.float64)
