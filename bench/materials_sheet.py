"""Show MuJoCo's pictures beside both rules for materials.

python bench/materials_sheet.py docs/materials.webp                      three LIBERO tasks
python bench/materials_sheet.py --model scene.xml docs/materials_lamp.webp
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from datagen.backends import Size  # noqa: E402
from datagen.backends.registry import open_backend  # noqa: E402
from datagen.configuration.config import cache_folder  # noqa: E402
from datagen.run.exposure import EXPOSURE, scene_exposure  # noqa: E402
from scenes import SampleLayer, Scene, convert_mjcf, libero_bundle, libero_scene  # noqa: E402
from scenes.convert.settings import MaterialRule  # noqa: E402
from scenes.sources.mjcf.config import MjcfConfig  # noqa: E402

SIZE = Size(256, 256)
TASKS = (0, 3, 7)


def main() -> None:
    """Render and write the sheet."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, help="an MJCF model instead of LIBERO")
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.model:
            rows = list(model_rows(options.model, Path(folder)))
        else:
            rows = [row for task in TASKS for row in libero_rows(task)]
    blocks = [rows] if options.model else [rows[::2], rows[1::2]]
    columns = [np.concatenate(block) for block in blocks]
    Image.fromarray(np.concatenate(columns, axis=1)).save(options.out, quality=85)


def model_rows(model: Path, folder: Path) -> Iterator[np.ndarray]:
    """Give a row of pictures per camera of a model."""
    scenes = {
        rule: convert_mjcf(model, folder / rule, source=MjcfConfig(path=model, materials=rule))
        for rule in get_args(MaterialRule)
    }
    for camera in scenes["mujoco"].info.cameras:
        yield row(scenes, camera.name)


def libero_rows(task: int) -> Iterator[np.ndarray]:
    """Give a row of pictures per camera of a LIBERO task."""
    cache = cache_folder()
    bundle = libero_bundle("libero_spatial", task, cache=cache)
    scenes = {
        rule: libero_scene(bundle, [0], "settled", cache, materials=rule)[0]
        for rule in get_args(MaterialRule)
    }
    for camera in ("agentview", "robot0_eye_in_hand"):
        yield row(scenes, camera)


def row(scenes: dict[MaterialRule, Scene], camera: str) -> np.ndarray:
    """MuJoCo's picture, then one path traced by each rule."""
    pictures: list[np.ndarray] = []
    for scene in scenes.values():
        state = scene.state_names[0]
        sample = SampleLayer(scene, state)
        tracer = open_backend("mitsuba", {"spp": 16})
        tracer.open(scene)
        sample.set(EXPOSURE, scene_exposure(scene, tracer, state))
        for backend in [tracer] if pictures else [open_backend("mujoco"), tracer]:
            if backend is not tracer:
                backend.open(scene)
            backend.apply(sample)
            rgb = backend.render(camera, SIZE, {"rgb"}).rgb
            assert rgb is not None
            pictures.append(rgb)
            backend.close()
    return np.concatenate(pictures, axis=1)


if __name__ == "__main__":
    main()
