from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Sdf

from scenes import Scene, SceneError, convert_mjcf
from scenes.convert.settings import ObjectGroup
from scenes.sources.mjcf.config import MjcfConfig
from scenes.stage.names import UniqueNames, label_of


def test_identifiers_are_valid_and_unique_whatever_the_names() -> None:
    @given(st.lists(st.text(min_size=1, max_size=6).filter(str.strip), max_size=8))
    def check(names: list[str]) -> None:
        siblings = UniqueNames("mjcf/table.xml")
        made = [
            siblings.identifier(name, f"kind {number}", number) for number, name in enumerate(names)
        ]
        assert len(set(made)) == len(made)
        assert all(Sdf.Path.IsValidIdentifier(identifier) for identifier in made)

    check()


def test_a_blank_name_is_refused() -> None:
    with pytest.raises(SceneError, match=r"table\.xml: the geom name ' ' is blank"):
        UniqueNames("mjcf/table.xml").identifier(" ", "geom", 1)


def test_other_kinds_and_generated_names_are_told_apart_by_number() -> None:
    siblings = UniqueNames("mjcf/table.xml")
    assert siblings.identifier("a b", "body", 7) == "a_b"
    assert siblings.identifier("a.b", "geom", 7) == "a_b_7"
    assert siblings.identifier("a b", "body", 7) == "a_b_7_"
    assert siblings.identifier("geom_3", "geom", 1) == "geom_3"
    assert siblings.identifier(None, "geom", 3) == "geom_3_3"


def test_names_that_differ_in_what_an_identifier_cannot_hold_stay_apart() -> None:
    siblings = UniqueNames("mjcf/table.xml")
    names = ("杯子", "盘子", "1a", "2a", "é", "è")
    assert [siblings.identifier(name, "geom", 0) for name in names] == [
        "_u676f__u5b50_", "_u76d8__u5b50_", "_1a", "_2a", "_ue9_", "_ue8_",
    ]  # fmt: skip


def scene(bodies: str, folder: Path, **options: Any) -> Scene:
    path = folder / "table.xml"
    path.write_text(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    source = MjcfConfig(path=path, **options)
    return convert_mjcf(path, folder / "stage", source=source)


BODY = '<body name="{}"><geom name="{}" size=".1"/></body>'


def digest(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=4).hexdigest()


COLLIDING = [
    (("robot/arm", "robot_arm"), {"robot_arm"}),
    (("Material_003", "Material.003"), {"Material_003"}),
    (("+x", "-x"), set[str]()),
    (("Red.Cube", "Red Cube"), set[str]()),
    (("+", "-"), set[str]()),
]


@pytest.mark.parametrize(("pair", "kept"), COLLIDING, ids=lambda value: str(value))
def test_names_that_an_identifier_makes_one_are_told_apart_whatever_their_order(
    pair: tuple[str, str], kept: set[str], tmp_path: Path
) -> None:
    found: list[dict[str, tuple[str, str]]] = []
    for number, order in enumerate((pair, pair[::-1])):
        folder = tmp_path / str(number)
        folder.mkdir()
        made = scene("".join(BODY.format(name, name) for name in order), folder)
        found.append({each.name: (each.path, each.label) for each in made.info.objects})
        for each in made.info.objects:
            note = made.stage.GetPrimAtPath(each.path).GetCustomDataByKey("datagen")
            assert note["name"] == each.name
    assert found[0] == found[1] and set(found[0]) == set(pair)
    paths, labels = (set(column) for column in zip(*found[0].values(), strict=True))
    assert len(paths) == len(labels) == 2
    for name, (path, label) in found[0].items():
        assert (path == f"/World/{name}") == (name in kept)
        assert name in kept or path.endswith(digest(name)), path
        assert label == label_of(name) or label == f"{label_of(name)}_{digest(name)}"


def test_names_of_geoms_cameras_and_materials_are_told_apart_too(tmp_path: Path) -> None:
    path = tmp_path / "table.xml"
    inside = "".join(
        f'<geom name="{name}" size=".1" material="{name}"/><camera name="{name}"/>'
        f'<light name="{name}"/><joint name="{name}" type="slide"/>'
        for name in ("a.b", "a_b")
    )
    path.write_text(
        '<mujoco><asset><material name="a.b" rgba="1 0 0 1"/><material name="a_b"/></asset>'
        f'<worldbody><body name="box">{inside}</body></worldbody></mujoco>'
    )
    made = convert_mjcf(path, tmp_path / "stage")
    apart = f"a_b_{digest('a.b')}"
    assert [part.name for part in made.info.parts] == ["a.b", "a_b"]
    assert [part.path for part in made.info.parts] == [
        f"/World/box/box/{apart}", "/World/box/box/a_b",
    ]  # fmt: skip
    assert [camera.name for camera in made.info.cameras] == ["a.b", "a_b"]
    assert made.stage.GetPrimAtPath(f"/World/materials/{apart}")
    assert made.stage.GetPrimAtPath("/World/materials/a_b")


def test_a_name_of_three_hundred_letters_converts(tmp_path: Path) -> None:
    name = "n" * 300
    made = scene(BODY.format(name, name), tmp_path)
    assert made.info.objects[0].path == f"/World/{name}"


def test_a_body_and_a_geom_may_share_a_name_and_a_class_may_be_shared_openly(
    tmp_path: Path,
) -> None:
    both = BODY.format("Cube", "Cube") + BODY.format("cube", "cube")
    objects = {name: ObjectGroup(label="cube", bodies=(name,)) for name in ("Cube", "cube")}
    paths = [part.path for part in scene(both, tmp_path, objects=objects).info.parts]
    assert paths == ["/World/Cube/Cube/Cube", "/World/cube/cube/cube"]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("Red Mug.2", "red_mug_2"),
        ("tasse à café", "tasse_a_cafe"),
        ("Überzug", "uberzug"),
        ("杯", "u676f"),
        ("--", "unnamed"),
        ("", "unnamed"),
    ],
)
def test_labels_are_lower_case_latin(name: str, label: str) -> None:
    assert label_of(name) == label


@given(st.text())
def test_labels_hold_only_the_letters_allowed(name: str) -> None:
    assert set(label_of(name)) <= set("abcdefghijklmnopqrstuvwxyz0123456789_")
    assert label_of(name)
