"""Files that a MuJoCo XML names, with the settings of the model that names them.

The raw XML is read for the files alone: an attached model keeps its own asset folders, which the
parsed model no longer tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import mujoco

from scenes.errors import AssetError


@dataclass(frozen=True)
class ModelFile:
    """A mesh, texture or height field file of a model."""

    kind: str
    name: str
    """Name of the element."""
    path: Path
    element: mujoco.MjsMesh | mujoco.MjsTexture | mujoco.MjsHField


def model_files(spec: mujoco.MjSpec, source: Path) -> Iterator[ModelFile]:
    """Find the file of every asset of a model.

    Args:
        spec: The parsed model.
        source: Its XML file.

    Raises:
        AssetError: A file is missing; names the element and the full path tried.
    """
    folders = [_Folders.of(spec, source), *_attached(source, seen={source.resolve()})]
    named = [
        *(("mesh", mesh, mesh.file) for mesh in spec.meshes),
        *(("hfield", hfield, hfield.file) for hfield in spec.hfields),
        *(
            ("texture", texture, file)
            for texture in spec.textures
            for file in (texture.file, *texture.cubefiles)
        ),
    ]
    for kind, element, file in named:
        if not file or "://" in file:
            continue
        name = element.name or Path(file).stem
        tried = [folder.path(kind, file) for folder in folders]
        path = next((path for path in tried if path.is_file()), None)
        if path is None:
            raise AssetError(f"{source}: {kind} {name!r}: no such file: {tried[0]}.")
        yield ModelFile(kind, name, path, element)


@dataclass(frozen=True)
class _Folders:
    meshes: Path
    textures: Path
    strip: bool

    @classmethod
    def of(cls, spec: mujoco.MjSpec, source: Path) -> _Folders:
        folder = source.parent
        return cls(folder / spec.meshdir, folder / spec.texturedir, bool(spec.strippath))

    def path(self, kind: str, file: str) -> Path:
        name = Path(file).name if self.strip else file
        return (self.textures if kind == "texture" else self.meshes) / name


def _attached(source: Path, seen: set[Path]) -> Iterator[_Folders]:
    """Asset folders of the models that a model attaches, and of those they attach."""
    for tag, file in _references(source):
        path = source.parent / file
        if path.resolve() in seen or not path.is_file():
            continue
        seen.add(path.resolve())
        if tag == "model":
            yield _Folders.of(mujoco.MjSpec.from_file(str(path)), path)
        yield from _attached(path, seen)


def _references(source: Path) -> list[tuple[str, str]]:
    try:
        root = ElementTree.parse(source).getroot()
    except ElementTree.ParseError:
        return []
    return [
        (element.tag, element.attrib["file"])
        for element in root.iter()
        if element.tag in ("model", "include") and "file" in element.attrib
    ]
