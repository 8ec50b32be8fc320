from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pxr import UsdLux

from datagen.backends.base import Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mujoco.backend import MujocoBackend
from scenes import SampleLayer, Scene, convert_mjcf
from scenes.stage.skybox import SKYBOX, Skybox

SIDES = {
    "right": (230, 20, 20), "left": (20, 230, 20), "up": (20, 20, 230),
    "down": (230, 230, 20), "front": (230, 20, 230), "back": (20, 230, 230),
}  # fmt: skip
CAMERAS = {
    "up_x": "0 -1 0 0 0 1", "down_x": "0 1 0 0 0 1",
    "up_y": "1 0 0 0 0 1", "down_y": "-1 0 0 0 0 1",
    "up_z": "1 0 0 0 -1 0", "down_z": "1 0 0 0 1 0",
    "slant": "1 -2 0 1 .6 2", "rolled": "1 1 1 -1 0 1",
}  # fmt: skip
SKIES = {
    "six": " ".join(f'file{side}="{side}.png"' for side in SIDES),
    "one": 'file="right.png"',
    "gradient": 'builtin="gradient" rgb1=".2 .5 .9" rgb2=".9 .3 .1" width="32" height="192"',
}
SIZE = Size(64, 48)


def converted(folder: Path, sky: str, geoms: str = '<geom size=".01" pos="90 0 -90"/>') -> Scene:
    rng = np.random.default_rng(5)
    for side, color in SIDES.items():
        # Coarse blocks: bilinear filters of two renderers agree but at their edges.
        shade = np.kron(rng.uniform(0.4, 1.0, (2, 2)), np.ones((8, 8)))
        Image.fromarray((np.array(color) * shade[..., None]).astype(np.uint8)).save(
            folder / f"{side}.png"
        )
    texture = f'<asset><texture name="sky" type="skybox" {sky}/></asset>' if sky else ""
    cameras = "".join(
        f'<camera name="{name}" pos="3 -4 5" xyaxes="{axes}" fovy="70"/>'
        for name, axes in CAMERAS.items()
    )
    (folder / "m.xml").write_text(
        "<mujoco><visual><quality offsamples='0'/></visual>"
        f"{texture}<worldbody>{geoms}{cameras}</worldbody></mujoco>"
    )
    return convert_mjcf(folder / "m.xml", folder / "out")


@pytest.fixture(scope="module")
def mitsuba() -> MitsubaBackend:
    return MitsubaBackend(spp=16, denoise=False)


@pytest.mark.gl
@pytest.mark.parametrize("sky", [*SKIES, ""])
def test_both_renderers_show_the_same_sky(
    tmp_path: Path, mitsuba: MitsubaBackend, sky: str
) -> None:
    scene = converted(tmp_path, SKIES.get(sky, ""))
    sample = SampleLayer(scene, "rest")
    sample.set("/World.datagen:exposure", 3.0)
    reference = MujocoBackend()
    pictures = []
    for backend in (mitsuba, reference):
        backend.open(scene)
        backend.apply(sample)
        pictures.append([backend.render(name, SIZE, {"rgb"}).rgb for name in CAMERAS])
        backend.close()
    difference = np.abs(np.array(pictures[0], dtype=int) - np.array(pictures[1], dtype=int))
    # The cube's corners, where three sides meet, are blended differently.
    assert np.quantile(difference, 0.99) == 0 and difference.max() <= 16
    assert sky or np.max(pictures[0]) == 0


def test_the_sky_stands_behind_things_and_lights_none(
    tmp_path: Path, mitsuba: MitsubaBackend
) -> None:
    ball = '<geom size="1" pos="6 -4 5" rgba=".5 .5 .5 1"/>'
    pictures = []
    for name in ("bare", "under_sky"):
        (tmp_path / name).mkdir()
        scene = converted(tmp_path / name, SKIES["six"] if name == "under_sky" else "", ball)
        mitsuba.open(scene)
        mitsuba.apply(SampleLayer(scene, "rest"))
        pictures.append(mitsuba.render("up_x", SIZE, {"hdr", "part"}))
    bare, under_sky = pictures
    assert bare.part is not None and bare.hdr is not None and under_sky.hdr is not None
    inside = np.zeros_like(bare.part, dtype=bool)
    inside[20:28, 28:36] = True
    assert np.all(bare.part[inside] == 1) and np.all(bare.part[:4] == 0)
    np.testing.assert_array_equal(under_sky.hdr[inside], bare.hdr[inside])
    assert np.all(under_sky.hdr[:4].max(axis=2) > 0.1) and np.all(bare.hdr[:4] == 0)
    edge = (bare.hdr.max(axis=2) > 0) & (bare.part == 0)
    assert edge.any() and np.all(under_sky.hdr[edge] > bare.hdr[edge])


def test_the_dome_is_a_background_and_no_light(tmp_path: Path) -> None:
    scene = converted(tmp_path, SKIES["six"])
    dome = UsdLux.DomeLight(scene.stage.GetPrimAtPath(SKYBOX))
    assert dome.GetDiffuseAttr().Get() == dome.GetSpecularAttr().Get() == 0.0
    assert scene.info.lights == ()
    report = json.loads((scene.folder / "report.json").read_text(encoding="utf-8"))
    assert not [line for line in report["left_out"] if line.startswith("skybox")]
    # OpenEXR's map of longitude and latitude in the dome's frame, whose +y is the world's +z.
    with Image.open(dome.GetTextureFileAttr().Get().resolvedPath) as image:
        picture = np.asarray(image).astype(float)
    height, width, _ = picture.shape
    (T,) = scene.world_transforms([SKYBOX])
    sky = Skybox.read(scene)
    assert sky is not None
    for row, column, local in (
        (height // 2, width // 2, (0, 0, 1)),
        (height // 2, width // 4, (1, 0, 0)),
        (0, width // 3, (0, 1, 0)),
        (height - 1, 0, (0, -1, 0)),
    ):
        nearby = picture[row - 2 if row else 0 : row + 2, column : column + 1].mean(axis=(0, 1))
        wanted = sky.display(T[:3, :3] @ np.array(local)) * 255
        assert np.abs(nearby - wanted).max() < 40, local
        assert (nearby > 100).tolist() == (wanted > 100).tolist()


def test_a_fine_sky_is_averaged_where_pixels_are_coarser() -> None:
    checks = (np.indices((64, 64)).sum(axis=0) % 2 * 255).astype(np.uint8)
    sky = Skybox.of_picture(np.repeat(checks[..., None], 3, axis=2))
    rays = np.stack([np.ones(50), np.linspace(-0.9, 0.9, 50), np.full(50, 1 / 64)], axis=1)
    assert np.ptp(sky.display(rays)) > 0.5
    assert np.ptp(sky.display(rays, spacing=4 / 64)) < 0.01
