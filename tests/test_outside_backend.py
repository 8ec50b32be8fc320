"""A backend of another package, as the documentation adds one: one module and one entry point."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from writers import read_manifest, read_plan, read_rows

ROOT = Path(__file__).resolve().parent.parent
SCENE = """<mujoco><worldbody>
  <light name="lamp" pos="0 0 2" dir="0 0 -1"/>
  <geom name="floor" type="plane" size="1 1 .1"/>
  <camera name="top" pos="0 0 2"/>
</worldbody></mujoco>"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Folder of the installed package."""
    text = (ROOT / "docs" / "add_a_backend.md").read_text()
    code, entry = (re.search(rf"```{kind}\n(.*?)```", text, re.S) for kind in ("python", "toml"))
    assert code is not None and entry is not None
    folder = tmp_path / "installed"
    information = folder / "flat-1.0.dist-info"
    information.mkdir(parents=True)
    (folder / "flat.py").write_text(code.group(1))
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: flat\nVersion: 1.0\n")
    points = entry.group(1).replace('[project.entry-points."datagen.backends"]', "")
    (information / "entry_points.txt").write_text(
        f"[datagen.backends]\n{points.replace(chr(34), '')}"
    )
    return folder


def datagen(package: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(package), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-m", "datagen", *arguments],
        env=os.environ | {"PYTHONPATH": paths},
        cwd=package.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def config(package: Path, **changes: object) -> str:
    folder = package.parent
    (folder / "scene.xml").write_text(SCENE)
    settings = {
        "output": str(folder / "run"),
        "cache": str(folder / "cache"),
        "scenes": [{"mjcf": {"path": str(folder / "scene.xml")}}],
        "cameras": ["top"],
        "size": [16, 12],
        "backends": ["flat"],
        "flat": {"grey": 77},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(settings | changes))
    return str(folder / "config.yaml")


def test_a_run_renders_with_it_and_its_own_settings(package: Path) -> None:
    done = datagen(package, "run", config(package))
    assert done.returncode == 0, done.stderr
    (row,) = read_rows(package.parent / "run" / "data")
    assert (row.backend, row.rgb is not None and row.rgb.shape) == ("flat", (12, 16, 3))
    assert (row.rgb == 77).all()
    manifest = read_manifest(package.parent / "run")
    assert manifest.backends["flat"] == {"flat": "1", "grey": "77", "shade": "even"}
    plan = json.dumps(read_plan(package.parent / "run"))
    assert '"flat shade": "even"' in plan


def test_it_is_listed_and_its_settings_are_checked(package: Path) -> None:
    listed = datagen(package, "backends")
    assert re.search(r"^pass +mitsuba +mujoco +newton +flat$", listed.stdout, re.M), listed.stderr
    assert re.search(r"^installed .*yes$", listed.stdout, re.M)
    wrong = datagen(package, "run", config(package, flat={"gray": 1}))
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "flat.gray: not a known key. Known: grey. Did you mean 'grey'?" in wrong.stderr
    wrong = datagen(package, "run", config(package, backends=["flut"]))
    assert "Known: mitsuba, mujoco, newton, flat. Did you mean 'flat'?" in wrong.stderr


def test_one_that_cannot_be_loaded_is_named(package: Path) -> None:
    (package / "flat.py").write_text("import a_library_that_is_not_there\n")
    done = datagen(package, "backends")
    assert (done.returncode, done.stderr.count("\n")) == (4, 1)
    assert "entry point flat of datagen.backends: flat:FLAT cannot be loaded" in done.stderr
