"""Write a compiled scene down as files that stand alone, and check that nothing was lost."""

from __future__ import annotations

import hashlib
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np

from scenes.errors import AssetError, SceneError
from scenes.storage.digests import content_digest, file_digest
from scenes.storage.temporary import temporary_file

_ROTATIONS = ("axisangle", "euler", "xyaxes", "zaxis")
_FILE_FOLDERS = ("assetdir", "meshdir", "texturedir", "strippath")
# File names may change, and how much memory they take.
_PATHS = re.compile(r"n?paths|\w+_pathadr|nbuffer")


def patch_model(root: ET.Element, model: Any) -> None:
    """Write into the XML what a reset changed in the compiled model: body poses, site colours.

    The model's statistics are written too: MuJoCo would compute them anew from the changed poses,
    and the renderer's clipping planes hang on them.

    Only changed elements are touched, with all digits. MuJoCo's own XML writer rounds every number
    to six digits, which moves cameras by 3e-6 m.
    """
    import mujoco

    bodies = {element.get("name"): element for element in root.iter("body")}
    sites = {element.get("name"): element for element in root.iter("site")}
    before = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    for i in range(model.nbody):
        same = np.array_equal(model.body_pos[i], before.body_pos[i])
        if same and np.array_equal(model.body_quat[i], before.body_quat[i]):
            continue
        element = _named(bodies, model.body(i).name)
        for rotation in _ROTATIONS:
            element.attrib.pop(rotation, None)
        element.set("pos", _digits(model.body_pos[i]))
        element.set("quat", _digits(model.body_quat[i]))
    for i in range(model.nsite):
        if not np.array_equal(model.site_rgba[i], before.site_rgba[i]):
            _named(sites, model.site(i).name).set("rgba", _digits(model.site_rgba[i]))
    statistic = root.find("statistic")
    if statistic is None:
        statistic = ET.SubElement(root, "statistic")
    for name in ("meanmass", "meansize", "extent", "center"):
        statistic.set(name, _digits(np.atleast_1d(getattr(model.stat, name))))


def relocate_files(root: ET.Element, folder: Path, store: Path, roots: list[Path]) -> None:
    """Point every ``file`` attribute at ``assets/<content hash>.<ext>`` and put the files there.

    Args:
        root: The model; its file names are absolute.
        folder: The bundle; its ``assets`` are hard links into `store`, or copies.
        store: The folder that holds each distinct file once.
        roots: Folders that a model may read from.

    Raises:
        AssetError: When a file is missing or lies outside `roots`.
    """
    for compiler in root.iter("compiler"):
        for attribute in _FILE_FOLDERS:
            compiler.attrib.pop(attribute, None)
    (folder / "assets").mkdir()
    for element in root.iter():
        for attribute in [key for key in element.attrib if key.startswith("file")]:
            source = Path(element.attrib[attribute])
            resolved = source.resolve()
            if not source.is_absolute() or not any(resolved.is_relative_to(r) for r in roots):
                raise AssetError(f"{source}: the file lies outside the packages' asset folders.")
            if not resolved.is_file():
                raise AssetError(f"{source}: the file does not exist.")
            if "name" not in element.attrib and element.tag in ("mesh", "texture", "hfield"):
                element.set("name", source.stem)  # MuJoCo would take the name from the file.
            element.set(attribute, f"assets/{_link(resolved, folder / 'assets', store)}")


def differing_fields(first: Any, second: Any) -> list[str]:
    """List the fields in which two compiled models differ, file names left aside."""

    def fields(value: Any, prefix: str = "") -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in dir(value):
            if name.startswith("_") or _PATHS.fullmatch(name):
                continue
            item = getattr(value, name)
            if isinstance(item, int | float | bytes | np.ndarray):
                found[prefix + name] = item
            elif type(item).__module__.startswith("mujoco") and not callable(item):
                found |= fields(item, f"{prefix}{name}.")
        return found

    ours, theirs = fields(first), fields(second)
    return [name for name in ours if not np.array_equal(ours[name], theirs[name])]


def file_table(folder: Path) -> dict[str, dict[str, Any]]:
    """Give size and hash of every file of the bundle."""
    table: dict[str, dict[str, Any]] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        name = path.relative_to(folder).as_posix()
        table[name] = {"size": len(data), "blake2b": content_digest(data)}
    return table


def _named(elements: dict[str | None, ET.Element], name: str) -> ET.Element:
    if not name or name not in elements:
        raise SceneError(f"{name!r} changed at the reset but has no name in the model's XML.")
    return elements[name]


def _digits(values: np.ndarray) -> str:
    return " ".join(repr(float(value)) for value in values)


def _link(source: Path, folder: Path, store: Path) -> str:
    """Put a file into the store and the bundle under its content hash; return its name."""
    data = source.read_bytes()
    name = hashlib.blake2b(data, digest_size=8).hexdigest() + source.suffix.lower()
    kept, wanted = store / name, folder / name
    if not kept.is_file() or file_digest(kept) != content_digest(data):
        partial = temporary_file(kept)
        partial.write_bytes(data)
        partial.chmod(0o444)
        partial.replace(kept)
    if not wanted.exists():
        try:
            wanted.hardlink_to(kept)
        except OSError:  # Another device, or a file system without links.
            shutil.copyfile(kept, wanted)
    return name
