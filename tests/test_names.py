from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Sdf

from scenes.names import UniqueNames, label_of


@given(st.lists(st.text(max_size=6), max_size=8))
def test_identifiers_are_valid_and_unique_whatever_the_names(names: list[str]) -> None:
    siblings = UniqueNames()
    made = [siblings.identifier(name, "geom", number) for number, name in enumerate(names)]
    assert len(set(made)) == len(made)
    assert all(Sdf.Path.IsValidIdentifier(identifier) for identifier in made)


def test_names_that_collide_after_cleaning_are_told_apart_by_number() -> None:
    siblings = UniqueNames()
    made = [siblings.identifier(name, "geom", 7) for name in ("a b", "a_b", "a.b")]
    assert made == ["a_b", "a_b_7", "a_b_7_"]


def test_unnamed_elements_are_called_by_kind_and_number() -> None:
    assert UniqueNames().identifier(None, "geom", 3) == "geom_3"


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
