from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from datagen.commands.errors import describe
from datagen.errors import ConfigError, DatagenError

ROOT = Path(__file__).parent.parent
SMALL = "output: {out}\nscenes:\n  - mjcf: {{path: configs/mjcf/desk.xml}}\ncameras: [front]\n"


def datagen(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from datagen.cli import main; main()", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def small_config(folder: Path, extra: str = "") -> Path:
    path = folder / "small.yaml"
    path.write_text(SMALL.format(out=folder / "out") + extra)
    return path


@pytest.mark.parametrize("arguments", [[], ["run"], ["scenes"], ["convert"], ["inspect"]])
def test_help_loads_no_heavy_library(arguments: list[str]) -> None:
    code = (
        "import sys, json\n"
        "from datagen.cli import app\n"
        f"app({[*arguments, '--help']!r}, standalone_mode=False)\n"
        "print('MODULES', json.dumps(sorted({name.split('.')[0] for name in sys.modules})))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "COLUMNS": "100"},
    )
    loaded = set(json.loads(done.stdout.rpartition("MODULES ")[2]))
    heavy = {"pxr", "mitsuba", "drjit", "mujoco", "numpy", "dask", "distributed", "pyarrow"}
    heavy |= {"yaml", "scenes", "randomizers", "writers", "jinja2", "PIL", "trimesh"}
    # Typer itself loads pydantic for the options of a command.
    heavy |= set() if arguments else {"pydantic"}
    assert not loaded & heavy
    assert "Usage:" in done.stdout


def test_help_names_every_command() -> None:
    text = datagen("--help").stdout
    for command in ("run", "scenes", "convert", "inspect", "version"):
        assert re.search(rf"^  {command} ", text, re.MULTILINE)


@pytest.mark.parametrize(
    "arguments",
    [
        ["rnu"],
        ["run"],
        ["run", "x.yaml", "--limit", "many"],
        ["run", "x.yaml", "--nothing"],
        ["convert", "a.xml"],
    ],
)
def test_wrong_command_line_ends_with_2(arguments: list[str]) -> None:
    done = datagen(*arguments)
    assert done.returncode == 2
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_config_is_one_sentence_and_2(tmp_path: Path) -> None:
    path = tmp_path / "gone.yaml"
    done = datagen("run", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{path}: there is no such file.\n"


def test_wrong_config_fails_before_any_work(tmp_path: Path) -> None:
    path = small_config(tmp_path, "sede: 3\n")
    done = datagen("run", str(path))
    assert done.returncode == 2
    assert done.stderr.startswith(f"{path}: sede: not a known key. Known: seed, ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_wrong_override_and_wrong_option_are_told_by_their_key(tmp_path: Path) -> None:
    path = small_config(tmp_path)
    done = datagen("run", str(path), "--set", "mitsuba.spp=3", "--workers", "0")
    assert done.returncode == 2
    assert "--set mitsuba.spp=3: mitsuba.spp: 3 should be one of 1, 4, 16" in done.stderr
    assert "--workers 0: workers: 0 should be greater than or equal to 1." in done.stderr
    assert str(path) not in done.stderr


def test_traceback_is_shown_only_when_asked_for(tmp_path: Path) -> None:
    path = small_config(tmp_path, "sede: 3\n")
    done = datagen("--traceback", "run", str(path))
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"{path}: sede: not a known key.")


def test_version_names_what_decides_the_pictures() -> None:
    done = datagen("version")
    assert done.returncode == 0
    assert done.stdout.startswith("datagen ")
    assert re.search(r"^mujoco \d+\.", done.stdout, re.MULTILINE)
    assert re.search(r"^mitsuba \d+\.", done.stdout, re.MULTILINE)


def test_convert_makes_a_stage_and_tells_what_became_of_everything(tmp_path: Path) -> None:
    out = tmp_path / "desk"
    done = datagen("convert", "configs/mjcf/desk.xml", str(out))
    assert (done.returncode, done.stderr) == (0, "")
    first = done.stdout.splitlines()[0]
    assert first.startswith(f"{out / 'scene.usda'}: 4 bodies, 9 drawn geoms, ")
    assert (out / "scene.usda").is_file()
    assert "approximated: lights: " in done.stdout
    again = datagen("convert", "configs/mjcf/desk.xml", str(out))
    assert again.returncode == 2
    assert again.stderr == f"{out}: already exists; name a folder that does not.\n"


def test_convert_refuses_a_model_with_3_and_leaves_nothing(tmp_path: Path) -> None:
    model = tmp_path / "cup.xml"
    model.write_text('<mujoco><asset><mesh name="cup" file="gone.obj"/></asset></mujoco>')
    done = datagen("convert", str(model), str(tmp_path / "out"))
    assert done.returncode == 3
    assert "gone.obj" in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["cup.xml"]


@pytest.mark.libero
def test_scenes_lists_suites_and_tasks_with_their_language() -> None:
    suites = datagen("scenes")
    assert suites.returncode == 0
    assert re.search(r"^libero_90 +90 tasks$", suites.stdout, re.MULTILINE)
    tasks = datagen("scenes", "libero_spatial")
    assert len(tasks.stdout.splitlines()) == 10
    assert "pick up the black bowl" in tasks.stdout


@pytest.mark.libero
def test_unknown_suite_is_told_with_the_nearest(tmp_path: Path) -> None:
    done = datagen("scenes", "libero_spacial")
    assert done.returncode == 2
    assert "Did you mean 'libero_spatial'?" in done.stderr


def test_every_package_error_has_its_exit_code() -> None:
    from datagen.backends.errors import BackendError
    from randomizers import RandomizerError
    from scenes import AssetError, MissingExtraError, SceneError
    from writers import PlanError, ReadError, WriteError

    expected = [
        (ConfigError, 2),
        (DatagenError, 4),
        (SceneError, 3),
        (AssetError, 3),
        (MissingExtraError, 2),
        (PlanError, 2),
        (WriteError, 4),
        (ReadError, 4),
        (BackendError, 4),
        (RandomizerError, 2),
    ]
    assert [(kind, *describe(kind("Said so."))) for kind, _ in expected] == [
        (kind, "Said so.", code) for kind, code in expected
    ]


def test_unexpected_error_is_one_sentence_with_a_hint() -> None:
    sentence, code = describe(ZeroDivisionError("division\nby zero"))
    assert code == 4
    assert sentence.startswith("Unexpected error: ZeroDivisionError: division by zero")
    assert "--traceback" in sentence
    assert "\n" not in sentence


def test_interrupt_says_how_to_go_on() -> None:
    sentence, code = describe(KeyboardInterrupt())
    assert code == 130
    assert "same command" in sentence


@pytest.mark.parametrize(
    ("failure", "code", "sentence"),
    [
        ("scenes.errors.AssetError('cup.obj: vertex 3 is not finite.')", 3, "cup.obj: vertex 3"),
        ("writers.errors.WriteError('out: not writable.')", 4, "out: not writable."),
        ("KeyError('bowl')", 4, "Unexpected error: KeyError: 'bowl'"),
        ("KeyboardInterrupt()", 130, "Interrupted; what is finished is kept."),
    ],
)
def test_failing_run_ends_with_one_sentence_and_its_code(
    tmp_path: Path, failure: str, code: int, sentence: str
) -> None:
    program = (
        "import sys, types, scenes.errors, writers.errors\n"
        f"def run(config, progress): raise {failure}\n"
        "pipeline = types.ModuleType('datagen.run.pipeline')\n"
        "pipeline.run = run\n"
        "sys.modules['datagen.run.pipeline'] = pipeline\n"
        "from datagen.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "run", str(small_config(tmp_path))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1
