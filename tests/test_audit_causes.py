"""The audit names no wrong cause on ordinary scenes that nothing is wrong with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from datagen.audit.run import audit
from datagen.configuration.config import RunConfig
from datagen.progress import SilentProgress

pytestmark = pytest.mark.gl
ROOT = Path(__file__).resolve().parent.parent
LAMP_AND_TABLE = """
<mujoco model="room">
  <asset>
    <texture name="wood" type="2d" builtin="checker" rgb1=".6 .4 .25" rgb2=".5 .33 .2"
      width="256" height="256"/>
    <material name="table top" texture="wood" texrepeat="6 6" specular=".4" shininess=".6"/>
    <material name="glass" rgba=".8 .9 1 .3" specular=".9" shininess=".9"/>
    <material name="brass" rgba=".8 .6 .2 1" specular=".8" shininess=".7"/>
  </asset>
  <worldbody>
    <light name="lamp" pos="0 0 1.9" dir="0 0 -1" diffuse=".8 .75 .6" specular=".4 .4 .4"
      cutoff="70"/>
    <geom name="floor" type="plane" size="3 3 .1" rgba=".7 .7 .72 1"/>
    <geom name="wall" type="box" pos="0 1.5 1" size="2 .05 1" rgba=".85 .85 .8 1"/>
    <body name="table" pos="0 0 .7">
      <geom name="top" type="box" size=".6 .4 .02" material="table top"/>
      <geom type="cylinder" size=".03 .34" pos=".5 .3 -.36" rgba=".3 .2 .1 1"/>
      <geom type="cylinder" size=".03 .34" pos="-.5 .3 -.36" rgba=".3 .2 .1 1"/>
      <geom type="cylinder" size=".03 .34" pos=".5 -.3 -.36" rgba=".3 .2 .1 1"/>
      <geom type="cylinder" size=".03 .34" pos="-.5 -.3 -.36" rgba=".3 .2 .1 1"/>
    </body>
    <body name="lamp" pos="-.35 .15 .72">
      <geom type="cylinder" size=".08 .01" material="brass"/>
      <geom type="capsule" fromto="0 0 0 0 0 .35" size=".012" material="brass"/>
      <geom type="ellipsoid" pos="0 0 .4" size=".1 .1 .06" rgba=".9 .3 .2 1"/>
    </body>
    <body name="glass" pos=".2 -.1 .8">
      <freejoint/>
      <geom type="cylinder" size=".045 .07" material="glass" mass=".2"/>
    </body>
    <body name="ball" pos="-.05 -.1 .78">
      <freejoint/>
      <geom size=".06" rgba=".2 .4 .8 1" mass=".2"/>
    </body>
    <camera name="front" pos="0 -1.4 1.3" xyaxes="1 0 0 0 .4 1"/>
    <camera name="close" pos=".5 -.6 1.05" xyaxes=".8 .6 0 -.25 .33 1" fovy="50"/>
  </worldbody>
</mujoco>
"""
TWO_SHADOWS = """
<mujoco model="reading">
  <visual><headlight ambient=".1 .1 .1" diffuse="0 0 0"/></visual>
  <worldbody>
    <light name="room" pos="0 0 3" dir="0 0 -1" diffuse=".3 .3 .3"/>
    <camera name="view" pos="0 -1.6 1.3" xyaxes="1 0 0 0 .5 .85" fovy="45"/>
    <geom name="floor" type="plane" size="2 2 .1" rgba=".4 .4 .4 1"/>
    <body name="table" pos="0 0 .4">
      <geom name="top" type="box" size=".5 .4 .02" rgba=".6 .4 .2 1"/>
    </body>
    <body name="lamp" pos="-.2 .1 .42">
      <geom type="cylinder" size=".08 .01" pos="0 0 .01" rgba=".1 .1 .1 1"/>
      <geom type="cylinder" size=".01 .2" pos="0 0 .2" rgba=".7 .7 .7 1"/>
      <light name="bulb" pos="0 -.12 .36" dir=".3 -.2 -1" cutoff="60" diffuse=".8 .7 .5"/>
    </body>
  </worldbody>
</mujoco>
"""
WALKER_ON_A_MIRROR = """
<mujoco model="walker">
  <asset>
    <texture type="skybox" builtin="gradient" rgb1=".4 .5 .6" rgb2="0 0 0" width="100"
      height="600"/>
    <texture name="skin" type="cube" builtin="flat" mark="cross" markrgb="1 1 1" random=".01"
      rgb1=".8 .6 .4" rgb2=".8 .6 .4" width="127" height="762"/>
    <texture name="tiles" type="2d" builtin="checker" rgb1="0 0 0" rgb2=".8 .8 .8" width="100"
      height="100"/>
    <material name="floor" texture="tiles" texrepeat="60 60" reflectance=".5" shininess="1"
      specular="1"/>
    <material name="skin" texture="skin" texuniform="true"/>
  </asset>
  <worldbody>
    <light cutoff="100" dir="0 0 -1.3" directional="true" exponent="1" pos="0 0 1.3"
      diffuse="1 1 1" specular=".1 .1 .1"/>
    <geom name="floor" type="plane" size="20 20 .1" material="floor" rgba=".8 .9 .8 1"/>
    <body name="torso" pos="0 0 1">
      <geom type="sphere" size=".2" pos="0 0 .3" material="skin"/>
      <geom type="capsule" fromto="0 -.15 0 0 .15 0" size=".15" material="skin"/>
      <geom type="capsule" fromto="0 0 -.2 .3 0 -.9" size=".08" material="skin"/>
    </body>
    <camera name="side" pos="0 -4 1" xyaxes="1 0 0 0 0 1"/>
    <camera name="above" pos="-2 -2 3" xyaxes="1 -1 0 .6 .6 1"/>
  </worldbody>
</mujoco>
"""


def written(folder: Path, text: str) -> dict[str, Any]:
    folder.mkdir()
    (folder / "scene.xml").write_text(text)
    return {"mjcf": {"path": str(folder / "scene.xml"), "materials": "mujoco"}}


@pytest.mark.parametrize(
    "name", ["lamp", "shadows", "walker", "desk", "shelf", "room", "glass", "shine"]
)
def test_no_cause_is_named_where_nothing_is_wrong(tmp_path: Path, name: str) -> None:
    files = {
        "desk": ("mjcf", ROOT / "configs/mjcf/desk.xml"),
        "shelf": ("usd", ROOT / "configs/usd/shelf.usda"),
        "room": ("mjcf", ROOT / "tests/cases/g10-room-seen-from-inside/scene.xml"),
        "glass": ("mjcf", ROOT / "tests/cases/x08-glass-once/scene.xml"),
        "shine": ("mjcf", ROOT / "tests/cases/x09-materials-shine/scene.xml"),
    }
    if name in files:
        kind, path = files[name]
        scene = {kind: {"path": str(path), "materials": "mujoco"}}
    else:
        texts = {
            "lamp": LAMP_AND_TABLE,
            "shadows": TWO_SHADOWS,
            "walker": WALKER_ON_A_MIRROR,
        }
        scene = written(tmp_path / name, texts[name])
    config = RunConfig.from_data(
        {
            "scenes": [scene],
            "cameras": "all",
            "size": [192, 192],
            "output": str(tmp_path / "out"),
            "cache": str(tmp_path / "cache"),
            "backends": ["mujoco", "mitsuba"],
            "mitsuba": {"spp": 16, "variant": "llvm"},
        }
    )
    results = audit(config, SilentProgress())
    assert results.views
    assert [finding.sentence for view in results.views for finding in view.findings] == []
