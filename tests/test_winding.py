"""Meshes with faces wound both ways, and rooms and cards seen from both sides."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from datagen.backends import Size
from datagen.backends.base import Backend
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.run.exposure import EXPOSURE, scene_exposure
from scenes import AssetError, SampleLayer, Scene, convert_mjcf, convert_usd
from scenes.convert.shapes.winding import opposed_edges
from scenes.sources.usd.config import UsdConfig

CASES = Path(__file__).parent / "cases"
WEDGE = CASES / "a52-inconsistent-winding"
CARDS = CASES / "a66-usd-double-sided"
ROOM = CASES / "g10-room-seen-from-inside"
SIZE = Size(64, 64)


@pytest.fixture(scope="module")
def tracer() -> MitsubaBackend:
    return MitsubaBackend(spp=16, denoise=False, variant="llvm")


def report(scene: Scene) -> dict[str, list[str]]:
    return json.loads((scene.folder / "report.json").read_text())


def means(scene: Scene, backend: Backend, camera: str = "cam") -> dict[str, float]:
    """Mean display value by object; all of the picture as `""`."""
    backend.open(scene)
    sample = SampleLayer(scene, scene.info.default_state)
    if isinstance(backend, MitsubaBackend):
        sample.set(EXPOSURE, scene_exposure(scene, backend, scene.info.default_state))
    backend.apply(sample)
    seen = backend.render(camera, SIZE, {"rgb", "part"})
    assert seen.rgb is not None and seen.part is not None
    found = {"": float(seen.rgb.mean())}
    for number, part in enumerate(scene.info.parts, 1):
        if np.any(seen.part == number):
            found[part.path.split("/")[2]] = float(seen.rgb[seen.part == number].mean())
    return found


def test_edges_that_two_faces_pass_alike_are_counted() -> None:
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, -0.0]], np.float32)
    assert opposed_edges(points, np.array([[0, 1, 2], [1, 3, 2]])) == 0
    assert opposed_edges(points, np.array([[0, 1, 2], [1, 2, 3]])) == 1
    assert opposed_edges(points, np.array([[0, 1, 2], [4, 2, 3]])) == 1
    both_sides = np.array([[0, 1, 2], [1, 3, 2], [2, 1, 0], [2, 3, 1]])
    assert opposed_edges(points, both_sides) == 0


def test_a_mesh_wound_both_ways_is_named_and_one_wound_alike_is_not(tmp_path: Path) -> None:
    mixed = convert_mjcf(WEDGE / "visual.xml", tmp_path / "visual")
    (told,) = report(mixed)["caveats"]
    assert told.startswith("meshes wound both ways") and told.endswith(": wedge (3 edges)")
    straight = convert_mjcf(WEDGE / "straight.xml", tmp_path / "straight")
    assert report(straight)["caveats"] == []


def test_a_mesh_of_exact_inertia_wound_both_ways_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="mesh 'wedge'") as caught:
        convert_mjcf(WEDGE / "exact.xml", tmp_path / "exact")
    assert str(caught.value).startswith(str(WEDGE / "exact.xml"))
    assert list(tmp_path.iterdir()) == []


def test_a_card_is_as_bright_beside_cards_seen_from_behind(
    tracer: MitsubaBackend, tmp_path: Path
) -> None:
    text = (CARDS / "a66.usda").read_text()
    (tmp_path / "alone.usda").write_text(
        text.replace('def Xform "back_double"', 'over "back_double"').replace(
            'def Xform "back_single"', 'over "back_single"'
        )
    )
    all_cards = means(convert_usd(tmp_path / "all", UsdConfig(path=CARDS / "a66.usda")), tracer)
    alone = means(convert_usd(tmp_path / "one", UsdConfig(path=tmp_path / "alone.usda")), tracer)
    assert "back_double" not in alone and "back_single" not in alone
    assert all_cards["front"] == pytest.approx(alone["front"], rel=0.05)
    assert all_cards["front"] == pytest.approx(177, rel=0.1)
    assert all_cards["back_double"] == pytest.approx(all_cards["front"], rel=0.05)


def inward_room(cuts: int) -> str:
    """OBJ text of the case's room with walls that look inward, each of `cuts` x `cuts` squares."""
    lines = [line.split() for line in (ROOM / "room.obj").read_text().splitlines()]
    points = np.array([[float(v) for v in line[1:]] for line in lines if line[0] == "v"])
    steps = np.linspace(0.0, 1.0, cuts + 1)
    text: list[str] = []
    first = 1
    for line in lines:
        if line[0] != "f":
            continue
        a, b, c, d = (points[int(v) - 1] for v in reversed(line[1:]))
        grid = [
            (1 - u) * ((1 - v) * a + v * b) + u * ((1 - v) * d + v * c)
            for u in steps
            for v in steps
        ]
        text += ["v " + " ".join(f"{x:.6f}" for x in point) for point in grid]
        for row in range(cuts):
            for column in range(cuts):
                at = first + row * (cuts + 1) + column
                text.append(f"f {at} {at + 1} {at + cuts + 2} {at + cuts + 1}")
        first += len(grid)
    return "\n".join(text)


def turned_room(folder: Path, cuts: int) -> Scene:
    shutil.copytree(ROOM, folder)
    (folder / "room.obj").write_text(inward_room(cuts))
    return convert_mjcf(folder / "scene.xml", folder / "out")


@pytest.fixture(scope="module")
def room(tracer: MitsubaBackend, tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    return means(convert_mjcf(ROOM / "scene.xml", tmp_path_factory.mktemp("r") / "o"), tracer)


def test_a_room_seen_from_inside_is_lit_as_if_its_walls_looked_inward(
    tracer: MitsubaBackend, room: dict[str, float], tmp_path: Path
) -> None:
    least = json.loads((ROOM / "case.json").read_text())["expect"]["rule"]["room_mean_at_least"]
    assert room["room"] >= least
    inward = means(turned_room(tmp_path / "turned", 1), tracer)
    assert room["room"] == pytest.approx(inward["room"], rel=0.05)
    assert room["crate"] / room["room"] == pytest.approx(inward["crate"] / inward["room"], rel=0.05)


@pytest.mark.gl
def test_a_room_seen_from_inside_is_as_bright_as_mujocos_with_walls_that_look_inward(
    room: dict[str, float], tmp_path: Path
) -> None:
    from datagen.backends.mujoco.backend import MujocoBackend

    # MuJoCo lights meshes at their vertices: many stand for a light at each pixel.
    drawn = means(turned_room(tmp_path / "turned", 24), MujocoBackend())
    assert room[""] == pytest.approx(drawn[""], rel=0.1)
