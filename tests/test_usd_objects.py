from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from usd_stages import CUBE, mesh, translate, write

from scenes import Scene, SceneError, convert_usd
from scenes.sources.usd.config import UsdConfig, UsdObject
from scenes.sources.usd.objects import short_names

LABEL = '(prepend apiSchemas = ["SemanticsLabelsAPI:class"]) '
LABELS = 'token[] semantics:labels:class = ["{}"]\n'
RIGID = '(prepend apiSchemas = ["PhysicsRigidBodyAPI"]) '


def converted(folder: Path, content: str, **settings: Any) -> Scene:
    path = write(folder, content)
    return convert_usd(folder / "out", UsdConfig(path=path, **settings))


def labels(scene: Scene) -> dict[str, str]:
    return {thing.name: thing.label for thing in scene.info.objects}


def thing(name: str, inside: str, schemas: str = "", more: str = "") -> str:
    return f'def Xform "{name}" {schemas}{{\n{more}{inside}\n}}\n'


def test_children_of_the_default_prim_and_of_its_scopes_are_objects(tmp_path: Path) -> None:
    inside = thing("Cup", mesh("a") + mesh("b")) + thing("Plate_2", mesh("a"))
    scene = converted(tmp_path, f'def Scope "Props" {{ {inside} }}\n' + mesh("floor"))
    assert labels(scene) == {"Cup": "cup", "Plate_2": "plate_2", "floor": "floor"}
    cup = scene.info.objects[0].instance
    assert [part.instance for part in scene.info.parts].count(cup) == 2


def test_the_nearest_authored_class_label_wins(tmp_path: Path) -> None:
    inner = thing("cup", mesh("a"), LABEL, LABELS.format("Coffee Cup"))
    kitchen = thing("k", inner + mesh("wall"), LABEL, LABELS.format("kitchen"))
    scene = converted(tmp_path, kitchen)
    assert labels(scene) == {"cup": "coffee_cup", "k": "kitchen"}


def test_labels_of_the_older_schema_are_read(tmp_path: Path) -> None:
    schemas = '(prepend apiSchemas = ["SemanticsAPI:Semantics_x"]) '
    more = (
        'string semantic:Semantics_x:params:semanticType = "class"\n'
        'string semantic:Semantics_x:params:semanticData = "mug"\n'
    )
    assert labels(converted(tmp_path, thing("a", mesh("m"), schemas, more))) == {"a": "mug"}


def test_path_rules_group_and_name_objects(tmp_path: Path) -> None:
    shelf = thing("s", thing("tin_1", mesh("a")) + thing("tin_2", mesh("a")) + mesh("board"))
    rules = {
        "{name}": UsdObject(label="tin", paths=("/W/**/tin_?",)),
        "shelf": UsdObject(label="furniture", paths=("/W/s", "/W/leg*")),
    }
    scene = converted(tmp_path, shelf + mesh("leg_1") + mesh("leg_2"), objects=rules)
    assert labels(scene) == {"tin_1": "tin", "tin_2": "tin", "shelf": "furniture"}
    assert [part.instance for part in scene.info.parts].count(3) == 3


def test_a_star_stays_within_a_name(tmp_path: Path) -> None:
    rules = {"x": UsdObject(label="x", paths=("/W/*/a",))}
    nested = thing("p", thing("q", mesh("a")))
    with pytest.raises(SceneError, match=r"objects\.x: no prim .* fits /W/\*/a"):
        converted(tmp_path, nested, objects=rules)


def test_objects_of_one_name_are_told_apart_by_what_is_above_them(tmp_path: Path) -> None:
    twice = "".join(
        f'def Scope "{side}" {{ {thing("cup", mesh("a"))} }}\n' for side in ("left", "right")
    )
    assert list(labels(converted(tmp_path, twice))) == ["cup", "right/cup"]


