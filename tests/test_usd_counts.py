"""Stages that compose to more prims than are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Sdf, Usd
from usd_stages import HEADER, mesh, write

from scenes import AssetError, convert_usd
from scenes.sources.usd.config import UsdConfig
from scenes.sources.usd.reading.counts import _Counts

CASES = Path(__file__).parent / "cases"


def test_references_that_multiply_are_refused_by_a_stated_limit(tmp_path: Path) -> None:
    source = UsdConfig(path=CASES / "x04-instances-multiply" / "scene.usda")
    with pytest.raises(AssetError, match=r"scene\.usda: .* 2.35e\+07 prims.* at most 500000"):
        convert_usd(tmp_path / "out", source)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arc", ["references = </L{}>", "payload = </L{}>", "inherits = </L{}>", "specializes = </L{}>"]
)
def test_every_arc_multiplies(tmp_path: Path, arc: str) -> None:
    levels = "".join(
        f'class "L{n}" {{\n'
        + "".join(f'def "k{k}" ({arc.format(n + 1)}) {{}}\n' for k in range(10))
        + "}\n"
        for n in range(7)
    )
    path = tmp_path / "many.usda"
    path.write_text(
        HEADER.format(unit=1, up="Z") + levels + f'def "W" ({arc.format(0)}) {{}}\nclass "L7" {{}}'
    )
    with pytest.raises(AssetError, match="at most 500000"):
        convert_usd(tmp_path / "out", UsdConfig(path=path))


def test_the_count_is_that_of_the_composed_stage(tmp_path: Path) -> None:
    other = write(tmp_path / "other", mesh("a") + mesh("b"))
    content = (
        f'def "x" (references = @{other}@) {{}}\ndef "y" (instanceable = true\n'
        f'references = @{other}@) {{}}\ndef "z" (variants = {{ string v = "b" }}\n'
        'prepend variantSets = "v") { variantSet "v" = {\n'
        f'"a" {{\n{mesh("m")} }}\n"b" {{\n{mesh("m")} {mesh("n")} }}\n}}\n}}'
    )
    path = write(tmp_path / "own", content)
    stage = Usd.Stage.Open(str(path))
    composed = len(list(stage.Traverse(Usd.TraverseInstanceProxies())))
    layer = Sdf.Layer.FindOrOpen(str(path))
    assert _Counts().of(layer, Sdf.Path.absoluteRootPath) == composed == 10
