"""`datagen convert`: one file of any kind as a scene folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from datagen.errors import ConfigError
from scenes import Converter
from scenes.sources.config import (
    Collision,
    ConversionLimits,
    MaterialRule,
    MjcfSource,
    UrdfSource,
    UsdSource,
)
from scenes.sources.files.kinds import source_kind

_OPTIONS = {
    "packages": "--package",
    "tessellation": "--tessellation",
    "up_axis": "--up-axis",
    "meters_per_unit": "--meters-per-unit",
}
_SOURCES = {"mjcf": MjcfSource, "urdf": UrdfSource, "usd": UsdSource}
_OF_KIND = {
    "mjcf": ("tessellation",),
    "urdf": ("packages", "tessellation"),
    "usd": ("up_axis", "meters_per_unit"),
}


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
    given = {name: value for name, value in options.items() if value is not None}
    if folders := package_folders(packages):
        given["packages"] = folders
    for name in given:
        if name not in _OF_KIND[kind]:
            raise ConfigError(f"{_OPTIONS[name]}: has no meaning for {kind.upper()}.")
    settings: dict[str, Any] = {
        "path": scene,
        "roots": tuple(roots),
        "collision": collision,
        "materials": materials,
    }
    try:
        source = _SOURCES[kind].model_validate(settings | given)
    except ValidationError as error:
        problem = error.errors()[0]
        option = _OPTIONS.get(str(problem["loc"][0]), str(problem["loc"][0]))
        raise ConfigError(f"{option}: {problem['input']!r}: {problem['msg']}.") from error
    with Converter(limits) as converter:
        converter.convert(source, out)
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
