"""URDF files read safely: their meshes found in the folders and packages that a user names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from scenes.errors import AssetError
from scenes.finite import refuse_non_finite_mesh
from scenes.sources.files.containment import Roots
from scenes.sources.files.obj_objects import merged_objects
from scenes.sources.files.raw_xml import read_xml
from scenes.sources.urdf.config import UrdfConfig

READABLE = (".stl", ".obj", ".msh")
_PACKAGE, _FILE = "package://", "file://"
_GREY = {"rgba": "0.5 0.5 0.5 1"}
"""Colour of MuJoCo's shapes without one."""
_READ = frozenset({"link", "joint", "material", "mujoco"})


@dataclass
class UrdfModel:
    """A URDF file as MuJoCo is to read it: it opens no file itself."""

    name: str
    """Name of the robot."""
    xml: str
    """The file with meshes called as in `assets`."""
    assets: dict[str, bytes]
    """Contents of the meshes."""
    approximated: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def read_urdf(settings: UrdfConfig) -> UrdfModel:
    """Read a URDF file and all meshes it names.

    Raises:
        AssetError: The file is broken or holds declarations, or a mesh is missing, outside the
            folders, in a package that is not named, or of a format that MuJoCo cannot read; names
            the mesh, the full path and the remedy.
    """
    source = settings.path
    if not source.is_file():
        raise AssetError(f"{source}: no such file.")
    for package, folder in settings.packages.items():
        if not folder.is_dir():
            raise AssetError(f"{source}: packages.{package}: no such folder: {folder.absolute()}.")
    allowed = Roots.of(source, (*settings.packages.values(), *settings.roots))
    root = _parse(source)
    _refuse_false_masses(source, root)
    model = UrdfModel(root.get("name") or source.stem, "", {})
    compiler = _compiler(root)
    known: dict[Path, str] = {}
    for mesh in root.iter("mesh"):
        name = mesh.get("filename", "")
        path = _place(settings, name, compiler)
        allowed.refuse_outside(source, f"mesh {name!r}", path)
        if path not in known:
            known[path] = f"mesh_{len(known)}{path.suffix.lower()}"
            model.assets[known[path]] = _content(source, name, path, model)
        mesh.set("filename", known[path])
    _note_rest(root, model)
    _colour_visuals(root, model)
    _set_compiler(compiler)
    try:
        model.xml = ElementTree.tostring(root, encoding="unicode")
    except RecursionError as error:
        raise AssetError(f"{source}: its elements are nested too deeply.") from error
    return model


def _parse(source: Path) -> ElementTree.Element:
    data = read_xml(source)
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise AssetError(f"{source}: not readable as XML: {error}.") from error
    if root.tag != "robot":
        raise AssetError(f"{source}: the root element is <{root.tag}>; of URDF it is <robot>.")
    if root.find("link") is None:
        raise AssetError(f"{source}: there is no <link>, so there is nothing to show.")
    return root


def _refuse_false_masses(source: Path, root: ElementTree.Element) -> None:
    """Refuse masses and inertias that MuJoCo would put others for; text is its to refuse."""
    for link in root.iter("link"):
        for element in (*link.iterfind("inertial/mass"), *link.iterfind("inertial/inertia")):
            for key, text in element.attrib.items():
                try:
                    value = float(text)
                except ValueError:
                    continue
                if not math.isfinite(value) or (element.tag == "mass" and value < 0):
                    raise AssetError(
                        f"{source}: link {link.get('name')!r}: {element.tag}: {key} = {value:g}; "
                        "masses are finite and at least 0. The scene was refused; repair the file."
                    )


