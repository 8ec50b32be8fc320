"""Steps after rendering: labels are those of what they give."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from datagen.backends import Buffers
from datagen.configuration.config import RunConfig
from datagen.post import Post
from datagen.progress import SilentProgress
from datagen.run.preparation import prepare_run
from datagen.run.scene_session import SceneSession, ShownView
from datagen.stopwatch import Stopwatch
from scenes import Pinhole

SCENE = """<mujoco><worldbody>
  <light pos="0 0 2"/>
  <geom name="floor" type="plane" size="1 1 .1"/>
  <body name="ball" pos=".2 0 .1"><freejoint/><geom size=".1" rgba="1 0 0 1"/></body>
  <camera name="top" pos="0 0 2" fovy="30"/>
</worldbody></mujoco>"""


def mirrored(buffers: Buffers, view: Pinhole) -> Buffers:
    assert (view.width, view.height) == (40, 20)
    arrays = {each.name: getattr(buffers, each.name) for each in fields(buffers)}
    return Buffers(**{n: None if a is None else a[:, ::-1] for n, a in arrays.items()})


@pytest.fixture
def shown(tmp_path: Path):
    (tmp_path / "m.xml").write_text(SCENE)
    config = RunConfig.from_data(
        {
            "output": str(tmp_path / "run"),
            "cache": str(tmp_path / "cache"),
            "scenes": [{"mjcf": {"path": str(tmp_path / "m.xml")}}],
            "cameras": ["top"],
            "size": [40, 20],
            "mitsuba": {"spp": 1, "denoise": False, "variant": "llvm"},
        }
    )
    (job,) = prepare_run(config, SilentProgress()).jobs()

    def view(*steps: Post) -> ShownView:
        session = SceneSession(config, job.setup, Stopwatch(), steps)
        ((found, _),) = session.views(job.shard.frames[0], job.cameras)
        session.close()
        return found

    return view


def test_labels_follow_a_lens_that_moves_pixels(shown) -> None:
    plain, turned = shown(), shown(mirrored)
    assert np.array_equal(turned.buffers.rgb, plain.buffers.rgb[:, ::-1])
    assert np.array_equal(turned.labels.instance, plain.labels.instance[:, ::-1])
    (before,), (after,) = (
        [each.tight_box for each in view.labels.objects if each.name == "ball"]
        for view in (plain, turned)
    )
    x0, y0, x1, y1 = before
    assert after == (40 - x1, y0, 40 - x0, y1)
    assert x0 > 20


def test_steps_come_one_after_the_other(shown) -> None:
    assert np.array_equal(shown(mirrored, mirrored).buffers.rgb, shown().buffers.rgb)
