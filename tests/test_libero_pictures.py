"""Our MuJoCo picture of a LIBERO scene against the one that the LIBERO package renders."""

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

pytestmark = [pytest.mark.libero, pytest.mark.gl]

TASKS = (
    ("libero_spatial", 0),
    ("libero_object", 3),
    ("libero_goal", 5),
    ("libero_10", 2),
    ("libero_90", 40),
)
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


def test_pictures_equal_the_packages_own_to_the_byte(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    requests = [scenes.BundleRequest(suite, index) for suite, index in TASKS]
    bundles = scenes.libero_bundles(requests, cache)
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
        for (suite, index), bundle in zip(TASKS, bundles, strict=True):
            scene, (state,) = scenes.libero_scene(bundle, [0], "stored", cache)
            backend = MujocoBackend(colorspace="native")
            backend.open(scene)
            backend.apply(scenes.SampleLayer(scene, state))
            for camera in CAMERAS:
                ours = backend.render(camera, Size(256, 256), {"rgb"}).rgb
                theirs = pictures[f"{suite}/{index}/{camera}"]
                assert np.array_equal(ours, theirs), f"{suite}/{index}/{camera}"
            backend.close()