def test_rigid_bodies_are_free_and_others_stand_still(tmp_path: Path) -> None:
    content = (
        thing("loose", mesh("a"), RIGID)
        + thing("held", mesh("a"), RIGID, "bool physics:kinematicEnabled = 1\n")
        + thing("hinged", mesh("a"), RIGID)
        + thing("fixed", mesh("a"))
        + thing("movable", mesh("a"))
        + 'def PhysicsRevoluteJoint "hinge" { rel physics:body1 = </W/hinged>\n}\n'
    )
    rules = {"movable": UsdObject(label="m", paths=("/W/movable",), free=True)}
    scene = converted(tmp_path, content, objects=rules)
    assert {body.name: body.free for body in scene.info.bodies} == {
        "loose": True, "held": False, "hinged": False, "fixed": False, "movable": True,
    }  # fmt: skip
    report = (scene.folder / "report.json").read_text()
    assert "joint /W/hinge: not read" in report


def test_a_free_body_has_the_mass_that_the_stage_states(tmp_path: Path) -> None:
    schemas = RIGID.replace('"]', '", "PhysicsMassAPI"]')
    scene = converted(tmp_path, thing("a", mesh("m"), schemas, "float physics:mass = 3\n"))
    assert scene.load_model().body("a").mass == pytest.approx(3.0)


def test_hidden_guides_collide_for_what_is_drawn(tmp_path: Path) -> None:
    guide = (
        'def Cube "box" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {\n'
        'double size = 2\nuniform token purpose = "guide"\nfloat3 xformOp:scale = (1, 2, 3)\n'
        'uniform token[] xformOpOrder = ["xformOp:scale"]\n}\n'
    )
    scene = converted(tmp_path, thing("a", mesh("m") + guide))
    model = scene.load_model()
    (collider,) = (g for g in range(model.ngeom) if model.geom_contype[g])
    assert model.geom_size[collider].tolist() == [1, 2, 3]
    assert collider != scene.info.parts[0].geom_id
    proxies = [p for p in scene.stage.Traverse() if p.GetPath().GetParentPath().name == "collision"]
    assert len(proxies) == 1


def test_without_colliders_all_that_is_drawn_collides(tmp_path: Path) -> None:
    flat = CUBE.replace("-1)", "1)")
    scene = converted(tmp_path, thing("a", mesh("m")) + thing("flat", mesh("m", flat)))
    model = scene.load_model()
    assert sum(model.geom_contype) == 2
    # What is flat has no hull: a thin box collides for it.
    (box,) = (g for g in range(model.ngeom) if model.geom_contype[g] and model.geom_type[g] == 6)
    assert sorted(model.geom_size[box].tolist()) == pytest.approx([5e-4, 1, 1])


def test_what_is_not_drawn_is_counted_or_named(tmp_path: Path) -> None:
    content = (
        mesh("m")
        + mesh("hidden", more='token visibility = "invisible"')
        + mesh("proxy", more='uniform token purpose = "proxy"')
        + 'def Points "cloud" { point3f[] points = [(0,0,0)]\n}\n'
    )
    scene = converted(tmp_path, content)
    assert [part.name for part in scene.info.parts] == ["m"]
    report = (scene.folder / "report.json").read_text()
    for sentence in (
        "1 prims: invisible, so not drawn",
        "1 prims: of purpose proxy, so not drawn",
        "/W/cloud: a Points is not drawn",
    ):
        assert sentence in report


def test_instances_are_read_as_copies(tmp_path: Path) -> None:
    content = thing("proto", mesh("m")) + "".join(
        f'def "copy_{k}" (instanceable = true\nprepend references = </W/proto>) {{\n'
        f"{translate(3 * k, 0, 0)}}}\n"
        for k in (1, 2)
    )
    scene = converted(tmp_path, content)
    assert list(labels(scene)) == ["proto", "copy_1", "copy_2"]
    poses = scene.world_transforms([body.path for body in scene.info.bodies])
    assert [float(pose[0, 3]) for pose in poses] == [0, 3, 6]


