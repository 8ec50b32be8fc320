"""Every renderer's picture and labels through the lens that K states."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import binary_dilation, binary_erosion

import scenes
from datagen.backends import Backend, Size
from datagen.backends.registry import open_backend
from scenes import SampleLayer, Scene, pinhole

CASE = Path(__file__).parent / "cases" / "x06-lens-of-two-focal-lengths"
CAMERAS = ("square", "wide", "shifted")
SIZES = (Size(64, 64), Size(96, 64))
BACKENDS = {
    "mitsuba": {"variant": "llvm"},
    "mitsuba culled": {"variant": "llvm", "cull_back_faces": True},
    "mujoco": {},
    "newton": {},
}
MARKS = {"mujoco": pytest.mark.gl, "newton": pytest.mark.newton}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("lens")
    shutil.copy(CASE / "scene.xml", folder)
    return scenes.convert_mjcf(folder / "scene.xml", folder / "scene")


@pytest.fixture(scope="module", params=[pytest.param(n, marks=MARKS.get(n, ())) for n in BACKENDS])
def backend(request: pytest.FixtureRequest, scene: Scene) -> Backend:
    options = BACKENDS[request.param]
    found = open_backend(request.param.partition(" ")[0], options)
    found.open(scene)
    sample = SampleLayer(scene, "rest")
    found.apply(sample)
    request.addfinalizer(found.close)
    return found


@pytest.mark.parametrize("camera", CAMERAS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_hit_points_project_onto_their_own_pixels(
    scene: Scene, backend: Backend, camera: str, size: Size
) -> None:
    view = pinhole(scene, camera, *size)
    buffers = backend.render(camera, size, {"part", "position"})
    seen = buffers.part > 0
    local = (buffers.position[seen] - view.T_world_camera[:3, 3]) @ view.T_world_camera[:3, :3]
    u = view.K[0, 0] * local[:, 0] / local[:, 2] + view.K[0, 2]
    v = view.K[1, 1] * local[:, 1] / local[:, 2] + view.K[1, 2]
    rows, columns = np.nonzero(seen)
    assert seen.all()
    np.testing.assert_allclose(u, columns + 0.5, atol=0.01)
    np.testing.assert_allclose(v, rows + 0.5, atol=0.01)


@pytest.mark.parametrize("camera", CAMERAS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_red_box_of_the_picture_covers_the_box_of_the_part_map(
    scene: Scene, backend: Backend, camera: str, size: Size
) -> None:
    buffers = backend.render(camera, size, {"rgb", "part"})
    number = next(part.part for part in scene.info.parts if "box" in part.path)
    red = buffers.rgb[..., 0].astype(int) - buffers.rgb[..., 1] > 20
    box = buffers.part == number
    # A pixel on the outline is of both colours; which one prevails is up to the renderer.
    outline = binary_dilation(box) & ~binary_erosion(box)
    assert (box & ~outline).sum() > 50
    assert (red & box & ~outline).sum() / ((red | box) & ~outline).sum() >= 0.95


@pytest.mark.parametrize("camera", ["square", "wide", "shifted"])
def test_the_principal_point_and_both_focal_lengths_are_the_models_own(
    scene: Scene, camera: str
) -> None:
    # f [m] over a pixel's size [m], and MuJoCo's principal point from the picture's middle.
    sensor = {"square": (0.02, 0.02), "wide": (0.02, 0.01), "shifted": (0.02, 0.02)}[camera]
    shift = (0.002, 0.003) if camera == "shifted" else (0.0, 0.0)
    K = pinhole(scene, camera, 96, 64).K
    assert K[0, 0] == pytest.approx(0.03 / sensor[0] * 96)
    assert K[1, 1] == pytest.approx(0.03 / sensor[1] * 64)
    assert abs(K[0, 2] - 48) == pytest.approx(shift[0] / sensor[0] * 96, abs=1e-4)
    assert abs(K[1, 2] - 32) == pytest.approx(shift[1] / sensor[1] * 64, abs=1e-4)


@pytest.mark.parametrize("size", [Size(48, 32), Size(48, 48)], ids=str)
def test_the_scalar_variant_has_the_same_lens(scene: Scene, tmp_path: Path, size: Size) -> None:
    import subprocess
    import sys

    script = f"""
import numpy as np
from pathlib import Path
from datagen.backends import Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from scenes import SampleLayer, Scene
scene = Scene.open(Path({str(scene.folder)!r}))
backend = MitsubaBackend(spp=1, denoise=False, variant="scalar")
backend.open(scene)
backend.apply(SampleLayer(scene, "rest"))
found = [backend.render(name, Size{tuple(size)}, {{"position"}}).position for name in {CAMERAS!r}]
np.save(Path({str(tmp_path / "found.npy")!r}), found)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    llvm = open_backend("mitsuba", {"variant": "llvm"})
    llvm.open(scene)
    llvm.apply(SampleLayer(scene, "rest"))
    for camera, found in zip(CAMERAS, np.load(tmp_path / "found.npy"), strict=True):
        wanted = llvm.render(camera, size, {"position"}).position
        np.testing.assert_allclose(found, wanted, atol=2e-5)


@pytest.mark.parametrize("cull", [False, True])
def test_square_pixels_keep_both_coordinates_of_the_principal_point(
    tmp_path: Path, cull: bool
) -> None:
    (tmp_path / "m.xml").write_text(
        '<mujoco><worldbody><camera name="cam" pos="0 0 1" sensorsize=".02 .02" focal=".03 .03" '
        'principal=".001 .003" resolution="64 64"/><geom type="plane" size="3 3 1"/>'
        "</worldbody></mujoco>"
    )
    scene = scenes.convert_mjcf(tmp_path / "m.xml", tmp_path / "scene")
    backend = open_backend("mitsuba", {"variant": "llvm", "cull_back_faces": cull})
    backend.open(scene)
    backend.apply(SampleLayer(scene, "rest"))
    position = backend.render("cam", Size(64, 64), {"position"}).position
    K = pinhole(scene, "cam", 64, 64).K
    assert K[0, 0] == pytest.approx(K[1, 1]) and abs(K[1, 2] - 32) > 5
    # The camera looks down from 1 m: x is right and y up.
    rows, columns = np.mgrid[0:64, 0:64] + 0.5
    np.testing.assert_allclose(K[0, 0] * position[..., 0] + K[0, 2], columns, atol=0.01)
    np.testing.assert_allclose(K[1, 1] * -position[..., 1] + K[1, 2], rows, atol=0.01)
