"""How many prims a stage will have, told from its layers before it is composed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pxr import Sdf

from scenes.errors import AssetError

MOST_PRIMS = 500_000
"""Prims of a stage up to which it is composed."""

_Key = tuple[str, Sdf.Path]


def refuse_too_many_prims(source: Path) -> None:
    """Refuse a stage whose references multiply to more prims than are read.

    Each place of each layer is looked at once, so the time follows what is written in the files,
    not what it composes to. What several layers say of one prim may count more than once.

    Args:
        source: The root layer; all that it names has been found.

    Raises:
        AssetError: It has more prims than `MOST_PRIMS`, or they are nested too deeply.
    """
    layer = Sdf.Layer.FindOrOpen(str(source))
    if layer is None:
        return
    try:
        count = _Counts().of(layer, Sdf.Path.absoluteRootPath)
    except RecursionError as error:
        raise AssetError(f"{source}: its prims are nested too deeply.") from error
    if count > MOST_PRIMS:
        raise AssetError(
            f"{source}: the stage has about {count:.3g} prims, with all that its references "
            f"multiply; at most {MOST_PRIMS} are read. Make a stage of fewer."
        )


class _Counts:
    """Counts prims at and below places of layer stacks, each place once."""

    def __init__(self) -> None:
        self._known: dict[_Key, int] = {}
        self._stacks: dict[str, list[Sdf.Layer]] = {}

    def of(self, root: Sdf.Layer, path: Sdf.Path) -> int:
        """Prims at and below a path of the layer stack of a layer."""
        key = (root.identifier, path)
        if key not in self._known:
            # A circle of references is refused when the stage is composed.
            self._known[key] = 0
            self._known[key] = self._count(root, path)
        return self._known[key]

    def _count(self, root: Sdf.Layer, path: Sdf.Path) -> int:
        specs = [
            spec for layer in self._stack(root) if (spec := layer.GetPrimAtPath(path)) is not None
        ]
        if path.IsAbsoluteRootPath():
            specs = [layer.pseudoRoot for layer in self._stack(root)]
        names = dict.fromkeys(str(name) for spec in specs for name in [*spec.nameChildren.keys()])
        count = int(path.IsPrimPath())
        count += sum(self.of(root, path.AppendChild(name)) for name in names)
        for spec in specs:
            for layer, target in _arcs(root, spec):
                # The prim at the target is the one that is counted here.
                count += max(self.of(layer, target) - 1, 0)
            for name, variants in spec.variantSets.items():
                count += max(
                    (
                        self.of(root, path.AppendVariantSelection(name, variant))
                        for variant in [*variants.variants.keys()]
                    ),
                    default=0,
                )
        return count

    def _stack(self, root: Sdf.Layer) -> list[Sdf.Layer]:
        if root.identifier not in self._stacks:
            found, left = {root.identifier: root}, [root]
            while left:
                layer = left.pop()
                for name in layer.subLayerPaths:
                    below = Sdf.Layer.FindOrOpenRelativeToLayer(layer, name)
                    if below is not None and below.identifier not in found:
                        found[below.identifier] = below
                        left.append(below)
            self._stacks[root.identifier] = list(found.values())
        return self._stacks[root.identifier]


def _arcs(root: Sdf.Layer, spec: Sdf.PrimSpec) -> Iterator[tuple[Sdf.Layer, Sdf.Path]]:
    """Layers and paths that a prim takes what is below it from."""
    for listed in (spec.inheritPathList, spec.specializesList):
        for path in _items(listed):
            yield root, path
    for listed in (spec.referenceList, spec.payloadList):
        for arc in _items(listed):
            layer = root
            if arc.assetPath:
                layer = Sdf.Layer.FindOrOpenRelativeToLayer(spec.layer, arc.assetPath)
            if layer is None:
                continue
            path = arc.primPath
            if path.isEmpty and layer.defaultPrim:
                path = Sdf.Path.absoluteRootPath.AppendPath(layer.defaultPrim)
            if not path.isEmpty:
                yield layer, path


def _items(listed: Any) -> list[Any]:
    explicit, prepended = list(listed.explicitItems), list(listed.prependedItems)
    return [*explicit, *prepended, *listed.appendedItems, *listed.addedItems]
