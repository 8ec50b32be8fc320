from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from scenes import SampleLayer, Scene, convert_mjcf

MODEL = """
<mujoco><worldbody>
<camera name="main" pos="0 0 3"/>
<geom type="plane" size="5 5 .1"/>
<light name="spot" pos="0 -2 2" dir="0 1 -1" cutoff="30" exponent="4"/>
<light name="sun" type="directional" dir="0 0 -1"/>
<light name="away" pos="0 0 1" dir="0 0 1"/>
<light name="bulb" type="point" pos="1 0 1" cutoff="20"/>
<body name="arm" pos="1 0 1" euler="0 90 0"><joint name="j" axis="0 0 1"/><geom size=".1"/>
<light name="carried" pos="0 0 .5" dir="1 0 0"/>
<light name="aimed" mode="targetbody" target="goal" pos="0 0 .5"/></body>
<body name="goal" pos="-1 0 0"><geom size=".1"/></body>
</worldbody><keyframe><key name="turned" qpos="1.2"/></keyframe></mujoco>
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lights")
    (folder / "m.xml").write_text(MODEL)
    return folder


@pytest.fixture(scope="module")
def scene(folder: Path) -> Scene:
    return convert_mjcf(folder / "m.xml", folder / "out")


def values(scene: Scene, name: str) -> dict:
    path = next(light.path for light in scene.info.lights if light.name == name)
    prim = scene.stage.GetPrimAtPath(path)
    return {a.GetName(): a.Get() for a in prim.GetAttributes()}


def test_reference_is_where_the_main_cameras_axis_meets_the_scene(scene: Scene) -> None:
    # From (0, -2, 2) to the origin along (0, 1, -1) / sqrt 2.
    assert values(scene, "spot")["datagen:referenceDistance"] == pytest.approx(np.sqrt(8))
    assert values(scene, "away")["datagen:referenceDistance"] == 1.0


def test_irradiance_at_the_reference_is_pi_times_diffuse(scene: Scene) -> None:
    spot, sun = values(scene, "spot"), values(scene, "sun")
    # A normalized sphere light of intensity I has I / 4 in every direction.
    assert spot["inputs:normalize"] and sun["inputs:normalize"]
    assert spot["inputs:intensity"] / 4 / 8 == pytest.approx(np.pi)
    assert sun["inputs:intensity"] == pytest.approx(np.pi)


def test_spots_have_a_cone_and_point_lights_none(scene: Scene) -> None:
    spot, bulb = values(scene, "spot"), values(scene, "bulb")
    assert spot["inputs:shaping:cone:angle"] == spot["datagen:cutoff"] == 30
    assert spot["inputs:shaping:focus"] == spot["datagen:exponent"] == 4
    assert (bulb["datagen:cutoff"], bulb["datagen:exponent"]) == (180, 0)
    assert "inputs:shaping:cone:angle" not in bulb
    report = json.loads((scene.folder / "report.json").read_text())
    assert any("light bulb: a point light" in line for line in report["approximated"])


def test_a_carried_light_hangs_on_its_body_and_an_aimed_one_does_not(scene: Scene) -> None:
    paths = {light.name: light.path for light in scene.info.lights}
    assert paths["carried"] == "/World/arm/arm/carried"
    assert paths["aimed"] == "/World/lights/aimed"


@pytest.mark.parametrize("keyframe", [None, "turned"])
def test_lights_stand_where_mujoco_has_them_in_every_state(
    folder: Path, keyframe: str | None, tmp_path: Path
) -> None:
    import mujoco

    from scenes.sources.mjcf.config import MjcfConfig

    source = MjcfConfig(path=folder / "m.xml", keyframe=keyframe)
    scene = convert_mjcf(folder / "m.xml", tmp_path / "out", source=source)
    scene.show(SampleLayer(scene, scene.info.default_state))
    model = scene.load_model()
    data = mujoco.MjData(model)
    if keyframe:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    for info, T in zip(
        scene.info.lights, scene.world_transforms([i.path for i in scene.info.lights]), strict=True
    ):
        assert np.allclose(T[:3, 3], data.light_xpos[info.light_id], atol=1e-12)
        assert np.allclose(-T[:3, 2], data.light_xdir[info.light_id], atol=1e-12)
