"""A sample crosses to a renderer as data; a renderer in another process gives the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
import pytest
from pxr import Sdf

from datagen.backends import Buffers, Pass, Size
from datagen.backends.errors import BackendError
from datagen.backends.frames import LocalRenderer, SampleTable, View
from datagen.backends.pipe import PipeRenderer
from datagen.backends.registry import open_backend
from scenes import SampleLayer, Scene, convert_mjcf

MODEL = """
<mujoco><worldbody>
<light name="lamp" pos="0 0 2" dir="0 0 -1" diffuse=".6 .6 .5"/>
<camera name="top" pos="0 0 2" fovy="50"/>
<camera name="side" pos="0 -1.5 .5" xyaxes="1 0 0 0 .3 1"/>
<geom name="floor" type="plane" size="1 1 .1" rgba=".5 .5 .5 1"/>
<body name="cube" pos="0 0 .2"><freejoint/><geom type="box" size=".1 .2 .1" rgba="1 .2 0 1"/></body>
</worldbody></mujoco>
"""
OPTIONS = {"spp": 4, "denoise": False, "variant": "llvm", "threads": 1}
PASSES: frozenset[Pass] = frozenset({"rgb", "hdr", "part", "depth", "normal", "position"})
VIEWS = (View("top", Size(40, 32)), View("side", Size(24, 24)))


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("renderers")
    (folder / "m.xml").write_text(MODEL)
    return convert_mjcf(folder / "m.xml", folder / "scene")


def drawn(scene: Scene) -> SampleLayer:
    """A sample that changes a pose, a colour, a number and a word."""
    sample = SampleLayer(scene, scene.info.default_state, noise_seed=7)
    lamp = scene.info.lights[0].path
    body = next(body.path for body in scene.info.bodies if body.name == "cube")
    pose = sample.pose(body)
    pose[:3, 3] += (0.1, 1.0 / 3.0, 0.05)
    sample.set_pose(body, pose)
    sample.set(f"{lamp}.inputs:color", (1.0, 0.1, 1.0 / 3.0))
    sample.set("/World.datagen:exposure", 0.7)
    return sample


def same(first: Buffers, second: Buffers) -> bool:
    return all(
        (a is None and b is None)
        or (a is not None and b is not None and a.dtype == b.dtype and np.array_equal(a, b))
        for a, b in ((getattr(first, f.name), getattr(second, f.name)) for f in fields(Buffers))
    )


def test_a_sample_comes_back_from_its_table(scene: Scene) -> None:
    sample = drawn(scene)
    table = SampleTable.of(sample)
    # Through JSON, as between processes.
    read = json.loads(json.dumps(asdict(table)))
    values = tuple((path, tuple_of(value)) for path, value in read["values"])
    again = SampleTable(read["state"], values, read["noise_seed"])
    assert again == table
    layer = again.layer(scene)
    assert layer.noise_seed == 7
    assert layer.layer.ExportToString() == sample.layer.ExportToString()
    assert {path for path, _ in table.values} == {str(path) for path in sample.drawn}


def tuple_of(value: object) -> object:
    return tuple(map(tuple_of, value)) if isinstance(value, list) else value


def test_every_type_of_a_stage_s_values_crosses(scene: Scene) -> None:
    table = SampleTable.of(SampleLayer(scene, scene.info.default_state))
    assert table.values == ()
    root = scene.stage.GetRootLayer()
    paths: list[str] = []

    def collect(path: Sdf.Path) -> None:
        spec = root.GetAttributeAtPath(path) if path.IsPropertyPath() else None
        if spec is not None and spec.default is not None:
            paths.append(str(path))

    root.Traverse(Sdf.Path.absoluteRootPath, collect)
    sample = SampleLayer(scene, scene.info.default_state)
    for path in paths:
        sample.set(path, scene.authored(path))
    again = SampleTable.of(sample).layer(scene)
    assert [again.get(path) for path in paths] == [sample.get(path) for path in paths]
    assert len(paths) > 50


@pytest.fixture(scope="module")
def child(scene: Scene) -> Iterator[PipeRenderer]:
    renderer = PipeRenderer("mitsuba", OPTIONS)
    renderer.open(scene.folder)
    yield renderer
    renderer.close()


def test_mitsuba_behind_a_pipe_gives_the_same_bytes(scene: Scene, child: PipeRenderer) -> None:
    table = SampleTable.of(drawn(scene))
    local = LocalRenderer(open_backend("mitsuba", OPTIONS), scene)
    local.open(scene.folder)
    here = list(local.render(table, VIEWS, PASSES))
    there = list(child.render(table, VIEWS, PASSES))
    assert [b.rgb.shape for b in there if b.rgb is not None] == [(32, 40, 3), (24, 24, 3)]
    assert all(same(a, b) for a, b in zip(here, there, strict=True))
    assert child.describe() == local.describe()
    # Another sample between does not show in the next.
    plain = SampleTable.of(SampleLayer(scene, scene.info.default_state, noise_seed=7))
    (other,) = child.render(plain, VIEWS[:1], PASSES)
    assert not same(other, here[0])
    assert same(next(iter(child.render(table, VIEWS[:1], PASSES))), here[0])
    local.close()


def test_what_fails_there_is_said_here(scene: Scene, child: PipeRenderer) -> None:
    table = SampleTable.of(drawn(scene))
    with pytest.raises(BackendError, match="no camera 'none'"):
        list(child.render(table, [View("none", Size(8, 8))], {"part"}))
    with pytest.raises(BackendError, match="not known"):
        PipeRenderer("mitsubi")
    assert same(*(next(iter(child.render(table, VIEWS[:1], PASSES))) for _ in range(2)))


def test_views_that_nobody_takes_do_not_stand_before_the_next(
    scene: Scene, child: PipeRenderer
) -> None:
    table = SampleTable.of(drawn(scene))
    (top, side) = child.render(table, VIEWS, PASSES)
    left = child.render(table, VIEWS, PASSES)
    assert same(next(left), top)
    left.close()
    assert child.describe()["spp"] == "4"
    assert same(next(child.render(table, VIEWS[1:], PASSES)), side)


def test_a_renderer_that_cannot_be_made_leaves_no_process() -> None:
    before = children()
    with pytest.raises(BackendError, match="not known"):
        PipeRenderer("mitsubi")
    assert children() == before


def children() -> set[str]:
    files = Path("/proc/self/task").glob("*/children")
    return {child for file in files for child in file.read_text().split()}


def test_a_child_that_dies_is_told(scene: Scene) -> None:
    renderer = PipeRenderer("mitsuba", OPTIONS)
    renderer.open(scene.folder)
    renderer._child.kill()
    with pytest.raises(BackendError, match="its process ended with exit code -9"):
        list(renderer.render(SampleTable.of(drawn(scene)), VIEWS, PASSES))
    renderer.close()
