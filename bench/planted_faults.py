"""Plant every geometric culprit at falling sizes and tell the smallest that the audit names.

    python bench/planted_faults.py                         a small MJCF scene
    python bench/planted_faults.py --scene FOLDER --camera NAME --object NAME

A fault counts as found when a finding has its kind and subject; `others` counts findings that name
anything else, which would send a reader the wrong way.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.faults_geometry import faults  # noqa: E402
from bench.planted import Stand  # noqa: E402
from datagen.audit.diagnose_geometry import diagnose_geometry  # noqa: E402
from datagen.backends import Size  # noqa: E402
from scenes import Scene, convert_mjcf  # noqa: E402

ROOM = """
<mujoco>
  <worldbody>
    <light pos="1 -1 2" dir="-1 1 -2"/>
    <camera name="front" pos=".1 -1.3 1" xyaxes="1 .1 0 0 .6 .8" fovy="50"/>
    <geom name="floor" type="box" size=".7 .6 .02" pos="0 0 -.02" rgba=".5 .5 .4 1"/>
    <geom name="wall" type="plane" size="2 2 .1" pos="0 1.2 0" zaxis="0 -1 .2"/>
    <body name="ball" pos="-.3 0 .15"><freejoint/><geom name="ball" size=".15"/></body>
    <body name="box" pos=".3 .1 .1" euler="0 0 20"><freejoint/>
      <geom name="box" type="box" size=".12 .16 .1" rgba=".7 .3 .2 1"/></body>
    <body name="can" pos="0 -.25 .1"><freejoint/>
      <geom name="can" type="cylinder" size=".06 .1"/>
      <geom name="lid" type="cylinder" size=".05 .02" pos="0 0 .12"/></body>
    <body name="pill" pos=".1 .35 .1" euler="0 70 20"><freejoint/>
      <geom name="pill" type="capsule" size=".07 .12"/></body>
  </worldbody>
</mujoco>
"""


def room(folder: Path) -> Scene:
    """Convert the small scene."""
    path = folder / "room.xml"
    path.write_text(ROOM, encoding="utf-8")
    return convert_mjcf(path, folder / "scene")


def report(stand: Stand, name: str) -> bool:
    """Print one line per kind and way of planting; tell whether all were found."""
    rows: dict[tuple[str, str, str], list[tuple[float, bool, int]]] = {}
    for fault in faults(name):
        found = diagnose_geometry(fault.plant(stand))
        named = [
            each
            for each in found
            if each.kind == fault.kind and each.subject.startswith(fault.subject)
        ]
        row = (abs(fault.size), bool(named), len(found) - len(named))
        rows.setdefault((fault.kind, fault.label, fault.unit), []).append(row)
    print(f"{'kind':28}{'planted':24}{'sizes':>6}{'found':>6}{'smallest':>12}{'others':>8}")
    for (kind, label, unit), tried in rows.items():
        sizes = [size for size, named, _ in tried if named]
        smallest = f"{min(sizes):g} {unit}" if sizes else "none"
        others = sum(each for _, _, each in tried)
        print(f"{kind:28}{label:24}{len(tried):6}{len(sizes):6}{smallest:>12}{others:8}")
    return all(named for tried in rows.values() for _, named, _ in tried)


def main() -> int:
    """Run the bench; exit status 1 where a fault was not named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scene", type=Path)
    parser.add_argument("--camera", default="front")
    parser.add_argument("--object", default="box")
    parser.add_argument("--size", type=int, nargs=2, default=(256, 192))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene.open(options.scene) if options.scene else room(Path(folder))
        stand = Stand.of(scene, scene.info.default_state, options.camera, Size(*options.size))
        try:
            return 0 if report(stand, options.object) else 1
        finally:
            stand.close()


if __name__ == "__main__":
    sys.exit(main())