def _place(settings: UrdfConfig, name: str, compiler: ElementTree.Element) -> Path:
    """Full path of a mesh.

    Where the file tells MuJoCo of a `meshdir`, it is MuJoCo's rule: the last part of the name in
    that folder. Else `package://` names a package, and other paths start at the file's folder.
    """
    source, folder = settings.path, settings.path.parent.absolute()
    if not name:
        raise AssetError(f"{source}: a mesh without a file name.")
    stripped = name.replace("\\", "/").rpartition("/")[2]
    if meshdir := compiler.get("meshdir"):
        kept = compiler.get("strippath") == "false"
        return folder / meshdir / (name if kept else stripped)
    if name.startswith(_PACKAGE):
        package, _, inner = name.removeprefix(_PACKAGE).partition("/")
        if package not in settings.packages:
            known = ", ".join(settings.packages) or "none"
            raise AssetError(
                f"{source}: mesh {name!r}: package {package!r} is not named. Known: {known}. Add "
                f"`packages: {{{package}: FOLDER}}` to the source (--package {package}=FOLDER)."
            )
        return settings.packages[package].absolute() / inner
    if name.startswith(_FILE):
        return folder / name.removeprefix(_FILE)
    if "://" in name:
        raise AssetError(
            f"{source}: mesh {name!r}: only paths, {_FILE} and {_PACKAGE} are followed."
        )
    return folder / name.replace("\\", "/")


def _content(source: Path, name: str, path: Path, model: UrdfModel) -> bytes:
    if not path.is_file():
        raise AssetError(f"{source}: mesh {name!r}: no such file: {path}.")
    if path.suffix.lower() not in READABLE:
        raise AssetError(
            f"{source}: mesh {name!r}: MuJoCo cannot read {path.suffix or 'this'} files; convert "
            f"{path} to STL or OBJ and name that."
        )
    refuse_non_finite_mesh(path, name)
    data = path.read_bytes()
    if path.suffix.lower() != ".obj":
        return data
    if b"\nusemtl" in data:
        model.approximated.append(
            f"mesh {name!r}: shown in the colour that the URDF gives; its own materials are not "
            "used"
        )
    merged = merged_objects(data)
    if merged is None:
        return data
    model.approximated.append(
        f"mesh {name!r}: shown whole; of the several objects in {path.name} MuJoCo alone would "
        "show the first"
    )
    return merged


def _compiler(root: ElementTree.Element) -> ElementTree.Element:
    """Settings for MuJoCo in a URDF file, made where it has none."""
    extension = root.find("mujoco")
    if extension is None:
        extension = ElementTree.SubElement(root, "mujoco")
    compiler = extension.find("compiler")
    return ElementTree.SubElement(extension, "compiler") if compiler is None else compiler


def _set_compiler(compiler: ElementTree.Element) -> None:
    for key in ("meshdir", "texturedir", "assetdir"):
        compiler.attrib.pop(key, None)
    wanted: Mapping[str, str] = {
        # Visual shapes are what is drawn, and links keep their names.
        "discardvisual": "false", "fusestatic": "false", "strippath": "true",
    }  # fmt: skip
    compiler.attrib.update(wanted)


def _colour_visuals(root: ElementTree.Element, model: UrdfModel) -> None:
    """Give each visual shape a colour of its own.

    MuJoCo leaves a visual without material in the colour of the one before it, and knows a
    material by its name only after the place that gives its colour.
    """
    colours: dict[str, ElementTree.Element] = {}
    for material in (*root.iterfind("material"), *root.iterfind("link/visual/material")):
        colour = material.find("color")
        if colour is not None:
            colours.setdefault(material.get("name", ""), colour)
    for number, visual in enumerate(root.iterfind("link/visual")):
        stated = visual.find("material")
        colour = None
        if stated is not None:
            name = stated.get("name", "")
            colour = stated.find("color")
            colour = colours.get(name) if colour is None and name else colour
            if colour is None and stated.find("texture") is None:
                model.approximated.append(
                    f"material {name!r}: no colour is given for it; shown grey"
                )
            visual.remove(stated)
        # Names of a material's own, for MuJoCo looks its colour up by name.
        own = ElementTree.SubElement(visual, "material", name=f"visual_{number}")
        ElementTree.SubElement(own, "color", _GREY if colour is None else colour.attrib)


def _note_rest(root: ElementTree.Element, model: UrdfModel) -> None:
    for material in root.iter("material"):
        texture = material.find("texture")
        if texture is not None:
            model.left_out.append(
                f"texture {texture.get('filename')!r} of material {material.get('name')!r}: "
                "MuJoCo reads none from URDF"
            )
    for joint in root.iter("joint"):
        if joint.find("mimic") is not None:
            model.left_out.append(f"joint {joint.get('name')}: that it mimics another")
    ignored = sorted({element.tag for element in root} - _READ)
    model.left_out += [f"elements <{tag}>: of other programs, not read" for tag in ignored]
