"""docs/recipes.md says enough to rebuild a sample without this package."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pxr import Usd, UsdGeom

from datagen.configuration.config import RunConfig
from datagen.progress import SilentProgress
from datagen.run import pipeline
from randomizers import parse_recipe, replay
from scenes import SampleLayer, Scene

DOCUMENT = Path(__file__).parent.parent / "docs" / "recipes.md"
MODEL = """<mujoco><worldbody>
<light name="key" pos="0 0 2" dir="0.3 0 -1" diffuse="0.5 0.4 0.3"/>
<camera name="front" pos="0 -1 1" xyaxes="1 0 0 0 1 1" fovy="45"/>
<geom name="desk" type="box" size="0.5 0.5 0.02" pos="0 0 0.48"/>
<body name="arm" pos="-0.8 0 0.5" euler="0 0 30"><joint axis="0 0 1"/>
 <geom name="arm" type="box" size="0.05 0.05 0.05"/>
 <camera name="wrist" pos="0.1 0 0.1" euler="0 -60 -90" fovy="70"/>
 <light name="torch" pos="0.1 0 0" dir="1 0 0"/></body>
<body name="tray" pos="-0.1 0 0.51"><freejoint/>
 <geom name="tray" type="box" size="0.2 0.1 0.01"/></body>
<body name="dice" pos="0.05 0 0.53"><freejoint/>
 <geom name="dice" type="box" size="0.01 0.01 0.01"/></body>
<body name="can" pos="0.35 0 0.56"><freejoint/>
 <geom name="can" type="cylinder" size="0.03 0.06"/></body>
</worldbody></mujoco>"""
RANDOMIZE = {
    "camera_pose": {
        "position": {"uniform": [-0.05, 0.05]},
        "rotation": {"uniform": [-20, 20]},
        "orbit": {"look_at": 1.2, "azimuth": {"uniform": [-40, 40]}, "elevation": 13},
        "fovy": {"uniform": [0.7, 1.3]},
    },
    "light": {
        "intensity": {"loguniform": [0.5, 2]},
        "tint": {"uniform": [0.6, 1.0]},
        "kelvin": {"choice": [3000, 5000, 8000]},
        "tilt": {"uniform": [10, 40]},
        "position": {"uniform": [-0.3, 0.3]},
    },
    "object_pose": {"translation": {"uniform": [-0.1, 0.1]}, "yaw": {"uniform": [-90, 90]}},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("recipes")
    (folder / "desk.xml").write_text(MODEL)
    data: dict[str, Any] = {
        "seed": 5,
        "output": str(folder / "run"),
        "cache": str(folder / "cache"),
        "scenes": [{"mjcf": {"path": str(folder / "desk.xml")}}],
        "samples_per_state": 6,
        "cameras": ["front", "wrist"],
        "size": [24, 16],
        "mitsuba": {"spp": 1, "denoise": False, "variant": "llvm"},
        "randomize": RANDOMIZE,
    }
    pipeline.run(RunConfig.from_data(data), SilentProgress())
    columns = ["camera", "episode_index", "recipe", "T_world_camera", "K", "objects", "rgb"]
    table = pq.read_table(folder / "run" / "data", columns=columns)
    base = next((folder / "cache").rglob("base.usdc"))
    return base.parent, table.to_pylist()


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert not re.search(r"randomizers|datagen|scenes", code)
    space: dict[str, Any] = {}
    exec(compile(code, str(DOCUMENT), "exec"), space)
    return space


def world(prim: Usd.Prim) -> np.ndarray:
    return np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(0)).T


def test_the_document_rebuilds_cameras_and_objects_of_rows(
    run: tuple[Path, list[dict[str, Any]]], document: dict[str, Any]
) -> None:
    folder, rows = run
    carried = 0
    for row in rows:
        stage, *_ = document["rebuilt"](folder, "rest", row["recipe"])
        prims = {prim.GetName(): prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Camera)}
        camera = next(prim for name, prim in prims.items() if row["camera"] in name)
        T = world(camera) @ np.diag([1.0, -1.0, -1.0, 1.0])
        np.testing.assert_allclose(T, np.reshape(row["T_world_camera"], (4, 4)), atol=1e-9)
        focal = camera.GetAttribute("focalLength").Get()
        half = camera.GetAttribute("verticalAperture").Get() / 2
        assert row["K"][4] == pytest.approx(16 / 2 * focal / half, rel=1e-6)
        assert row["objects"]
        for each in row["objects"]:
            if each["name"] not in ("tray", "dice", "can"):
                continue
            (prim,) = [
                p
                for p in stage.Traverse()
                if p.HasAPI("PhysicsRigidBodyAPI") and f"/{each['name']}" in str(p.GetPath())
            ]
            T = np.reshape(each["T_world_object"], (4, 4))
            np.testing.assert_allclose(world(prim), T, atol=1e-9)
        carried += "object_pose.carried" in row["recipe"]
    assert carried


def test_the_document_rebuilds_lights_as_the_package_shows_them(
    run: tuple[Path, list[dict[str, Any]]], document: dict[str, Any]
) -> None:
    folder, rows = run
    scene = Scene.open(folder)
    for row in rows:
        stage, *_ = document["rebuilt"](folder, "rest", row["recipe"])
        sample = SampleLayer(scene, "rest")
        replay(sample, parse_recipe(row["recipe"]))
        for light in scene.info.lights:
            prim = stage.GetPrimAtPath(light.path)
            for name in ("inputs:intensity", "inputs:color", "xformOp:transform"):
                np.testing.assert_allclose(
                    np.array(prim.GetAttribute(name).Get()),
                    np.array(sample.get(f"{light.path}.{name}")),
                    rtol=1e-6,
                    atol=1e-9,
                )


def test_a_carried_object_moves_further_than_the_range(
    run: tuple[Path, list[dict[str, Any]]],
) -> None:
    _, rows = run
    moved = [
        float(np.linalg.norm(np.array(each["T_world_object"])[[3, 7]] - [0.05, 0.0]))
        for row in rows
        for each in row["objects"]
        if each["name"] == "dice"
    ]
    assert max(moved) > np.hypot(0.1, 0.1)


def test_each_episode_has_noise_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "desk.xml").write_text(MODEL)
    data: dict[str, Any] = {
        "output": str(tmp_path / "run"),
        "cache": str(tmp_path / "cache"),
        "scenes": [{"mjcf": {"path": str(tmp_path / "desk.xml")}}],
        "samples_per_state": 3,
        "cameras": ["front"],
        "size": [24, 16],
        "passes": ["hdr"],
        "mitsuba": {"spp": 1, "denoise": False, "variant": "llvm"},
    }
    pipeline.run(RunConfig.from_data(data), SilentProgress())
    rows = pq.read_table(tmp_path / "run" / "data", columns=["hdr", "recipe"]).to_pylist()
    # Nothing is drawn, so only the pattern of the samples differs.
    assert [json.loads(row["recipe"]) for row in rows] == [[], [], []]
    assert len({tuple(row["hdr"]) for row in rows}) == 3
