"""`datagen convert`: one file of any kind as a scene folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from datagen.errors import ConfigError
from scenes import Converter
from scenes.convert.settings import Collision, MaterialRule
from scenes.sources.kinds import source_kind
from scenes.sources.limits import ConversionLimits
from scenes.sources.source import Source

_OPTIONS = {
    "roots": "--root",
    "packages": "--package",
    "keyframe": "--keyframe",
    "tessellation": "--tessellation",
    "up_axis": "--up-axis",
    "meters_per_unit": "--meters-per-unit",
    "collision": "--collision",
    "materials": "--materials",
}
_FOR_ALL = {"collision": "boxes", "materials": "physical"}
"""Options with a value of their own, which kinds without such a setting need not take."""


def refuse_foreign_options(kind: type[Source], given: Iterable[str]) -> None:
    """Refuse options that are no settings of a kind of source.

    Args:
        kind: The kind.
        given: Options that were given, as settings are called.

    Raises:
        ConfigError: Names the option and the kind.
    """
    for name in given:
        if name not in kind.settings_model.model_fields:
            raise ConfigError(f"{_OPTIONS[name]}: has no meaning for {kind.title}.")


def convert_file(
    scene: Path,
    out: Path,
    roots: Iterable[Path],
    packages: Iterable[str],
    collision: Collision,
    materials: MaterialRule,
    options: Mapping[str, object],
    limits: ConversionLimits,
) -> list[str]:
    """Convert a file and tell what became of it, line by line.

    Args:
        scene: MJCF, URDF or USD file.
        out: Folder to make.
        roots: Folders it may read from beside its own.
        packages: Folders of packages, each as `NAME=FOLDER`.
        collision: What stands for what collides.
        materials: What MuJoCo's highlights become.
        options: `tessellation`, `up_axis` and `meters_per_unit`, None where not given.
        limits: What it may take.

    Raises:
        ConfigError: The folder exists, or an option does not fit.
        scenes.SceneError: The file is refused.
    """
    try:
        there = out.exists()
    except OSError as error:
        raise ConfigError(f"{out}: cannot be made: {error.strerror}.") from error
    if there:
        raise ConfigError(f"{out}: already exists; name a folder that does not.")
    kind = source_kind(scene)
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if folders := package_folders(packages):
        given["packages"] = folders
    if folders := tuple(roots):
        given["roots"] = folders
    given |= {
        name: value
        for name, value in {"collision": collision, "materials": materials}.items()
        if name in kind.settings_model.model_fields or value != _FOR_ALL[name]
    }
    refuse_foreign_options(kind, given)
    try:
        settings: Any = kind.settings_model.model_validate({"path": scene, **given})
    except ValidationError as error:
        problem = error.errors()[0]
        option = _OPTIONS.get(str(problem["loc"][0]), str(problem["loc"][0]))
        raise ConfigError(f"{option}: {problem['input']!r}: {problem['msg']}.") from error
    with Converter(limits) as converter:
        converter.convert(kind(settings), out)
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    counts = ", ".join(f"{count} {name}" for name, count in report["counts_out"].items())
    return [
        f"{out / 'scene.usda'}: {counts}",
        *(
            f"{title.replace('_', ' ')}: {line}"
            for title in ("approximated", "left_out", "caveats")
            for line in report[title]
        ),
    ]


def package_folders(packages: Iterable[str]) -> dict[str, Path]:
    """Folders of packages by name.

    Args:
        packages: Each as `NAME=FOLDER`, as given to `--package`.

    Raises:
        ConfigError: One is not like that.
    """
    folders: dict[str, Path] = {}
    for package in packages:
        name, equals, folder = package.partition("=")
        if not (name and equals and folder):
            raise ConfigError(f"--package: {package!r}: should be NAME=FOLDER.")
        folders[name] = Path(folder)
    return folders