def test_point_instancers_are_written_out_with_their_looks(tmp_path: Path) -> None:
    red = (
        'def Material "red" { token outputs:surface.connect = </W/red/s.outputs:surface>\n'
        'def Shader "s" { uniform token info:id = "UsdPreviewSurface"\n'
        "color3f inputs:diffuseColor = (1, 0, 0)\ntoken outputs:surface\n}\n}\n"
    )
    cube = mesh("m", more="rel material:binding = </W/red>")
    many = (
        f'def PointInstancer "many" {{ {translate(0, 0, 10)}'
        "rel prototypes = [</W/many/a>, </W/many/b>]\nint[] protoIndices = [0, 1, 0]\n"
        "point3f[] positions = [(1,0,0), (2,0,0), (9,0,0)]\nint64[] invisibleIds = [2]\n"
        f"float3[] scales = [(1,1,1), (2,2,2), (1,1,1)]\n{thing('a', cube)}{thing('b', cube)}}}\n"
    )
    scene = converted(tmp_path, red + many)
    assert list(labels(scene)) == ["many_0", "many_1"]
    poses = scene.world_transforms([body.path for body in scene.info.bodies])
    assert [pose[:3, 3].tolist() for pose in poses] == [[1, 0, 10], [2, 0, 10]]
    sizes = [np.ptp(scene.triangles(part.path).points, axis=0) for part in scene.info.parts]
    np.testing.assert_allclose(sizes, [[2, 2, 2], [4, 4, 4]], rtol=1e-6)
    model = scene.load_model()
    materials = {int(model.geom_matid[part.geom_id]) for part in scene.info.parts}
    np.testing.assert_allclose(model.mat_rgba[list(materials)], [[1, 0, 0, 1]], atol=1e-6)
    report = (scene.folder / "report.json").read_text()
    assert "/W/many: a PointInstancer, shown as 3 copies" in report


@pytest.mark.parametrize(
    ("indices", "message"),
    [("[0, 1]", r"/W/many: protoIndices\[1\] = 1; there are 1 prototypes"), ("[0]", "1 protoInd")],
)
def test_instancers_that_do_not_fit_are_refused(tmp_path: Path, indices: str, message: str) -> None:
    many = (
        'def PointInstancer "many" { rel prototypes = [</W/many/a>]\n'
        f"int[] protoIndices = {indices}\npoint3f[] positions = [(1,0,0), (2,0,0)]\n"
        f"{thing('a', mesh('m'))}}}\n"
    )
    with pytest.raises(SceneError, match=message):
        converted(tmp_path, many)


def test_hidden_instancers_show_nothing(tmp_path: Path) -> None:
    for number, hidden in enumerate(('token visibility = "invisible"', 'token purpose = "guide"')):
        many = (
            f'def PointInstancer "many" {{ {hidden}\nrel prototypes = [</W/many/a>]\n'
            "int[] protoIndices = [0]\npoint3f[] positions = [(1,0,0)]\n"
            f"{thing('a', mesh('m'))}}}\n"
        )
        scene = converted(tmp_path / str(number), many + mesh("seen"))
        assert [part.name for part in scene.info.parts] == ["seen"]


def test_a_stage_with_nothing_to_see_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="nothing in this stage is drawn"):
        converted(tmp_path, 'def Camera "c" {}')


def test_names_are_as_short_as_they_can_be() -> None:
    names = short_names(["/W/a/m", "/W/b/m", "/W/b/n", "/W/x_m/y", "/W/x/m_y"])
    assert names == {
        "/W/a/m": "a/m", "/W/b/m": "b/m", "/W/b/n": "n", "/W/x_m/y": "y", "/W/x/m_y": "m_y",
    }  # fmt: skip


def test_every_prim_names_the_prim_it_came_from(tmp_path: Path) -> None:
    scene = converted(tmp_path, thing("cup", mesh("m")))
    (part,) = scene.info.parts
    for path, origin in ((part.path, "/W/cup/m"), (part.body, "/W/cup")):
        note = scene.stage.GetPrimAtPath(path).GetCustomDataByKey("datagen")
        assert note["prim"] == origin
