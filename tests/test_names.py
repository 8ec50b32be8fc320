from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Sdf

from scenes import Scene, SceneError, convert_mjcf
from scenes.config import MjcfSource, ObjectGroup
from scenes.names import UniqueNames, label_of


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


def test_two_names_of_a_kind_that_clean_to_one_are_refused_by_name() -> None:
    siblings = UniqueNames("mjcf/table.xml")
    siblings.identifier("a b", "geom", 1)
    with pytest.raises(
        SceneError,
        match=r"^mjcf/table\.xml: geom 'a b' and geom 'a\.b' would both be called 'a_b' in the "
        r"stage; rename one of them\.$",
    ):
        siblings.identifier("a.b", "geom", 2)


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
    source = MjcfSource(path=path, **options)
    return convert_mjcf(path, folder / "stage", source=source)


BODY = '<body name="{}"><geom name="{}" size=".1"/></body>'


def test_a_model_whose_names_collide_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    for pair in (("Red.Cube", "Red Cube"), ("Cube", "cube")):
        with pytest.raises(SceneError, match=r"^mjcf/table\.xml: .*object.*rename one") as told:
            scene("".join(BODY.format(name, name) for name in pair), tmp_path)
        assert all(repr(name) in str(told.value) for name in pair)
        assert [path.name for path in tmp_path.iterdir()] == ["table.xml"]
    inside = '<geom name="a.b" size=".1"/><geom name="a-b" size=".1"/>'
    with pytest.raises(SceneError, match=r"geom 'a\.b' and geom 'a-b'"):
        scene(f'<body name="box">{inside}</body>', tmp_path)


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
