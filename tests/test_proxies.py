from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pxr import UsdGeom, UsdPhysics

from scenes import SampleLayer, Scene, convert_mjcf
from scenes.config import MjcfSource

MODEL = """
<mujoco><asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 2 0 0 0 3"/></asset><worldbody>
<geom name="floor" type="plane" size="0 0 .1"/>
<body name="cup" pos="1 2 3" euler="10 20 30"><freejoint/>
<geom name="box" type="box" size=".1 .2 .3" pos=".5 0 0" euler="40 0 0" group="3"/>
<geom name="mesh" type="mesh" mesh="wedge" pos="0 1 0" euler="0 50 0" group="3"/>
<geom name="ball" size=".2"/>
<geom name="seen" size=".1" contype="0" conaffinity="0"/>
</body></worldbody>
<keyframe><key name="moved" qpos="3 2 1 .5 .5 .5 .5"/></keyframe></mujoco>
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder: Path = tmp_path_factory.mktemp("proxies")
    (folder / "m.xml").write_text(MODEL)
    source = MjcfSource(path=folder / "m.xml", keyframe="moved")
    scene = convert_mjcf(folder / "m.xml", folder / "out", source=source)
    scene.show(SampleLayer(scene, "moved"))
    return scene


def boxes(scene: Scene) -> dict[str, UsdGeom.Cube]:
    cubes = [UsdGeom.Cube(p) for p in scene.stage.Traverse() if p.IsA(UsdGeom.Cube)]
    return {c.GetPrim().GetCustomDataByKey("datagen")["name"]: c for c in cubes}


def test_every_colliding_geom_but_the_plane_has_one_box(scene: Scene) -> None:
    assert set(boxes(scene)) == {"box", "mesh", "ball"}
    report = json.loads((scene.folder / "report.json").read_text())
    assert report["counts_in"]["collision geoms"] == 4
    assert report["counts_out"]["collision geoms"] == 3
    assert any("collision box of geom floor" in line for line in report["left_out"])


def test_boxes_are_invisible_guides_that_collide(scene: Scene) -> None:
    for name, cube in boxes(scene).items():
        assert str(cube.GetPath()).startswith("/World/cup/cup/collision/geom_"), name
        assert cube.GetPurposeAttr().Get() == "guide"
        assert cube.GetVisibilityAttr().Get() == "invisible"
        assert cube.GetSizeAttr().Get() == 2.0
        assert cube.GetPrim().HasAPI(UsdPhysics.CollisionAPI)


def test_boxes_are_the_geoms_bounding_boxes_with_rotations_composed(scene: Scene) -> None:
    import mujoco

    model = scene.load_model()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    corners = np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, 8).T
    for name, cube in boxes(scene).items():
        geom = model.geom(name).id
        (T,) = scene.world_transforms([str(cube.GetPath())])
        local = model.geom_aabb[geom, :3] + corners * model.geom_aabb[geom, 3:]
        expected = local @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
        assert np.allclose(corners @ T[:3, :3].T + T[:3, 3], expected, atol=1e-12), name
