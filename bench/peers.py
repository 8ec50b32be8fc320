"""Our stages opened by Blender, Newton and USD's own validators.

    make peers
    python bench/peers.py --blender .venv/blender/bin/python --out out/peers

Three LIBERO tasks, an MJCF, a URDF and a USD source. Blender brings a Python of its own (3.11), so
it runs in an environment of its own; a program that crashes is a row of the table, not the end.
One stage is drawn by Blender (`blender.png`), to be looked at.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scenes import (  # noqa: E402
    Scene,
    convert_mjcf,
    convert_urdf,
    convert_usd,
    libero_bundle,
    libero_scene,
)
from scenes.sources.urdf.config import UrdfConfig  # noqa: E402
from scenes.sources.usd.config import UsdConfig  # noqa: E402

SUITES = ("libero_spatial", "libero_object", "libero_goal")
CASES = ROOT / "tests" / "cases"
BLENDER = """
import sys, bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.wm.usd_import(filepath=sys.argv[1])
meshes = [o for o in bpy.data.objects if o.type == "MESH"]
print("RESULT", len(meshes), "meshes,", sum(len(o.data.polygons) for o in meshes), "faces")
if len(sys.argv) > 2:
    scene = bpy.context.scene
    camera = next(o for o in bpy.data.objects if o.type == "CAMERA")
    scene.camera = camera
    scene.render.engine, scene.cycles.samples, scene.cycles.device = "CYCLES", 16, "CPU"
    scene.render.resolution_x = scene.render.resolution_y = 256
    scene.render.filepath = sys.argv[2]
    bpy.ops.render.render(write_still=True)
"""
NEWTON = """
import sys, newton
builder = newton.ModelBuilder()
builder.add_usd(sys.argv[1])
print("RESULT", builder.body_count, "bodies,", builder.shape_count, "shapes")
"""
VALIDATORS = """
import sys
from collections import Counter
from pxr import Usd, UsdValidation
registry = UsdValidation.ValidationRegistry()
context = UsdValidation.ValidationContext(registry.GetOrLoadAllValidators())
found = Counter(e.GetName() for e in context.Validate(Usd.Stage.Open(sys.argv[1])))
print("RESULT", ", ".join(f"{n} {name}" for name, n in found.items()) or "nothing to say")
"""


def stages(folder: Path, cache: Path) -> Iterator[tuple[str, Scene]]:
    """Name and scene of each source."""
    for suite in SUITES:
        bundle = libero_bundle(suite, 0, cache=cache)
        yield f"{suite}_00", libero_scene(bundle, [0], "stored", folder)[0]
    yield "mjcf", convert_mjcf(CASES / "a32-lights" / "scene.xml", folder / "mjcf")
    robot = UrdfConfig(path=CASES / "a62-urdf-material-by-name" / "robot.urdf")
    yield "urdf", convert_urdf(folder / "urdf", robot)
    stage = UsdConfig(path=CASES / "a40-usd-nested-instancers" / "scene.usda")
    yield "usd", convert_usd(folder / "usd", stage)


def opened(python: Path, program: str, *arguments: str) -> tuple[str, bool]:
    """What a program says of a stage in its last line, or how it ended, and whether it opened."""
    command = [str(python), "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    said = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if done.returncode == 0 and said:
        return said[-1].removeprefix("RESULT "), True
    last = (done.stderr.strip().splitlines() or ["no word"])[-1]
    return f"exit {done.returncode}: {last[:120]}", False


def main() -> int:
    """Open all stages everywhere; 1 where one does not open."""
    parser = argparse.ArgumentParser(description="Our stages in other programs.")
    parser.add_argument("--blender", type=Path, required=True, help="Python that has bpy")
    parser.add_argument("--newton", type=Path, default=Path(sys.executable))
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "peers")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "datagen")
    settings = parser.parse_args()
    settings.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    picture = str(settings.out.absolute() / "blender.png")
    with tempfile.TemporaryDirectory() as folder:
        for name, scene in stages(Path(folder), settings.cache):
            path = str(scene.folder / "scene.usda")
            drawn = (picture,) if name == "libero_spatial_00" else ()
            for program, python, text, more in (
                ("Blender", settings.blender, BLENDER, drawn),
                ("Newton", settings.newton, NEWTON, ()),
                ("validators", Path(sys.executable), VALIDATORS, ()),
            ):
                said, whole = opened(python, text, path, *more)
                failed += not whole
                print(f"{name:20} {program:11} {said}", flush=True)
    print(f"{failed} did not open; look at {picture}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
