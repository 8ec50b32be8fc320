from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from datagen.audit.measure.misses import explained_share
from scenes import Scene, convert_mjcf, pinhole

# The camera looks straight at a square of two triangles, whose common edge passes through the
# centres of a picture's pixels on one diagonal.
SQUARE = """
<mujoco>
  <worldbody>
    <camera name="front" pos="0 0 1" fovy="60"/>
    <geom name="square" type="box" size=".2 .2 .01"/>
    <geom name="wall" type="box" size="2 2 .01" pos="0 0 -.5"/>
    <geom name="aside" type="box" size=".01 .01 .01" pos=".5 0 0"/>
  </worldbody>
</mujoco>
"""
SIZE = 33
MIDDLE = SIZE // 2


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder: Path = tmp_path_factory.mktemp("square")
    (folder / "square.xml").write_text(SQUARE, encoding="utf-8")
    return convert_mjcf(folder / "square.xml", folder / "scene")


def share(scene: Scene, row: int, column: int, reference: str, candidate: str) -> float:
    """Share of one differing pixel that is explained."""
    numbers = {part.name: part.part for part in scene.info.parts} | {"nothing": 0}
    first = np.full((SIZE, SIZE), numbers[reference], dtype=np.int32)
    second = first.copy()
    second[row, column] = numbers[candidate]
    return explained_share(scene, pinhole(scene, "front", SIZE, SIZE), first, second)[0]


def test_a_ray_may_slip_between_two_triangles_to_what_lies_behind(scene: Scene) -> None:
    on_edge = [
        share(scene, MIDDLE + row, MIDDLE + column, "square", "wall")
        for row in (-1, 0, 1)
        for column in (-1, 0, 1)
    ]
    # The middle and the two others on the one diagonal that the square is cut along.
    assert sum(on_edge) == 3 and on_edge[4] == 1.0
    assert share(scene, MIDDLE, MIDDLE, "wall", "square") == 1.0


def test_no_ray_slips_to_what_does_not_lie_behind(scene: Scene) -> None:
    assert share(scene, MIDDLE, MIDDLE, "square", "aside") == 0.0


def test_no_ray_slips_through_the_inside_of_a_triangle(scene: Scene) -> None:
    assert share(scene, MIDDLE, MIDDLE + 2, "square", "wall") == 0.0
    assert share(scene, MIDDLE, MIDDLE + 2, "square", "nothing") == 0.0
