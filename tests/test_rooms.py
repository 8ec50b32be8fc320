"""No arrow up and no circle between rooms; and none of a room's matters is done elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("scenes", "randomizers", "datagen", "writers")
FLOORS = (
    "scenes.errors scenes.finite scenes.mujoco_import scenes.mujoco_warnings scenes.storage",
    "scenes.stage",
    "scenes.convert",
    "scenes.sources",
    "scenes",
    "randomizers",
    "datagen",
)
"""Rooms from the ground up: each may use what is below it and itself."""
LINES_MAX = 310
FILES_MAX = 17


def modules() -> dict[str, Path]:
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }


MODULES = modules()


def imported(name: str) -> Iterator[str]:
    """Modules of this project that a module imports, wherever the import stands."""
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def floor(module: str) -> int:
    """Floor of a module: that of the longest room name it begins with."""
    found = [
        (len(room), number)
        for number, rooms in enumerate(FLOORS)
        for room in rooms.split()
        if module == room or module.startswith(f"{room}.")
    ]
    return max(found)[1]


@pytest.mark.parametrize("name", sorted(MODULES))
def test_no_module_uses_what_stands_above_it(name: str) -> None:
    own = [each for each in imported(name) if each.partition(".")[0] in PACKAGES]
    if name.partition(".")[0] == "writers":
        assert [each for each in own if each.partition(".")[0] != "writers"] == []
        return
    own = [each for each in own if each.partition(".")[0] != "writers"]
    assert [each for each in own if floor(each) > floor(name)] == []


def test_modules_import_each_other_in_no_circle() -> None:
    edges = {
        name: {each for each in top_level(name) if each in MODULES and each != name}
        for name in MODULES
    }
    done: set[str] = set()
    while left := edges.keys() - done:
        free = {name for name in left if edges[name] <= done}
        assert free, f"a circle among {sorted(left)}"
        done |= free


def top_level(name: str) -> Iterator[str]:
    """Modules that are imported when a module is; a public face counts as itself."""
    for node in ast.parse(MODULES[name].read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else node.module


def test_rooms_and_modules_stay_small() -> None:
    folders: dict[Path, int] = {}
    for path in MODULES.values():
        folders[path.parent] = folders.get(path.parent, 0) + 1
    assert {str(f.relative_to(ROOT)): n for f, n in folders.items() if n > FILES_MAX} == {}
    lengths = {name: len(path.read_text().splitlines()) for name, path in MODULES.items()}
    assert {name: count for name, count in lengths.items() if count > LINES_MAX} == {}


def test_lights_and_looks_are_opened_in_scenes_alone() -> None:
    """All others read them through `scenes.stage`, and take the names of attributes from there."""
    opened = re.compile(r"UsdShade|UsdLux|ComputeBoundMaterial|(?<!\s)datagen:")
    paths = [path for name, path in MODULES.items() if name.partition(".")[0] != "scenes"]
    found = {
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in (*paths, *(ROOT / "bench").glob("*.py"))
        for match in opened.finditer(path.read_text())
    }
    assert found == set()


def compared(name: str, words: set[str]) -> list[str]:
    """Where a module compares something with one of some words."""
    return [
        f"{name}:{node.lineno}"
        for node in ast.walk(ast.parse(MODULES[name].read_text()))
        if isinstance(node, ast.Compare)
        and any(each.value in words for each in ast.walk(node) if isinstance(each, ast.Constant))
    ]


def test_backends_are_named_by_the_registry_alone() -> None:
    """Outside a backend's own folder no code asks which backend it is."""
    words = {"mitsuba", "mujoco", "newton"}
    outside = [
        name
        for name in MODULES
        if name.startswith("datagen") and not name.startswith("datagen.backends.")
    ]
    assert [place for name in outside for place in compared(name, words)] == []


def test_no_code_asks_which_kind_a_source_is() -> None:
    words = {"libero", "mjcf", "urdf", "usd"}
    assert [place for name in MODULES for place in compared(name, words)] == []


def test_only_the_registry_and_the_public_face_know_the_sources() -> None:
    """Outside a kind's own folder a run and a conversion take every source by its protocol."""
    sources = {f"scenes.sources.{kind}.source" for kind in ("libero", "mjcf", "urdf", "usd")}
    users = {name for name in MODULES if sources & set(imported_modules(name))}
    assert users <= {"scenes", "scenes.sources.registry", "datagen.commands.scenes"}


def imported_modules(name: str) -> Iterator[str]:
    """Modules of this project that a module imports from, wherever the import stands."""
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
