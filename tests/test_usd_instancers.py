"""Point instancers within each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pxr import UsdGeom
from usd_stages import mesh, translate, write

from scenes import AssetError, Scene, convert_usd
from scenes.sources.usd.config import UsdConfig

CASES = Path(__file__).parent / "cases"


def boxes(scene: Scene) -> dict[str, list[Any]]:
    """Boxes of the parts in the world [m], [2, 3], by the last name of the prim they came from."""
    found: dict[str, list[Any]] = {}
    cache = UsdGeom.XformCache()
    for part in scene.info.parts:
        prim = scene.stage.GetPrimAtPath(part.path)
        to_world = np.array(cache.GetLocalToWorldTransform(prim))
        points = np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get())
        points = points @ to_world[:3, :3] + to_world[3, :3]
        size = "plate" if np.ptp(points, axis=0)[2] < 0.05 else "peg"
        found.setdefault(size, []).append([points.min(axis=0), points.max(axis=0)])
    return found


def test_instancers_within_a_prototype_are_read(tmp_path: Path) -> None:
    case = CASES / "a40-usd-nested-instancers"
    right = json.loads((case / "case.json").read_text())["expect"]["rule"]
    found = boxes(convert_usd(tmp_path / "out", UsdConfig(path=case / "scene.usda")))
    # Its orientations are of half precision.
    plates = sorted(np.array(found["plate"]).tolist())
    assert np.allclose(plates, sorted(right["plates"]), atol=1e-3)
    assert len(found["peg"]) == right["pegs"]
    everything = np.array(found["plate"] + found["peg"])
    whole = [everything[:, 0].min(axis=0), everything[:, 1].max(axis=0)]
    assert np.allclose(whole, right["all_of_trays"], atol=1e-3)


def instancer(name: str, prototype: str, inside: str = "", count: int = 2) -> str:
    positions = [(3 * number, 0, 0) for number in range(count)]
    return (
        f'def PointInstancer "{name}" {{ point3f[] positions = {positions}\n'
        f"int[] protoIndices = {[0] * count}\nrel prototypes = [<{prototype}>]\n{inside}\n}}\n"
    )


def test_a_prototype_that_is_drawn_itself_and_its_copies_have_each_copy_once(
    tmp_path: Path,
) -> None:
    inner = instancer("inner", "/W/Tray/inner/peg", mesh("peg"))
    tray = f'def Xform "Tray" {{ {inner} }}\n'
    path = write(tmp_path, tray + instancer("outer", "/W/Tray"))
    scene = convert_usd(tmp_path / "out", UsdConfig(path=path))
    # Two pegs of the tray itself, two of each of its two copies.
    assert len(scene.info.parts) == 6


def test_an_instancer_within_an_instance_is_read(tmp_path: Path) -> None:
    inner = instancer("inner", "/W/Tray/inner/peg", mesh("peg"))
    content = (
        f'def Xform "Tray" {{ {inner} }}\n'
        'def Xform "Again" (instanceable = true\n references = </W/Tray>) {'
        f"{translate(0, 9, 0)} }}\n"
    )
    scene = convert_usd(tmp_path / "out", UsdConfig(path=write(tmp_path, content)))
    assert len(scene.info.parts) == 4


def test_instancers_that_hold_themselves_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, f'def Xform "Tray" {{ {instancer("inner", "/W/Tray")} }}')
    with pytest.raises(AssetError, match=r"/W/Tray/inner: its prototype /W/Tray holds"):
        convert_usd(tmp_path / "out", UsdConfig(path=path))


def test_copies_that_multiply_are_refused(tmp_path: Path) -> None:
    inner = instancer("inner", "/W/outer/tray/inner/peg", mesh("peg"), 300)
    tray = f'def Xform "tray" {{ {inner} }}\n'
    path = write(tmp_path, instancer("outer", "/W/outer/tray", tray, 300))
    with pytest.raises(AssetError, match=r"make 90300 copies; at most 50000"):
        convert_usd(tmp_path / "out", UsdConfig(path=path))
