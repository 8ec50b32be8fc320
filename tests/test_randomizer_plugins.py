"""Another package adds a randomizer by one file and one entry, as docs/add_a_randomizer.md says."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from datagen.configuration.config import RunConfig
from datagen.errors import ConfigError
from randomizers import (
    CameraPose,
    RandomizerError,
    SampleId,
    kinds,
    parse_recipe,
    plugin_versions,
    randomize,
    randomizer_class,
    recipe_json,
    registry,
    replay,
)
from scenes import SampleLayer, convert_mjcf
from writers import read_rows

DOCUMENT = Path(__file__).parent.parent / "docs" / "add_a_randomizer.md"
HEIGHT = 2.0
"""Height of the camera above the table's origin [m]."""
SCENE = """<mujoco><worldbody>
<light name="lamp" pos="0 0 3" dir="0 0 -1" diffuse=".7 .7 .7"/>
<camera name="top" pos="0 0 2.5" fovy="40"/>
<geom name="floor" type="plane" size="2 2 .1"/>
<body name="table" pos="0 0 .5"><geom name="table" type="box" pos="0 0 -.01" size="1 1 .01"/></body>
<body name="cube" pos=".2 .3 .55"><freejoint/>
 <geom name="cube" type="box" size=".05 .05 .05" mass="1"/></body>
</worldbody></mujoco>"""

Package = Callable[..., Path]


