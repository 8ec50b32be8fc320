"""Objects that overlap as authored are flagged; what rests, passes or is welded is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from datagen.configuration.config import RunConfig
from datagen.progress import SilentProgress
from datagen.run.pipeline import run
from scenes import convert_mjcf
from writers import read_rows

SCENE = """
<mujoco>
  <worldbody>
    <light pos="0 0 2"/>
    <camera name="top" pos="0 0 2"/>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <body name="table" pos="0 0 .1"><geom type="box" size=".4 .4 .1"/></body>
    <body name="resting" pos=".2 0 {resting}"><freejoint/>
      <geom type="box" size=".05 .05 .05"/></body>
    <body name="ball" pos="{ball} .2 .3"><freejoint/>
      <geom size=".05"/><geom size=".09" contype="0" conaffinity="0" group="1"/></body>
    <body name="other" pos="0 .2 .3"><freejoint/><geom size=".05" {other}/></body>
  </worldbody>
  <contact>{exclude}</contact>
</mujoco>
"""
EXCLUDED = '<exclude body1="ball" body2="other"/>'


@pytest.mark.parametrize(
    ("changes", "pairs"),
    [
        ({}, ()),
        ({"ball": 0.094}, (("ball", "other"),)),
        ({"ball": 0.096}, ()),
        ({"ball": 0.094, "other": 'contype="0" conaffinity="0"'}, ()),
        ({"ball": 0.094, "exclude": EXCLUDED}, ()),
        ({"resting": 0.246}, ()),
        ({"resting": 0.244}, (("resting", "table"),)),
        ({"resting": 0.04}, (("floor", "resting"), ("resting", "table"))),
    ],
)
def test_pairs_deeper_than_5_mm_overlap(
    tmp_path: Path, changes: dict[str, object], pairs: tuple[tuple[str, str], ...]
) -> None:
    values = {"ball": 0.2, "other": "", "exclude": "", "resting": 0.25} | changes
    (tmp_path / "scene.xml").write_text(SCENE.format(**values))
    scene = convert_mjcf(tmp_path / "scene.xml", tmp_path / "out")
    assert scene.state(scene.info.default_state).overlaps == pairs


@pytest.mark.parametrize(("ball", "flags"), [(0.05, ["objects_overlap"]), (0.2, [])])
def test_rows_of_a_state_with_overlaps_are_flagged(
    tmp_path: Path, ball: float, flags: list[str]
) -> None:
    text = SCENE.format(ball=ball, other="", exclude="", resting=0.25)
    (tmp_path / "scene.xml").write_text(text)
    config = {
        "output": str(tmp_path / "run"),
        "cache": str(tmp_path / "cache"),
        "scenes": [{"mjcf": {"path": str(tmp_path / "scene.xml")}}],
        "cameras": ["top"],
        "size": [32, 24],
        "mitsuba": {"spp": 1, "denoise": False, "variant": "llvm"},
    }
    run(RunConfig.from_data(config), SilentProgress())
    (row,) = read_rows(tmp_path / "run" / "data")
    assert list(row.flags) == flags
