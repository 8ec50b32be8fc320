"""Commands with a `MUJOCO_GL` that MuJoCo's own import fails over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CASE = json.loads(
    (Path(__file__).parent / "cases/g13-gl-variable-without-library/case.json").read_text()
)["expect"]["rule"]
SCENE = """<mujoco><worldbody><light pos="0 0 2"/><camera name="view" pos="0 0 2"/>
<geom size=".1"/></worldbody></mujoco>"""
RUN = """output: run
scenes: [{{mjcf: {{path: scene.xml}}}}]
cameras: [view]
size: [16, 16]
backends: [{backend}]
mitsuba: {{spp: 1, denoise: false}}
"""
WITHOUT_LIBRARY = """import ctypes, ctypes.util
ctypes.util.find_library = lambda name: None
opened = ctypes.CDLL.__init__
def refuse(self, name, *given, **named):
    if name and "OSMesa" in str(name):
        raise OSError(f"{name}: cannot open shared object file")
    opened(self, name, *given, **named)
ctypes.CDLL.__init__ = refuse
"""
"""Code that hides the system's libraries, since the machine of a test may have OSMesa."""


@pytest.fixture
def command(tmp_path: Path):
    (tmp_path / "scene.xml").write_text(SCENE)
    (tmp_path / "hide").mkdir()
    (tmp_path / "hide" / "sitecustomize.py").write_text(WITHOUT_LIBRARY)
    paths = [str(tmp_path / "hide"), str(Path(__file__).parent.parent)]

    def run(variable: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        given = {"MUJOCO_GL": variable, "PYTHONPATH": os.pathsep.join(paths)}
        kept = {k: v for k, v in os.environ.items() if k != "PYOPENGL_PLATFORM"}
        return subprocess.run(
            [sys.executable, "-m", "datagen", *arguments],
            cwd=tmp_path,
            env=kept | given | {"DATAGEN_CACHE": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize("variable", CASE["MUJOCO_GL"])
def test_only_mujocos_renderer_needs_its_opengl_library(command, variable, tmp_path) -> None:
    assert command(variable, "backends").returncode == 0
    done = command(variable, "convert", "scene.xml", "stage")
    assert (done.returncode, done.stderr) == (CASE["convert_exit"], "")
    (tmp_path / "run.yaml").write_text(RUN.format(backend="mitsuba"))
    done = command(variable, "run", "run.yaml")
    assert done.returncode == CASE["run_mitsuba_exit"], done.stderr

    (tmp_path / "run.yaml").write_text(RUN.format(backend="mujoco").replace("run", "drawn"))
    done = command(variable, "run", "run.yaml")
    sentence = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 4 and f"MUJOCO_GL={variable!r}" in sentence
    assert "Traceback" not in done.stderr
    if variable == "osmesa":
        assert "libosmesa6" in sentence
