"""Which files a MuJoCo XML may read: those below its own folder and the folders a user names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scenes.errors import AssetError
from scenes.sources.files.raw_xml import Tag, ends, read_xml, tags
from scenes.sources.files.xml_sizes import refuse_large_sizes

_FOLDERS = {
    "mesh": ("meshdir", "assetdir"),
    "hfield": ("meshdir", "assetdir"),
    "skin": ("meshdir", "assetdir"),
    "flexcomp": ("meshdir", "assetdir"),
    "texture": ("texturedir", "assetdir"),
}
_XML = ("include", "model")


@dataclass(frozen=True)
class Roots:
    """Folders that a model may read from, with symbolic links resolved."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, model: Path, named: Iterable[Path]) -> Roots:
        """Take the model's own folder and those that the user names.

        Raises:
            AssetError: A named folder does not exist.
        """
        folders = [model.parent.resolve()]
        for folder in named:
            if not folder.is_dir():
                raise AssetError(f"{model}: roots: no such folder: {folder.absolute()}.")
            folders.append(folder.resolve())
        return cls(tuple(folders))

    def hold(self, path: Path) -> bool:
        """Tell whether a path, its symbolic links resolved, lies below one of the folders."""
        # MuJoCo reduces `a/..` by text, the system by folders: both readings must stay inside.
        readings = (path.resolve(), Path(os.path.normpath(path.absolute())).resolve())
        return all(any(r.is_relative_to(root) for root in self.folders) for r in readings)

    def refuse_outside(self, source: Path, what: str, path: Path) -> None:
        """Refuse a path outside the folders, or one that leads to no regular file or folder.

        Raises:
            AssetError: Names the model, the element, the full path and the remedy.
        """
        try:
            inside = self.hold(path)
            # Whoever opens a pipe waits for ever.
            regular = not path.exists() or path.is_file() or path.is_dir()
        except (OSError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "its links lead in a circle"
            raise AssetError(f"{source}: {what}: no such file: {path}: {reason}.") from error
        if not regular:
            raise AssetError(f"{source}: {what}: no regular file: {path}.")
        if not inside:
            resolved = path.resolve()
            raise AssetError(
                f"{source}: {what}: {resolved} lies outside the folders this model may read; "
                f"name its folder too (--root {resolved.parent}, or `roots` of the source)."
            )


@dataclass(eq=False)
class _Family:
    """A model and the files it includes: MuJoCo reads them as one, from one folder."""

    folder: Path
    settings: dict[str, set[str]] = field(default_factory=dict)
    files: list[tuple[Path, Tag, str]] = field(default_factory=list)


def refuse_unsafe_files(source: Path, roots: Roots) -> None:
    """Read a model's XML before MuJoCo does and refuse what must not reach it.

    Every file that the model, what it includes and what it attaches name is checked before any of
    them is opened; of several places where a file could be, each that exists counts.

    Raises:
        AssetError: A file lies outside the folders; or an XML declares a document type or
            entities, or holds a NUL character.
    """
    families: list[_Family] = []
    _read(source, source, _Family(source.parent), roots, families, {source.resolve()})
    for family in families:
        for xml, tag, file in family.files:
            name = tag.attributes.get("name") or Path(file).stem
            _check(source, f"{tag.name} {name!r} of {xml.name}", _places(family, tag, file), roots)


def _read(
    source: Path,
    xml: Path,
    family: _Family,
    roots: Roots,
    families: list[_Family],
    seen: set[Path],
) -> None:
    if family not in families:
        families.append(family)
    data = read_xml(xml)
    found = list(tags(data))
    refuse_large_sizes(source, xml, found, ends(data, "replicate"))
    for tag in found:
        if tag.name == "compiler":
            for key, value in tag.attributes.items():
                family.settings.setdefault(key, set()).add(value)
        named = [value for key, value in tag.attributes.items() if key.startswith("file") and value]
        if tag.name not in _XML:
            family.files += [(xml, tag, file) for file in named]
            continue
        for file in named:
            places = [family.folder / spelled for spelled in _spellings(file)]
            places += [xml.parent / spelled for spelled in _spellings(file)]
            _check(source, f"{tag.name} {file!r} of {xml.name}", places, roots)
            for place in filter(Path.is_file, places):
                if place.resolve() not in seen:
                    seen.add(place.resolve())
                    inner = family if tag.name == "include" else _Family(place.parent)
                    _read(source, place, inner, roots, families, seen)


def _check(source: Path, what: str, places: list[Path], roots: Roots) -> None:
    """Refuse a file one of whose places exists outside, or that could only be outside."""
    for place in [p for p in places if leads_somewhere(p)] or places[:1]:
        roots.refuse_outside(source, what, place)


def leads_somewhere(path: Path) -> bool:
    """Tell whether a path exists, or cannot even be looked up."""
    try:
        return path.exists() or path.is_symlink()
    except OSError:
        return True


def _places(family: _Family, tag: Tag, file: str) -> list[Path]:
    keys = _FOLDERS.get(tag.name, ())
    folders = {value for key in keys for value in family.settings.get(key, ())}
    if not folders or tag.name == "flexcomp":
        folders.add("")
    stripped = "true" in family.settings.get("strippath", ())
    names = {Path(file.replace("\\", "/")).name} if stripped else set[str]()
    return [
        family.folder / inner / name
        for folder in sorted(folders)
        for inner in _spellings(folder)
        for file_name in sorted({file, *names})
        for name in _spellings(file_name)
    ]


def _spellings(file: str) -> Iterator[str]:
    """Give a path as written and, as MuJoCo reads it, with backslashes as separators."""
    yield file
    if "\\" in file:
        yield file.replace("\\", "/")
