from __future__ import annotations

from pathlib import Path

import mujoco
import pytest
from pydantic import ValidationError

from scenes import SceneError, convert_mjcf
from scenes.convert.grouping import (
    Grouping,
    ObjectName,
    body_object,
    drawn_geoms,
    world_geom_object,
)
from scenes.sources.mjcf.config import MjcfConfig

VISUAL = "contype='0' conaffinity='0'"


def drawn(worldbody: str, groups: frozenset[int] | None = None) -> set[str]:
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{worldbody}</worldbody></mujoco>")
    return {model.geom(geom).name for geom in drawn_geoms(model, groups)}


def body(geoms: str) -> str:
    return f"<body><freejoint/>{geoms}<geom size='.1' group='3' rgba='0 0 0 0'/></body>"


@pytest.mark.parametrize(
    ("worldbody", "names"),
    [
        # MuJoCo's own groups, menagerie's and robosuite's.
        (body("<geom name='a' size='1'/><geom name='b' size='1' group='2'/>"), {"a", "b"}),
        (
            body(
                f"<geom name='c' size='1' group='3'/><geom name='v' size='1' group='2' {VISUAL}/>"
            ),
            {"v"},
        ),
        (body(f"<geom name='c' size='1'/><geom name='v' size='1' group='1' {VISUAL}/>"), {"v"}),
        # A group 0 that does not only collide is drawn, and so is one without visuals beside it.
        (
            body(
                f"<geom name='n' size='1' {VISUAL}/><geom name='c' size='1'/>"
                f"<geom name='v' size='1' group='1' {VISUAL}/>"
            ),
            {"n", "c", "v"},
        ),
        (
            body("<geom name='c' size='1'/>")
            + body(f"<geom name='v' size='1' group='1' {VISUAL}/>"),
            {"c", "v"},
        ),
        # The floor of such a model stays, unless the world follows the convention too.
        (
            "<geom name='floor' type='plane' size='1 1 1'/>"
            + body(f"<geom name='c' size='1'/><geom name='v' size='1' group='1' {VISUAL}/>"),
            {"floor", "v"},
        ),
        (
            "<geom name='floor' type='plane' size='1 1 1'/>"
            f"<geom name='w' size='1' group='1' {VISUAL}/>"
            + body(f"<geom name='c' size='1'/><geom name='v' size='1' group='1' {VISUAL}/>"),
            {"w", "v"},
        ),
    ],
)
def test_what_is_drawn_follows_the_models_convention(worldbody: str, names: set[str]) -> None:
    assert drawn(worldbody) == names


def test_groups_asked_for_win_over_every_convention() -> None:
    geoms = "<geom name='c' size='1'/><geom name='far' size='1' group='5'/>"
    assert drawn(body(geoms), frozenset({5})) == {"far"}


def test_transparent_geoms_are_never_drawn() -> None:
    assert drawn("<geom name='a' size='1' rgba='1 1 1 0'/>", frozenset(range(6))) == set()


MODEL = mujoco.MjModel.from_xml_string(
    "<mujoco><worldbody><geom name='Wall 1' size='1'/><geom size='1'/>"
    "<body name='Mug'><geom size='1'/><body name='handle'><geom size='1'/></body></body>"
    "<body><geom size='1'/></body></worldbody></mujoco>"
)


def test_a_root_body_with_all_below_it_is_one_object() -> None:
    owners = [body_object(MODEL, number, Grouping()) for number in (1, 2, 3)]
    assert owners[0] == owners[1] == ObjectName("Mug", "mug")
    assert owners[2] == ObjectName("body_3", "body_3")


def test_every_geom_of_the_world_is_an_object() -> None:
    assert world_geom_object(MODEL, 0, Grouping()) == ObjectName("Wall 1", "wall_1")
    assert world_geom_object(MODEL, 1, Grouping()) == ObjectName("world_1", "world")


def test_names_of_the_source_win() -> None:
    lid, wall = ObjectName("lid", "lid"), ObjectName("walls", "wall", "arena")
    grouping = Grouping(bodies={"handle": lid}, world_geoms={"#1": wall})
    assert body_object(MODEL, 2, grouping) is lid
    assert world_geom_object(MODEL, 1, grouping) is wall


@pytest.mark.parametrize(
    "xml", ["<body name='***'><geom size='1'/></body>", "<geom name=' . ' size='1'/>"]
)
def test_a_name_without_letters_is_of_the_class_unnamed(tmp_path: Path, xml: str) -> None:
    (tmp_path / "m.xml").write_text(f"<mujoco><worldbody>{xml}</worldbody></mujoco>")
    made = convert_mjcf(tmp_path / "m.xml", tmp_path / "out")
    assert [each.label for each in made.info.objects] == ["unnamed"]


@pytest.mark.parametrize("name", ["", "  ", "a\0b", "a\nb", "--"])
def test_objects_of_a_source_have_names_with_a_letter_or_digit(name: str) -> None:
    with pytest.raises(ValidationError, match="objects"):
        MjcfConfig.model_validate({"path": Path("m.xml"), "objects": {name: {"label": "a"}}})
    MjcfConfig.model_validate({"path": Path("m.xml"), "objects": {"blå kopp 1": {"label": "a"}}})


@pytest.mark.parametrize(
    ("objects", "told"),
    [
        ({"a": {"label": "a", "bodies": ("hut",)}}, "objects.a: body 'hut': there is none. .*cup"),
        ({"a": {"label": "a", "geoms": ("rim",)}}, "geom of the world 'rim': .*Known: wall, #1"),
        (
            {"a": {"label": "a", "geoms": ("#1",)}, "b": {"label": "b", "geoms": ("#1",)}},
            "objects.b: geom of the world '#1': it belongs to objects.a already",
        ),
    ],
)
def test_an_object_of_what_is_not_there_is_refused(
    tmp_path: Path, objects: dict[str, object], told: str
) -> None:
    path = tmp_path / "m.xml"
    path.write_text(
        "<mujoco><worldbody><geom name='wall' size='1'/><geom size='1'/>"
        "<body name='cup'><geom name='rim' size='1'/></body></worldbody></mujoco>"
    )
    source = MjcfConfig.model_validate({"path": path, "objects": objects})
    with pytest.raises(SceneError, match=told):
        convert_mjcf(path, tmp_path / "out", source=source)
    assert not (tmp_path / "out").exists()
