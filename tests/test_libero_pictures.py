"""Our MuJoCo picture of a LIBERO scene against the one that the LIBERO package renders."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import scenes
from datagen.backends import Size
from datagen.backends.mujoco.backend import MujocoBackend
from datagen.backends.mujoco.gl import choose_gl
from datagen.labels import Labeler
from scenes import Bundle, SampleLayer

pytestmark = [pytest.mark.libero, pytest.mark.gl]

TASKS = (
    ("libero_spatial", 0),
    ("libero_object", 3),
    ("libero_goal", 5),
    ("libero_10", 2),
    ("libero_90", 40),
)
CASE = Path(__file__).parent / "cases" / "b10-gripper-told-apart" / "case.json"
CAMERAS = ("agentview", "robot0_eye_in_hand")
SCRIPT = """
import os, sys
from pathlib import Path
import numpy as np
folder = Path(sys.argv[1])
from libero.libero import benchmark, get_libero_path
from libero.libero.envs import OffScreenRenderEnv
pictures = {}
for job in sys.argv[2:]:
    suite, index = job.split("/")
    task = benchmark.get_benchmark_dict()[suite]().get_task(int(index))
    bddl = os.path.join(get_libero_path("bddl_files"), task.problem_folder, task.bddl_file)
    env = OffScreenRenderEnv(bddl_file_name=bddl, camera_heights=256, camera_widths=256)
    env.seed(0)
    env.reset()
    seen = env.set_init_state(np.load(folder / f"{suite}_{index}.npy"))
    for camera in ("agentview", "robot0_eye_in_hand"):
        pictures[f"{suite}/{index}/{camera}"] = seen[f"{camera}_image"][::-1]
    env.close()
np.savez(folder / "pictures.npz", **pictures)
"""


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Bundle]:
    requests = [scenes.BundleRequest(suite, index) for suite, index in TASKS]
    return scenes.libero_bundles(requests, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def shown(bundles: list[Bundle]) -> list[SampleLayer]:
    """First stored state of each task."""
    found = []
    for bundle in bundles:
        scene, (state,) = scenes.libero_scene(bundle, [0], "stored", bundle.folder.parents[2])
        found.append(SampleLayer(scene, state))
    return found


def test_pictures_equal_the_packages_own_to_the_byte(
    bundles: list[Bundle], shown: list[SampleLayer], tmp_path: Path
) -> None:
    for (suite, index), bundle in zip(TASKS, bundles, strict=True):
        np.save(tmp_path / f"{suite}_{index}.npy", bundle.states[0])
    platform, _ = choose_gl()
    subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), *(f"{s}/{i}" for s, i in TASKS)],
        env={**os.environ, "MUJOCO_GL": platform, "LIBERO_CONFIG_PATH": str(tmp_path / "config")},
        input="n\n",
        text=True,
        check=True,
        capture_output=True,
    )
    with np.load(tmp_path / "pictures.npz") as pictures:
        for (suite, index), sample in zip(TASKS, shown, strict=True):
            backend = MujocoBackend(colorspace="native")
            backend.open(sample.scene)
            backend.apply(sample)
            for camera in CAMERAS:
                ours = backend.render(camera, Size(256, 256), {"rgb"}).rgb
                assert ours is not None
                theirs = pictures[f"{suite}/{index}/{camera}"]
                assert np.array_equal(ours, theirs), f"{suite}/{index}/{camera}"
            backend.close()


def test_gripper_and_mount_are_labelled_apart_from_the_arm(
    bundles: list[Bundle], shown: list[SampleLayer]
) -> None:
    (told,) = json.loads(CASE.read_text())["expect"]["rule"]["classes_include"]
    # An arm on a mount and one on the ground.
    for bundle, sample in zip(bundles[:2], shown[:2], strict=True):
        scene, model = sample.scene, bundle.load_model()
        classes = sorted({each.label for each in scene.info.objects})
        numbers = {name: number for number, name in enumerate(classes, 1)}
        labeler, size = Labeler(scene, numbers), Size(64, 64)
        # MuJoCo's names of bodies say whose a pixel is.
        owners = {
            part.part: model.body(model.geom_bodyid[part.geom_id]).name.split("_")[0]
            for part in scene.info.parts
        }
        backend = MujocoBackend()
        backend.open(scene)
        backend.apply(sample)
        for camera in CAMERAS:
            view = labeler.labels(sample, camera, size, backend.render(camera, size, {"part"}))
            for name in ("robot0", "gripper0", "mount0"):
                here = np.isin(view.part, [part for part, owner in owners.items() if owner == name])
                labels = {each.instance: each.label for each in view.objects if each.name == name}
                assert len(labels) == (name in owners.values())
                assert np.array_equal(np.isin(view.instance, [*labels]), here)
                found = [numbers[label] for label in labels.values()]
                assert np.array_equal(np.isin(view.semantic, found), here)
                if name == "gripper0":
                    assert here.sum() > 20
                    assert all(told in label.split("_") for label in labels.values())
        backend.close()
