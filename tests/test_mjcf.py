from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pxr import Usd, UsdGeom, UsdSemantics

from scenes import AssetError, Scene, SceneError, convert_mjcf, mjcf_scene
from scenes.convert.settings import ObjectGroup
from scenes.sources.mjcf.config import MjcfConfig

ROOM = """
<mujoco><statistic meaninertia="1"/>
<asset><mesh name="m" file="tet.obj"/>
<texture name="t" type="2d" builtin="checker" width="8" height="8"/>
<texture type="skybox" builtin="gradient" width="8" height="8"/>
<material name="tiled" texture="t"/></asset><worldbody>
<light name="sun" pos="0 0 3"/><camera name="front" pos="0 -3 1" xyaxes="1 0 0 0 0 1"/>
<geom name="floor" type="plane" size="2 2 .1" material="tiled"/>
<geom name="cup" type="box" size=".1 .1 .1" pos="1 1 0"/>
<geom type="box" size=".1 .1 .1" pos="-1 1 0"/>
<geom name="ghost" size=".1" group="4" contype="0" conaffinity="0"/>
<site name="mark"/>
<body name="cup" pos="0 0 1"><freejoint/><geom name="cup_mesh" type="mesh" mesh="m"/>
<body name="Cup Lid"><joint name="h"/><geom size=".05"/></body></body>
</worldbody><keyframe><key name="tipped" qpos="0 0 .5 1 0 0 0 .3"/></keyframe></mujoco>
"""
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"


@pytest.fixture
def room(tmp_path: Path) -> Path:
    folder = tmp_path / "room"
    folder.mkdir()
    (folder / "tet.obj").write_text(TETRAHEDRON)
    (folder / "room.xml").write_text(ROOM)
    return folder / "room.xml"


@pytest.fixture
def scene(room: Path) -> Scene:
    return convert_mjcf(room, room.parent / "out")


def test_stage_states_units_default_prim_and_labels(scene: Scene) -> None:
    for file in ("base.usdc", "scene.usda"):
        stage = Usd.Stage.Open(str(scene.folder / file))
        assert UsdGeom.GetStageUpAxis(stage) == "Z"
        assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
        assert stage.GetMetadata("kilogramsPerUnit") == 1.0
        assert stage.GetDefaultPrim().GetPath() == "/World"
    for info in scene.info.objects:
        prim = scene.stage.GetPrimAtPath(info.path)
        assert list(UsdSemantics.LabelsAPI(prim, "class").GetLabelsAttr().Get()) == [info.label]


def test_objects_are_root_bodies_and_world_geoms_with_names_of_their_own(scene: Scene) -> None:
    # The world's geom `cup` comes after the body of that name; the unnamed one has the number 2.
    assert {o.name: o.label for o in scene.info.objects} == {
        "cup": "cup",
        "floor": "floor",
        "cup_3": "cup",
        "world_2": "world",
    }
    assert len({o.path for o in scene.info.objects}) == 4
    assert [b.path for b in scene.info.bodies if b.instance == 1] == [
        "/World/cup/cup",
        "/World/cup/Cup_Lid",
    ]
    assert [b.free for b in scene.info.bodies if b.instance == 1] == [True, False]


def test_every_object_can_be_hidden_by_a_sample(scene: Scene) -> None:
    for info in scene.info.objects:
        assert scene.authored(f"{info.path}.visibility") == "inherited"


def test_parts_remember_their_geom_and_number_from_one(scene: Scene) -> None:
    model = scene.load_model()
    assert [part.part for part in scene.info.parts] == list(range(1, 6))
    for part in scene.info.parts:
        data = scene.stage.GetPrimAtPath(part.path).GetCustomDataByKey("datagen")
        assert data["kind"] == "geom" and data["id"] == part.geom_id
        assert data["name"] == model.geom(part.geom_id).name
        mesh = UsdGeom.Mesh(scene.stage.GetPrimAtPath(part.path))
        assert mesh.GetSubdivisionSchemeAttr().Get() == "none"
        assert set(mesh.GetFaceVertexCountsAttr().Get()) == {3}
        assert mesh.GetNormalsInterpolation() == "vertex"


