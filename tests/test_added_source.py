"""A source of another package, as the documentation adds one: one module and one entry point."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from scenes import Scene
from writers import read_rows

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "add_a_source.md"
HEADING = '[project.entry-points."datagen.sources"]'


def fenced(kind: str) -> str:
    found = re.search(rf"```{kind}\n(.*?)```", DOCUMENT.read_text(), re.S)
    assert found is not None
    return found.group(1)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Folder of the installed package."""
    folder = tmp_path / "installed"
    information = folder / "stack-1.0.dist-info"
    information.mkdir(parents=True)
    (folder / "stack.py").write_text(fenced("python"))
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: stack\nVersion: 1.0\n")
    points = fenced("toml").replace(HEADING, "[datagen.sources]").replace('"', "")
    (information / "entry_points.txt").write_text(points)
    (tmp_path / "tower.stack").write_text("[0.5, 0.25]")
    return folder


def datagen(package: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "datagen", *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(package), str(ROOT)])},
        cwd=package.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def config(package: Path, **changes: object) -> str:
    settings = {
        "output": "run",
        "cache": str(package.parent / "cache"),
        **yaml.safe_load(fenced("yaml")),
        "cameras": ["top"],
        "size": [32, 32],
        "mitsuba": {"spp": 1, "denoise": False, "variant": "llvm"},
    }
    (package.parent / "config.yaml").write_text(yaml.safe_dump(settings | changes))
    return "config.yaml"


def test_a_run_is_planned_and_made_from_it(package: Path) -> None:
    done = datagen(package, "run", config(package))
    assert done.returncode == 0, done.stderr
    (row,) = read_rows(package.parent / "run" / "data")
    assert (row.scene_id, row.camera) == ("tower", "top")
    assert [each.name for each in row.objects] == ["box_0", "box_1"]
    assert row.depth is not None
    # The camera looks down on the upper box from 3 m.
    assert row.depth[16, 16] == pytest.approx(3 - 0.75, rel=1e-5)
    plan = json.loads((package.parent / "run" / "plan.json").read_text())
    assert plan["plan"]["scenes"][0]["states"] == [["rest", None]]
    assert plan["config"]["scenes"][0]["stack"] == {"path": "../tower.stack", "side": 0.3}
    manifest = json.loads((package.parent / "run" / "manifest.json").read_text())
    assert manifest["versions"]["stack"] == "1.0"
    again = datagen(package, "run", config(package))
    assert again.returncode == 0, again.stderr
    metadata = package / "stack-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("1.0", "1.1"))
    other = datagen(package, "run", config(package))
    assert other.returncode == 2
    assert """'versions.stack' is "1.0" there and "1.1" here.""" in other.stderr.splitlines()[-1]


def test_its_file_is_converted_and_listed(package: Path) -> None:
    done = datagen(package, "convert", "tower.stack", "out")
    assert done.returncode == 0, done.stderr
    scene = Scene.open(package.parent / "out")
    assert [each.name for each in scene.info.objects] == ["box_0", "box_1"]
    refused = datagen(package, "convert", "tower.stack", "other", "--up-axis", "Y")
    assert (refused.returncode, refused.stderr) == (
        2, "--up-axis: has no meaning for Stack.\n",
    )  # fmt: skip


def test_what_is_wrong_is_told_in_one_sentence(package: Path) -> None:
    wrong = [{"stack": {"path": "tower.stack", "sides": 1}}]
    done = datagen(package, "run", config(package, scenes=wrong))
    assert "scenes.0.stack.sides: not a known key. Known: path, side." in done.stderr
    gone = [{"stack": {"path": "gone.stack"}}]
    done = datagen(package, "run", config(package, scenes=gone))
    assert "scenes.0.stack.path: 'gone.stack' does not exist" in done.stderr
    done = datagen(package, "run", config(package, scenes=[{"name": "x"}]))
    assert "a source is exactly one of: libero, mjcf, urdf, usd, stack" in done.stderr
    (package.parent / "tower.stack").write_text("{")
    done = datagen(package, "run", config(package))
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        3, "tower.stack: should be a list of heights.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("StackError('tower.stack: leans.')", "tower.stack: leans."),
        ("SettingError('side', '0.3 is too thin.')", "side: 0.3 is too thin."),
    ],
)
def test_an_error_of_its_own_is_told_as_it_is(package: Path, error: str, told: str) -> None:
    module = package / "stack.py"
    text = module.read_text()
    own = "from scenes.errors import SettingError\nclass StackError(AssetError):\n    pass\n"
    head, read, body = text.partition("    def read(self):\n")
    head = head.replace("@dataclass", f"{own}@dataclass", 1)
    module.write_text(f"{head}{read}        raise {error}\n{body}")
    done = datagen(package, "convert", "tower.stack", "out")
    assert (done.returncode, done.stderr) == (3, f"{told}\n")
    assert not (package.parent / "out").exists()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import gone_for_good\n", "stack:StackSource cannot be loaded: ModuleNotFoundError: "),
        ("StackSource = 3\n", "stack:StackSource is no source: it should be a class derived from"),
        (
            "from scenes.sources.source import Source as StackSource\n",
            "stack:StackSource is no source: its class leaves out name, open, plan.",
        ),
        (
            "from scenes.sources.usd.source import UsdSource as StackSource\n",
            "stack:StackSource is no source: its `kind` should be 'stack', a plain word.",
        ),
        (
            "from scenes.sources.usd.source import UsdSource\n"
            "class StackSource(UsdSource):\n    kind = 'stack'\n",
            "stack:StackSource: '.usd' is of another kind already.",
        ),
    ],
)
def test_an_entry_that_gives_no_source_is_refused(package: Path, code: str, message: str) -> None:
    (package / "stack.py").write_text(code)
    done = datagen(package, "run", config(package))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"entry point stack of datagen.sources: {message}" in done.stderr
