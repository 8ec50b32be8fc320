"""A small scene for audits, and a second renderer that is MuJoCo with a planted change."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datagen.audit.diagnose.findings import Comparison
from datagen.audit.view import ViewPair
from datagen.backends import Buffers
from datagen.backends.mujoco.backend import MUJOCO_PASSES, MujocoBackend
from datagen.backends.registry import open_backend
from datagen.configuration.config import RunConfig

SCENE = """<mujoco>
<visual><headlight ambient=".3 .3 .3" diffuse=".4 .4 .4" specular="0 0 0"/></visual>
<worldbody>
  <light name="lamp" pos="0 0 2" dir="0 0 -1" diffuse=".4 .4 .4" castshadow="false"/>
  <geom name="floor" type="plane" size="1 1 .1" rgba=".6 .6 .6 1"/>
  <body name="red_box" pos=".1 0 .1"><freejoint/>
    <geom type="box" size=".1 .1 .1" rgba="1 .2 .1 1" mass="1"/></body>
  <body name="ball" pos="-.3 0 .1"><freejoint/>
    <geom type="sphere" size=".1" rgba=".1 .2 1 1" mass="1"/></body>
  <camera name="top" pos="0 0 2" fovy="40"/>
  <camera name="side" pos="0 -1.5 1" xyaxes="1 0 0 0 .5 .8" fovy="45"/>
</worldbody></mujoco>"""

Change = Callable[[Buffers], Buffers]


def settings(folder: Path, **changes: Any) -> RunConfig:
    """Config of four views of the scene, by MuJoCo and a second renderer."""
    (folder / "table.xml").write_text(SCENE)
    data = {
        "seed": 3,
        "output": str(folder / "run"),
        "cache": str(folder / "cache"),
        "scenes": [{"mjcf": {"path": str(folder / "table.xml")}}],
        "samples_per_state": 2,
        "cameras": ["top", "side"],
        "size": [64, 48],
        "backends": ["mujoco"],
        "mitsuba": {"spp": 4, "denoise": False, "variant": "llvm"},
        "randomize": {"object_pose": {"translation": {"uniform": [-0.1, 0.1]}}},
        "audit": {"backends": ["mujoco", "newton"], "fine": 1},
        **changes,
    }
    return RunConfig.from_data(data)


class Changed(MujocoBackend):
    """MuJoCo under another name, whose buffers are changed before they are given."""

    name = "newton"

    def __init__(self, change: Change) -> None:
        super().__init__(colorspace="display")
        self._change = change

    def render(self, camera: str, size: Any, passes: Any) -> Buffers:
        return self._change(super().render(camera, size, set(passes) & MUJOCO_PASSES))


def plant(patch: pytest.MonkeyPatch, change: Change = lambda buffers: buffers) -> None:
    """Let `newton` be MuJoCo with a change."""

    def opened(name: str, options: Any = None) -> Any:
        return Changed(change) if name == "newton" else open_backend(name, options)

    patch.setattr("datagen.run.scene_session.open_backend", opened)


def one_column_right(buffers: Buffers) -> Buffers:
    rolled = {
        field.name: np.ascontiguousarray(np.roll(values, 1, axis=1))
        for field in dataclasses.fields(buffers)
        if (values := getattr(buffers, field.name)) is not None
    }
    return dataclasses.replace(buffers, **rolled)


def few_numbers(pair: ViewPair, fine: Buffers | None) -> tuple[Comparison, ...]:
    """Measure as little as a test of what surrounds the measuring needs."""
    one, other = pair.reference, pair.candidate
    assert one.buffers.rgb is not None and other.buffers.rgb is not None
    objects = {}
    for each in pair.scene.info.objects:
        here = one.labels.instance == each.instance
        there = other.labels.instance == each.instance
        if here.any() and there.any():
            light = other.buffers.rgb[there].mean() / one.buffers.rgb[here].mean()
            objects[each.name] = {
                "pixels_reference": int(here.sum()),
                "pixels_candidate": int(there.sum()),
                "luminance_ratio": float(light),
            }
    metrics = {
        "ids.agreement": float((one.labels.part == other.labels.part).mean()),
        "rgb.luminance_ratio": float(other.buffers.rgb.mean() / one.buffers.rgb.mean()),
    }
    return (Comparison(metrics, objects),)