def test_report_accounts_for_every_element(scene: Scene) -> None:
    report = json.loads((scene.folder / "report.json").read_text(encoding="utf-8"))
    for kind in ("bodies", "drawn geoms", "cameras", "lights"):
        assert report["counts_in"][kind] == report["counts_out"][kind], kind
    assert any(line.startswith("geom ghost: not drawn (group 4") for line in report["left_out"])
    assert any(line.startswith("1 sites") for line in report["left_out"])


def test_an_object_that_no_picture_shows_is_a_caveat(room: Path, tmp_path: Path) -> None:
    report = convert_mjcf(room, tmp_path / "all").folder / "report.json"
    assert json.loads(report.read_text(encoding="utf-8"))["caveats"] == []
    room.write_text(ROOM.replace('<geom name="cup" type', '<geom name="cup" group="3" type'))
    report = convert_mjcf(room, tmp_path / "less").folder / "report.json"
    caveats = json.loads(report.read_text(encoding="utf-8"))["caveats"]
    assert caveats == ["object cup_3: no geom of it is drawn; no picture shows it"]


def test_mujocos_warnings_land_in_the_report_alone(
    room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    scene = convert_mjcf(room, tmp_path / "out")
    report = json.loads((scene.folder / "report.json").read_text(encoding="utf-8"))
    assert [w for w in report["warnings"] if "meaninertia" in w]
    assert list(Path.cwd().iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_a_group_of_the_source_joins_bodies_and_world_geoms_in_one_object(
    room: Path, tmp_path: Path
) -> None:
    group = ObjectGroup(label="set", bodies=("cup", "Cup Lid"), geoms=("floor", "#2"))
    source = MjcfConfig(path=room, objects={"dinner": group})
    scene = convert_mjcf(room, tmp_path / "out", source=source)
    assert [o.name for o in scene.info.objects] == ["dinner", "cup"]
    dinner = [part.name for part in scene.info.parts if part.instance == 1]
    assert sorted(dinner) == ["cup_mesh", "floor", "geom_2", "geom_5"]


def test_drawn_groups_of_the_source_win(room: Path, tmp_path: Path) -> None:
    source = MjcfConfig(path=room, drawn_groups=(4,))
    scene = convert_mjcf(room, tmp_path / "out", source=source)
    assert [part.name for part in scene.info.parts] == ["ghost"]


def test_unknown_keyframe_is_answered_with_the_known_ones(room: Path, tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"no keyframe 'tiped'\. Known: tipped\."):
        convert_mjcf(room, tmp_path / "out", source=MjcfConfig(path=room, keyframe="tiped"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("tet.obj", "lost.obj", "mesh 'm': no such file: {folder}/lost.obj"),
        ('file="tet.obj"', 'vertex="0 0 0"', "MuJoCo refuses this model: "),
        ("<worldbody>", "<wordlbody>", "MuJoCo refuses this model: XML parse error"),
        (
            "<asset>",
            "<asset><texture name='p' type='2d' file='no.png'/>",
            "texture 'p': no such file: {folder}/no.png",
        ),
    ],
)
def test_bad_models_are_refused_in_one_sentence_and_nothing_is_written(
    room: Path, tmp_path: Path, old: str, new: str, words: str
) -> None:
    room.write_text(ROOM.replace(old, new, 1))
    with pytest.raises(AssetError) as error:
        convert_mjcf(room, tmp_path / "deep" / "out")
    assert str(error.value).startswith(f"{room}: {words.format(folder=room.parent)}")
    assert "\n" not in str(error.value)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["room"]


def test_deforming_shapes_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(
        "<mujoco><worldbody><flexcomp name='cloth' type='grid' count='3 3 1' spacing='.1 .1 .1'"
        " radius='.01' mass='1'/></worldbody></mujoco>"
    )
    with pytest.raises(SceneError, match="flex 'cloth' cannot be converted"):
        convert_mjcf(tmp_path / "m.xml", tmp_path / "out")
    assert [f.name for f in tmp_path.iterdir()] == ["m.xml"]


def test_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match=r"none\.xml: no such file\."):
        convert_mjcf(tmp_path / "none.xml", tmp_path / "out")


def test_existing_output_is_left_alone(room: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(SceneError, match=r"out: already exists"):
        convert_mjcf(room, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_unwritable_output_is_one_sentence(room: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SceneError, match=r"file/out: cannot be written: "):
        convert_mjcf(room, tmp_path / "file" / "out")


def test_a_failed_conversion_leaves_nothing_behind(
    room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("scenes.convert.model.write_stack", full)
    with pytest.raises(SceneError, match=r"out: cannot be written: No space left on device\."):
        convert_mjcf(room, tmp_path / "out")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["room"]


DIGESTS = """
import hashlib, sys
from pathlib import Path
from scenes import convert_mjcf
scene = convert_mjcf(Path(sys.argv[1]), Path(sys.argv[2]))
for file in sorted(scene.folder.rglob("*")):
    if file.is_file():
        print(file.relative_to(scene.folder), hashlib.sha256(file.read_bytes()).hexdigest())
"""


def test_two_processes_write_the_same_bytes(room: Path, tmp_path: Path) -> None:
    found = []
    for seed in ("1", "2"):
        command = [sys.executable, "-c", DIGESTS, str(room), str(tmp_path / seed / "out")]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path.cwd())}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        found.append(done.stdout)
    assert found[0] == found[1]
    assert {line.split()[0] for line in found[0].splitlines()} >= {"base.usdc", "model.mjb"}


def test_a_scene_opens_without_warnings(scene: Scene, capfd: pytest.CaptureFixture[str]) -> None:
    Usd.Stage.Open(str(scene.folder / "scene.usda")).Flatten()
    assert capfd.readouterr() == ("", "")


def test_a_scene_may_be_moved(scene: Scene, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    scene.folder.rename(moved)
    again = Scene.open(moved)
    files = [p.GetAttribute("inputs:file") for p in again.stage.Traverse()]
    paths = [file.Get().resolvedPath for file in files if file]
    assert paths and all(Path(path).is_relative_to(moved) for path in paths)
    again.load_model()


@pytest.mark.parametrize("edited", ["room.xml", "tet.obj", "settings"])
def test_cached_scene_is_reused_until_something_changes(
    room: Path, tmp_path: Path, edited: str
) -> None:
    source = MjcfConfig(path=room)
    first = mjcf_scene(source, tmp_path / "cache")
    stamp = (first.folder / "base.usdc").stat().st_mtime_ns
    again = mjcf_scene(source, tmp_path / "cache")
    assert again.folder == first.folder
    assert (again.folder / "base.usdc").stat().st_mtime_ns == stamp
    if edited == "room.xml":
        room.write_text(ROOM.replace('pos="1 1 0"', 'pos="1 1.5 0"'))
    elif edited == "tet.obj":
        (room.parent / "tet.obj").write_text(TETRAHEDRON.replace("v 1 0 0", "v 2 0 0"))
    else:
        source = MjcfConfig(path=room, keyframe="tipped")
    other = mjcf_scene(source, tmp_path / "cache")
    assert other.folder != first.folder
    assert (other.info.digest == first.info.digest) == (edited == "settings")


def test_converters_version_is_part_of_the_cache_key(
    room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = mjcf_scene(MjcfConfig(path=room), tmp_path / "cache")
    monkeypatch.setattr("scenes.sources.cache.CONVERTER", 10**6)
    assert mjcf_scene(MjcfConfig(path=room), tmp_path / "cache").folder != first.folder


def test_names_in_another_encoding_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "latin.xml"
    path.write_bytes(
        '<mujoco><worldbody><geom name="é" size=".1"/></worldbody></mujoco>'.encode("latin-1")
    )
    with pytest.raises(AssetError, match=r"latin\.xml: the name '.*' is not UTF-8"):
        convert_mjcf(path, tmp_path / "out")
    assert [each.name for each in tmp_path.iterdir()] == ["latin.xml"]