def fenced(language: str) -> str:
    text = DOCUMENT.read_text(encoding="utf-8")
    (code,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return code


def config(folder: Path, randomizers: dict[str, Any]) -> dict[str, Any]:
    (folder / "room.xml").write_text(SCENE)
    return {
        "seed": 4,
        "output": str(folder / "run"),
        "cache": str(folder / "cache"),
        "scenes": [{"mjcf": {"path": str(folder / "room.xml")}}],
        "samples_per_state": 3,
        "cameras": ["top"],
        "size": [48, 48],
        "mitsuba": {"spp": 1, "denoise": False, "variant": "llvm"},
        "randomize": randomizers,
    }


def install(folder: Path, code: str, project: str) -> None:
    """Write one module and what an installer makes of its `pyproject.toml`."""
    about = tomllib.loads(project)["project"]
    name, version = about["name"], about["version"]
    lines = [f"[{registry.GROUP}]"]
    for kind, value in about["entry-points"][registry.GROUP].items():
        lines.append(f"{kind} = {value}")
    found = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    found.mkdir(parents=True)
    (found / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (found / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (folder / f"{name.replace('-', '_')}.py").write_text(code)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    """Gives a function that installs a package in this process until the test ends."""
    modules = set(sys.modules)
    monkeypatch.setattr(registry, "_added", {})
    folder = tmp_path / "site"
    folder.mkdir()

    def add(code: str | None = None, project: str | None = None) -> Path:
        install(folder, code or fenced("python"), project or fenced("toml"))
        monkeypatch.syspath_prepend(str(folder))
        return folder

    yield add
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
            del sys.modules[name]


def entry(kind: str, value: str, name: str = "other") -> str:
    return (
        f'[project]\nname = "{name}"\nversion = "1"\n'
        f'[project.entry-points."datagen.randomizers"]\n{kind} = "{value}"\n'
    )


def problem(folder: Path, randomizers: object) -> str:
    with pytest.raises(ConfigError) as caught:
        RunConfig.from_data({**config(folder, {}), "randomize": randomizers}, "x.yaml")
    return str(caught.value)


def test_a_run_tilts_the_table_by_what_the_recipe_says(tmp_path: Path) -> None:
    install(tmp_path / "site", fenced("python"), fenced("toml"))
    data = config(tmp_path, yaml.safe_load(fenced("yaml"))["randomize"])
    (tmp_path / "tilt.yaml").write_text(yaml.safe_dump(data))
    path = os.pathsep.join([str(tmp_path / "site"), *sys.path])
    subprocess.run(
        [sys.executable, "-m", "datagen", "run", str(tmp_path / "tilt.yaml")],
        env={**os.environ, "PYTHONPATH": path},
        check=True,
    )
    rows = list(read_rows(tmp_path / "run" / "data"))
    angles = []
    for row in rows:
        (draw,) = json.loads(row.recipe)
        assert draw["parameter"] == "table_tilt.angle"
        assert (draw["randomizer"], draw["target"]) == ("table_tilt", "/World/table")
        tangent = math.tan(math.radians(draw["value"]))
        angles.append(draw["value"])

        pose = {each.name: each.T_world_object for each in row.objects}
        np.testing.assert_allclose(pose["table"], turned(draw["value"], [0, 0, 0.5]), atol=1e-9)
        np.testing.assert_allclose(pose["cube"], turned(draw["value"], [0.2, 0.3, 0.55]), atol=1e-9)

        assert row.depth is not None and row.instance is not None
        table = next(each.instance for each in row.objects if each.name == "table")
        # The top is the plane z = tan(angle) y; a ray falls by 1 where it goes up by `slope`.
        v, _ = np.indices(row.depth.shape) + 0.5
        slope = (row.K[1, 2] - v) / row.K[1, 1]
        expected = HEIGHT / (1 + tangent * slope)
        shown = row.instance == table
        assert shown.mean() > 0.8
        np.testing.assert_allclose(row.depth[shown], expected[shown], rtol=1e-5)
    assert len(set(angles)) == len(rows) == 3
    assert all(0 < abs(angle) < 10 for angle in angles)


def turned(degrees: float, place: list[float]) -> np.ndarray:
    """Pose of a thing at a place [m], turned about the x axis through the table's origin."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    x, y, z = place
    return np.array(
        [
            [1, 0, 0, x],
            [0, c, -s, c * y - s * (z - 0.5)],
            [0, s, c, s * y + c * (z - 0.5) + 0.5],
            [0, 0, 0, 1],
        ]
    )


def test_a_recipe_is_replayed_to_the_same_bytes(package: Package, tmp_path: Path) -> None:
    package()
    (tmp_path / "room.xml").write_text(SCENE)
    scene = convert_mjcf(tmp_path / "room.xml", tmp_path / "room")
    data = config(tmp_path, {"table_tilt": {"targets": ["table"], "angle": 7}})
    sample, again = (SampleLayer(scene, scene.info.default_state) for _ in range(2))
    section = RunConfig.from_data(data).randomize
    outcome = randomize(sample, section, SampleId("room", 0, 0), 1)
    replay(again, parse_recipe(recipe_json(outcome.recipe)))
    assert again.layer.ExportToString() == sample.layer.ExportToString()
    assert "table_tilt" in kinds()
    assert plugin_versions([*section, CameraPose(fovy=1.1)]) == {"table-tilt": "1.2.0"}


def test_settings_are_part_of_the_config_and_read_back(package: Package, tmp_path: Path) -> None:
    package()
    data = config(tmp_path, {"desk": {"type": "table_tilt", "angle": {"uniform": [-1, 1]}}})
    read = RunConfig.from_data(data)
    dumped = read.model_dump(mode="json")
    assert dumped["randomize"] == [
        {
            "type": "table_tilt",
            "name": "desk",
            "scope": "frame",
            "targets": ["*"],
            "missing": "refuse",
            "angle": {"uniform": [-1.0, 1.0]},
        }
    ]
    assert json.loads(read.model_dump_json()) == dumped
    assert RunConfig.from_data(dumped) == read


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (
            {"table_tilt": {"angel": 3}},
            "x.yaml: randomize.table_tilt.angel: not a known key. Known: type, name, scope, "
            "targets, missing, angle. Did you mean 'angle'?",
        ),
        (
            {"table_tilt": {"angle": [1, 2]}},
            "x.yaml: randomize.table_tilt.angle: [1, 2] should draw a number, draws 2 components.",
        ),
        ({"table_tilt": {}}, "draws nothing: set one of angle."),
        (
            {"table_tilt": {"angle": 1, "scope": "view"}},
            "x.yaml: randomize.table_tilt.scope: 'view' should be one of run, scene, episode",
        ),
        (
            {"table_tlit": {"angle": 1}},
            "x.yaml: randomize.table_tlit.type: 'table_tlit' is not known. Known: camera_pose, "
            "light, object_pose, table_tilt. Did you mean 'table_tilt'?",
        ),
        (
            [{"angle": 1}],
            "x.yaml: randomize.0.type: this setting is required. Known: camera_pose, light, "
            "object_pose, table_tilt.",
        ),
    ],
)
def test_wrong_settings_are_told_as_those_of_a_built_in_kind(
    package: Package, tmp_path: Path, section: object, message: str
) -> None:
    package()
    assert message in problem(tmp_path, section)


@pytest.mark.parametrize(
    ("code", "value", "message"),
    [
        ("import gone_for_good", "other:Tilt", "ModuleNotFoundError: No module named 'gone_for_go"),
        ("def broken(", "other:Tilt", "cannot be loaded: SyntaxError: "),
        ("", "other:Tilt", "cannot be loaded: AttributeError: "),
        ("Tilt = 3", "other:Tilt", "is no randomizer: it should be a class derived from "),
        (
            "from randomizers import Randomizer\n"
            "class Tilt(Randomizer, frozen=True):\n    type: str = 'tilt'",
            "other:Tilt",
            "is no randomizer: its class leaves out candidates, draw, meaning.",
        ),
        (
            "from randomizers import Light\nclass Tilt(Light, frozen=True):\n    pass",
            "other:Tilt",
            'is no randomizer: it should have the field `type: Literal["tilt"] = "tilt"`',
        ),
    ],
)
def test_an_entry_that_gives_no_randomizer_is_refused_in_one_sentence(
    package: Package, tmp_path: Path, code: str, value: str, message: str
) -> None:
    package(code, entry("tilt", value))
    told = problem(tmp_path, {"tilt": {"angle": 1}})
    assert told.startswith("x.yaml: randomize.tilt: 'tilt': other:Tilt of other ")
    assert message in told and "\n" not in told
    with pytest.raises(RandomizerError, match=r"^recipe: 'tilt': other:Tilt of other "):
        replay_one(tmp_path, "tilt")


def test_a_recipe_of_an_unknown_kind_is_refused(package: Package, tmp_path: Path) -> None:
    package()
    with pytest.raises(RandomizerError, match=r"^recipe: 'table_tilr' is not a randomizer\. Known"):
        replay_one(tmp_path, "table_tilr")


def replay_one(folder: Path, kind: str) -> None:
    (folder / "room.xml").write_text(SCENE)
    scene = convert_mjcf(folder / "room.xml", folder / "room")
    draw = {"attempt": 0, "parameter": f"{kind}.angle", "randomizer": kind, "scope": "frame"}
    text = json.dumps([{**draw, "target": "/World/table", "value": 3}])
    replay(SampleLayer(scene, scene.info.default_state), parse_recipe(text))


def test_a_kind_of_two_packages_is_refused(package: Package, tmp_path: Path) -> None:
    package()
    package("", entry("table_tilt", "other:Tilt"))
    told = problem(tmp_path, {"table_tilt": {"angle": 1}})
    assert "'table_tilt' is given by more than one package, other and table-tilt" in told


def test_a_package_is_imported_only_when_its_kind_is_named(
    package: Package, tmp_path: Path
) -> None:
    package("raise SystemError('imported')", entry("tilt", "other:Tilt"))
    RunConfig.from_data(config(tmp_path, {"light": {"intensity": 1.1}}))
    assert "tilt" in kinds()
    assert "Known: " in problem(tmp_path, {"light": {"intensty": 1.1}})
    assert randomizer_class("camera_pose") is CameraPose
    assert "SystemError: imported" in problem(tmp_path, {"tilt": {}})


def test_a_built_in_kind_cannot_be_replaced(package: Package) -> None:
    package("Light = 3", entry("light", "other:Light"))
    assert randomizer_class("light").__module__ == "randomizers.kinds.light"
