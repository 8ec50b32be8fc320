"""Files that a USD stage reads: found, kept inside the folders a user names, and hashed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from pxr import Sdf, Tf, UsdUtils

from scenes.containment import Roots
from scenes.errors import AssetError

_PACKAGE = ".usdz"
_FOREIGN = (".mdl",)
"""Shader sources of other renderers, looked up along search paths; nothing of them is read."""
_PLACEHOLDER = "<"


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


def usd_files(source: Path, roots: Iterable[Path] = ()) -> UsdFiles:
    """Find the files of a stage; none is opened before it is known to be allowed.

    Args:
        source: The root layer.
        roots: Folders that the stage may read from beside its own.

    Raises:
        AssetError: A layer is missing, broken or outside the folders, or a picture is outside;
            names the layer that asks for it and the full path.
    """
    if not source.is_file():
        raise AssetError(f"{source}: no such file.")
    allowed = Roots.of(source, roots)
    layers: dict[Path, None] = {}
    assets: dict[Path, None] = {}
    _walk(source, source, allowed, layers, assets)
    return UsdFiles(tuple(sorted(layers)), tuple(sorted(assets)))


def _walk(
    source: Path,
    layer: Path,
    allowed: Roots,
    layers: dict[Path, None],
    assets: dict[Path, None],
) -> None:
    layers[layer.resolve()] = None
    if layer.suffix.lower() == _PACKAGE:
        # A package holds all that it names.
        return
    try:
        opened = Sdf.Layer.FindOrOpen(str(layer))
        named = UsdUtils.ExtractExternalReferences(str(layer)) if opened else ()
    except Tf.ErrorException as error:
        raise AssetError(f"{layer}: not a readable USD file: {_reason(error)}.") from error
    if opened is None:
        raise AssetError(f"{layer}: not a readable USD file.")
    for asset in sorted({name for names in named for name in names if name}):
        path = _place(opened, asset)
        if asset.lower().endswith(_FOREIGN) or _PLACEHOLDER in asset:
            continue
        is_layer = Sdf.FileFormat.FindByExtension(path.suffix.lower()) is not None
        what = f"{'layer' if is_layer else 'file'} {asset!r} of {layer.name}"
        if ":/" in asset:
            if is_layer:
                raise AssetError(
                    f"{source}: {what}: lies on a server; only files of this machine are read. "
                    "Store it beside the stage."
                )
            continue
        if is_layer or path.exists():
            allowed.refuse_outside(source, what, path)
        if is_layer and not path.is_file():
            raise AssetError(f"{source}: {what}: no such file: {path}.")
        if is_layer and path.resolve() not in layers:
            _walk(source, path, allowed, layers, assets)
        elif not is_layer and path.is_file():
            assets[path.resolve()] = None


def _place(layer: Sdf.Layer, asset: str) -> Path:
    """Full path of an asset; one inside a package is the package's."""
    inside = Sdf.Layer.SplitIdentifier(asset)[0]
    return Path(layer.ComputeAbsolutePath(inside.partition("[")[0]))


def _reason(error: Tf.ErrorException) -> str:
    """First sentence of what USD says, without its source places."""
    for line in str(error).splitlines():
        _, colon, text = line.partition(".h : '")
        if not colon:
            _, colon, text = line.partition(".cpp : '")
        if colon:
            return " ".join(text.split()).rstrip(".'")
    return " ".join(str(error).split()).rstrip(".")
