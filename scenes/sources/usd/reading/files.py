"""Files that a USD stage reads: found, kept inside the folders a user names, and hashed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from pxr import Ar, Sdf, Tf, UsdUtils

from scenes.errors import AssetError
from scenes.sources.files.containment import Roots, leads_somewhere
from scenes.sources.usd.reading.text import refuse_undecodable

_FOREIGN = (".mdl",)
"""Shader sources of other renderers, looked up along search paths; nothing of them is read."""
_PLACEHOLDER = "<"
_RULE = re.compile(r" matching pxrInternal.*")


@dataclass(frozen=True)
class UsdFiles:
    """What a stage is read from, with symbolic links resolved."""

    layers: tuple[Path, ...]
    """The root layer and all that it names, through variants too, in the order of their paths."""
    assets: tuple[Path, ...]
    """Pictures and other files that the layers name and that exist."""

    @property
    def digest(self) -> str:
        """BLAKE2b of names and contents of all files."""
        digest = blake2b(digest_size=16)
        for path in (*self.layers, *self.assets):
            content = blake2b(path.read_bytes(), digest_size=16).hexdigest()
            digest.update(f"{path.name}\0{content}\0".encode())
        return digest.hexdigest()

    def hold(self, name: str) -> bool:
        """Tell whether a resolved path, maybe inside a package, is one of these files."""
        path = _file_of(name).resolve()
        return path in self.layers or path in self.assets


def usd_files(source: Path, roots: Iterable[Path] = ()) -> UsdFiles:
    """Find the files of a stage; none is opened before it is known to be allowed.

    Args:
        source: The root layer.
        roots: Folders that the stage may read from beside its own.

    Raises:
        AssetError: A layer is missing, broken or outside the folders, or a picture is outside or
            no regular file; names the layer that asks for it and the full path.
    """
    if not source.is_file():
        raise AssetError(f"{source}: no such file.")
    walk = _Walk(source, Roots.of(source, roots))
    walk.visit(str(source))
    return UsdFiles(tuple(sorted(walk.layers)), tuple(sorted(walk.assets)))


@dataclass
class _Walk:
    """A walk from layer to layer."""

    source: Path
    allowed: Roots
    layers: set[Path] = field(default_factory=set[Path])
    assets: set[Path] = field(default_factory=set[Path])
    seen: set[str] = field(default_factory=set[str])

    def visit(self, layer: str) -> None:
        """Look at a layer that is allowed, which may lie inside a package."""
        file = _file_of(layer)
        self.layers.add(file.resolve())
        self.seen.add(layer)
        refuse_undecodable(file)
        try:
            opened = Sdf.Layer.FindOrOpen(layer)
            named = UsdUtils.ExtractExternalReferences(layer) if opened else ()
        except Tf.ErrorException as error:
            raise AssetError(f"{layer}: not a readable USD file: {usd_reason(error)}.") from error
        except UnicodeDecodeError as error:
            shown = undecodable(error)
            raise AssetError(
                f"{layer}: the path {shown} that it names holds bytes that are not UTF-8."
            ) from error
        if opened is None:
            raise AssetError(f"{layer}: not a readable USD file.")
        for asset in sorted({name for names in named for name in names if name}):
            if not asset.lower().endswith(_FOREIGN) and _PLACEHOLDER not in asset:
                self._follow(opened, file, asset)

    def _follow(self, layer: Sdf.Layer, file: Path, asset: str) -> None:
        where = layer.ComputeAbsolutePath(Sdf.Layer.SplitIdentifier(asset)[0])
        if not Path(where).is_absolute():
            # It was found nowhere, so its place is beside the layer that asks for it.
            where = str(file.absolute().parent / where)
        path = _file_of(where)
        suffix = Path(Ar.SplitPackageRelativePathInner(where)[1] or where).suffix.lower()
        is_layer = bool(suffix) and Sdf.FileFormat.FindByExtension(suffix) is not None
        what = f"{'layer' if is_layer else 'file'} {asset!r} of {file.name}"
        if ":/" in asset:
            if is_layer:
                raise AssetError(
                    f"{self.source}: {what}: lies on a server; only files of this machine are "
                    "read. Store it beside the stage."
                )
            return
        if is_layer or leads_somewhere(path):
            self.allowed.refuse_outside(self.source, what, path)
        if is_layer and not path.is_file():
            raise AssetError(f"{self.source}: {what}: no such file: {path}.")
        if is_layer:
            if where not in self.seen:
                self.visit(where)
        elif path.is_file():
            self.assets.add(path.resolve())


def _file_of(name: str) -> Path:
    """File of a path that may lead into a package."""
    return Path(Ar.SplitPackageRelativePathOuter(name)[0])


def usd_reason(error: Tf.ErrorException) -> str:
    """First sentence of what USD says, without its source places."""
    try:
        said = str(error)
    except UnicodeDecodeError as unreadable:
        said = undecodable(unreadable)
    for line in said.splitlines():
        _, colon, text = line.partition(".h : '")
        if not colon:
            _, colon, text = line.partition(".cpp : '")
        if colon:
            return _plain(text).removesuffix("'").rstrip(".")
    return _plain(said).rstrip(".")


def _plain(text: str) -> str:
    """Text in one line, without the names that USD's parser has for its own rules."""
    return _RULE.sub("", " ".join(text.split()))


def undecodable(error: UnicodeDecodeError) -> str:
    """Text whose bytes are not all UTF-8, these spelled out."""
    return error.object.decode(errors="backslashreplace")
