"""Foreign files read in a process that may die."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import scenes
from datagen.cli import app
from scenes import AssetError, Converter, SceneError
from scenes.errors import StorageError
from scenes.sources.file_source import FileSource
from scenes.sources.limits import ConversionLimits
from scenes.sources.mjcf.config import MjcfConfig
from scenes.sources.mjcf.source import MjcfSource
from scenes.sources.usd.config import UsdConfig
from scenes.sources.usd.source import UsdSource
from scenes.storage.locks import held_lock, remove_idle_locks
from scenes.storage.temporary import remove_leftovers, temporary_folder

CASES = Path(__file__).parent / "cases"
GOOD = """<mujoco><worldbody><light pos="0 0 2"/><camera name="view" pos="0 0 2"/>
  <body name="box"><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"""


def model(folder: Path, body: str = "", name: str = "good") -> MjcfSource:
    file = folder / f"{name}.xml"
    file.write_text(GOOD.replace("</worldbody>", f"{body}</worldbody>"))
    return MjcfSource(MjcfConfig(path=file))


def damaged(name: str) -> UsdSource:
    return UsdSource(UsdConfig(path=CASES / name / "scene.usdc"))


def children() -> set[int]:
    """Processes below this one that convert."""
    found = set[int]()
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if b"scenes.sources.child" in words and parent == os.getpid():
            found.add(int(entry.name))
    return found


@pytest.mark.parametrize(
    ("source", "limits", "reason"),
    [
        (
            damaged("x02-crate-that-never-opens"),
            ConversionLimits(timeout=3.0),
            r"took longer than 3 s.*conversion\.timeout",
        ),
        (
            damaged("x02-crate-that-never-opens"),
            ConversionLimits(memory=0.5),
            r"took more than 0\.5 GiB.*conversion\.memory",
        ),
        (damaged("x03-crate-that-aborts"), ConversionLimits(), r"ended its process.*SIGABRT"),
    ],
)
def test_a_file_that_ends_or_fills_its_process_is_refused_and_the_next_one_is_converted(
    source: FileSource, limits: ConversionLimits, reason: str, tmp_path: Path
) -> None:
    with Converter(limits) as converter:
        with pytest.raises(AssetError, match=f"scene.usdc: .*{reason}"):
            converter.scene(source, tmp_path / "cache")
        scene = converter.scene(model(tmp_path), tmp_path / "cache")
        assert [each.name for each in scene.info.objects] == ["box"]
        assert len(children()) == 1
    assert not children()
    assert sorted(each.name[:5] for each in (tmp_path / "cache" / "scenes").iterdir()) == [
        ".lock", "good-",
    ]  # fmt: skip


def test_errors_come_through_with_their_class_their_words_and_their_trace(tmp_path: Path) -> None:
    source = model(tmp_path, '<geom type="mesh" mesh="none"/>')
    (tmp_path / "file").write_text("")
    with Converter(ConversionLimits()) as converter:
        with pytest.raises(AssetError, match=r"MuJoCo refuses this model.*none") as caught:
            converter.convert(source, tmp_path / "out")
        assert type(caught.value) is AssetError
        assert "compile_mjcf" in "".join(caught.value.__notes__)
        with pytest.raises(StorageError, match=r"cannot be written"):
            converter.convert(model(tmp_path), tmp_path / "file" / "out")
        with pytest.raises(SceneError, match=r"already exists"):
            converter.convert(model(tmp_path), tmp_path / "file")


def test_time_spent_waiting_for_another_process_does_not_count(tmp_path: Path) -> None:
    source, cache = model(tmp_path), tmp_path / "cache"
    with Converter(ConversionLimits()) as converter:
        folder = converter.scene(source, cache).folder
    for file in folder.iterdir():
        if file.is_file():
            file.unlink()
    lock = folder.parent / ".locks" / f"{folder.name}.lock"
    with held_lock(lock):
        freed = threading.Event()

        def convert() -> None:
            with Converter(ConversionLimits(timeout=2.0)) as converter:
                converter.scene(source, cache)
            freed.set()

        waiting = threading.Thread(target=convert)
        waiting.start()
        assert not freed.wait(5.0)
    waiting.join(60.0)
    assert freed.is_set() and not lock.exists()


@pytest.mark.parametrize("file", ["hfield.xml", "replicate.xml"])
def test_sizes_are_refused_before_memory_is_taken(file: str, tmp_path: Path) -> None:
    source = MjcfSource(MjcfConfig(path=CASES / "x01-sizes-before-memory" / file))
    words = {"hfield.xml": r"hfield 'h': nrow='100000', ncol='100000'.*at most 134217728",
             "replicate.xml": r"replicate: count='100000000'.*at most 200000"}  # fmt: skip
    with (
        Converter(ConversionLimits(timeout=5.0, memory=1.0)) as converter,
        pytest.raises(AssetError, match=f"{file}: {words[file]}"),
    ):
        converter.convert(source, tmp_path / "out")


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        ('<replicate count="1000"><replicate count="1000"><geom size=".1"/></replicate>'
         "</replicate>", r"replicate count='1000': .* elements.*at most 200000"),
        ('<composite type="cable" count="1000000 1 1" size="1"/>', r"composite: count='1000000 1"),
        ('<flexcomp name="f" type="grid" count="900 900 9"/>', r"flexcomp 'f': count='900 900 9'"),
    ],
)  # fmt: skip
def test_copies_within_copies_are_counted(element: str, reason: str, tmp_path: Path) -> None:
    with Converter(ConversionLimits(timeout=20.0, memory=1.0)) as converter:
        with pytest.raises(AssetError, match=reason):
            converter.convert(model(tmp_path, element), tmp_path / "out")
        few = '<replicate count="3" offset="0 0 .3"><geom size=".1"/></replicate>' * 2
        scene = converter.convert(model(tmp_path, few), tmp_path / "out")
    assert len(scene.info.parts) == 7


def test_bytes_that_are_no_text_are_refused_by_line_and_prim() -> None:
    file = CASES / "x05-bytes-that-are-no-text" / "scene.usda"
    done = CliRunner().invoke(app, ["convert", str(file), "nowhere"])
    assert done.exit_code == 3
    assert f"{file}: line 83, in the prim /World/cam: 'uni\\xff\\xfeform" in done.output
    assert len(done.output.splitlines()) == 1


def test_a_run_goes_on_without_the_scenes_that_end_their_process(tmp_path: Path) -> None:
    sources = [
        {"usd": {"path": str(CASES / "x03-crate-that-aborts" / "scene.usdc")}},
        {"mjcf": {"path": str(model(tmp_path).path)}},
        {"mjcf": {"path": str(CASES / "x01-sizes-before-memory" / "hfield.xml")}},
    ]
    config = {
        "output": str(tmp_path / "run"),
        "cache": str(tmp_path / "cache"),
        "scenes": sources,
        "cameras": ["view"],
        "size": [16, 16],
        "mitsuba": {"spp": 1, "denoise": False, "variant": "llvm"},
        "conversion": {"timeout": 60, "memory": 2},
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(config))
    done = CliRunner().invoke(app, ["run", str(tmp_path / "run.yaml")])
    assert done.exit_code == 3, done.output
    assert "scene.usdc: not readable: the USD library ended its process" in done.output
    plan = json.loads((tmp_path / "run" / "plan.json").read_text())
    assert "conversion" not in plan["config"]


def _started(arguments: list[str]) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(Path(scenes.__path__[0]).parent)}
    return subprocess.Popen(
        [sys.executable, "-m", "datagen", *arguments],
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )


def _until(there: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60.0
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_command_that_ends_while_its_child_hangs_leaves_no_process(
    number: signal.Signals, tmp_path: Path
) -> None:
    file = CASES / "x02-crate-that-never-opens" / "scene.usdc"
    command = _started(["convert", str(file), str(tmp_path / "out")])

    def busy() -> list[int]:
        found: list[int] = []
        for entry in Path("/proc").iterdir():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == command.pid and int(fields[11]) > 200:
                found.append(int(entry.name))
        return found

    _until(busy)
    (child,) = busy()
    command.send_signal(number)
    told = command.communicate(timeout=60)[1]
    _until(lambda: not Path(f"/proc/{child}").exists() or "Z" in _state(child))
    if number is signal.SIGINT:
        assert command.returncode == 130
        assert told.startswith("Interrupted") and len(told.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_a_message_is_one_line_of_letters() -> None:
    error = AssetError("a\nb.usd\x1b[31m: \udcff\u202e caf\u00e9 \u684c")
    assert str(error) == r"a\nb.usd\x1b[31m: \udcff\u202e café 桌"
    assert str(SceneError("one", "two")) == "one\ntwo"


def test_leftovers_of_processes_that_ended_go_and_others_stay(tmp_path: Path) -> None:
    own = temporary_folder(tmp_path)
    ended = subprocess.run([sys.executable, "-c", ""], check=True)
    assert ended.returncode == 0
    gone = Path(str(own).replace(f"-{os.getpid()}-", "-999999999-"))
    gone.mkdir()
    (gone / "base.usdc").write_text("half")
    remove_leftovers(tmp_path)
    assert own.exists() and not gone.exists()
    (tmp_path / "idle.lock").write_text("")
    with held_lock(tmp_path / "held.lock"):
        remove_idle_locks(tmp_path)
        assert (tmp_path / "held.lock").exists() and not (tmp_path / "idle.lock").exists()
    assert not (tmp_path / "held.lock").exists()


LONG = "o" * 300


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"scenes": [{"mjcf": {"path": f"{LONG}.xml"}}]}, 2),
        ({"scenes": [{"usd": {"path": f"{LONG}.usda"}}]}, 2),
        ({"scenes": [{"mjcf": {"path": "good.xml", "roots": [LONG]}}]}, 3),
        ({"scenes": [{"urdf": {"path": "r.urdf", "packages": {"p": LONG}}}]}, 3),
        ({"output": LONG}, 4),
        ({"cache": LONG}, 4),
    ],
)
def test_a_file_name_that_is_too_long_is_one_sentence(
    change: dict[str, object], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model(tmp_path)
    mesh = f'<geometry><mesh filename="package://p/{LONG}.stl"/></geometry>'
    Path("r.urdf").write_text(
        f'<robot name="r"><link name="l"><visual>{mesh}</visual></link></robot>'
    )
    config = {
        "output": "run",
        "cache": "cache",
        "scenes": [{"mjcf": {"path": "good.xml"}}],
        "cameras": ["view"],
        "mitsuba": {"variant": "scalar"},
    }
    Path("run.yaml").write_text(yaml.safe_dump(config | change))
    done = CliRunner().invoke(app, ["run", "run.yaml"])
    assert done.exit_code == code
    sentence = done.output.splitlines()[-1]
    assert LONG in sentence and "name too long" in sentence and "Unexpected" not in done.output


@pytest.mark.parametrize("command", ["convert", "inspect", "run", "audit"])
def test_a_command_line_with_a_name_that_is_too_long_is_told_of_it(
    command: str, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    arguments = {"convert": [f"{LONG}.usda", out], "audit": ["--run", LONG]}
    done = CliRunner().invoke(app, [command, *arguments.get(command, [LONG])])
    assert done.exit_code in (2, 3, 4)
    assert LONG in done.output and "name too long" in done.output
    assert "Unexpected" not in done.output


def test_elements_with_names_of_three_hundred_letters_are_converted(tmp_path: Path) -> None:
    named = GOOD.replace('name="box"', f'name="{LONG}"').replace('name="view"', f'name="{LONG}"')
    key = f'<keyframe><key name="{LONG}" qpos=".25"/></keyframe></mujoco>'
    named = named.replace('<geom type="box"', f'<joint name="{LONG}"/><geom type="box"')
    (tmp_path / "long.xml").write_text(named.replace("</mujoco>", key))
    source = MjcfSource(MjcfConfig(path=tmp_path / "long.xml", keyframe=LONG))
    with Converter(ConversionLimits()) as converter:
        scene = converter.scene(source, tmp_path / "cache")
    assert [each.name for each in (*scene.info.objects, *scene.info.cameras)] == [LONG, LONG]
    assert scene.state(LONG).qpos.tolist() == [0.25]
