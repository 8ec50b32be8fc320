"""Plant every culprit at falling sizes and tell the smallest that the audit names.

    make faults
    python bench/planted_faults.py --views 4     path-traced views of LIBERO for looks, 0 for none

Geometry is planted into a small scene that MuJoCo shows on both sides, looks into LIBERO through
MuJoCo and Mitsuba. A fault counts as found when a finding has its kind and subject; `others` counts
findings that name anything else, which would send a reader the wrong way.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.faults_geometry import faults  # noqa: E402
from bench.faults_looks import libero_views, planted_rows  # noqa: E402
from bench.planted import Row, Stand  # noqa: E402
from datagen.audit.diagnose.geometry.diagnosis import diagnose_geometry  # noqa: E402
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


# The smallest sizes that must be found: pixels, degrees, mm, percent, exponents.
BARS = {
    ("pixel_shift", "px"): 0.5,
    ("field_of_view", "deg"): 1.0,
    ("object_pose", "mm"): 2.0,
    ("object_scale", "%"): 2.0,
    ("double_gamma", ""): 2.2,
    ("light_intensity", "%"): 10.0,
}
_EXPOSURE = "exposure"
"""A whole picture's brightness, which bounce light changes too, has no bar."""


def geometry_rows(stand: Stand, name: str) -> list[Row]:
    """Plant every geometric fault; `name` is the object that moves."""
    rows: dict[tuple[str, str, str], Row] = {}
    for fault in faults(name):
        found = diagnose_geometry(fault.plant(stand))
        named = [
            each
            for each in found
            if each.kind == fault.kind and each.subject.startswith(fault.subject)
        ]
        key = (fault.kind, fault.label, fault.unit)
        row = rows.setdefault(key, Row(*key))
        row.add(fault.size, bool(named), len(found) - len(named))
    return list(rows.values())


def passed(row: Row) -> bool:
    """Tell whether a culprit was found down to its bar, or at all where it has none."""
    smallest = row.smallest()
    bar = None if row.label.startswith(_EXPOSURE) else BARS.get((row.kind, row.unit))
    return smallest is not None and (bar is None or smallest <= bar)


def table(rows: list[Row]) -> list[str]:
    """Lay out a line per culprit and way of planting it."""
    head = ("kind", "planted", "smallest found", "next smaller", "others", "")
    form = "{:28}{:22}{:>15}  {:20}{:>6}  {}"
    lines = [form.format(*head).rstrip()]
    for row in sorted(rows, key=lambda each: each.kind):
        smallest = row.smallest()
        size = "none" if smallest is None else f"{smallest:g} {row.unit}".strip()
        mark = "" if passed(row) else "MISSED"
        cells = (row.kind, row.label, size, row.missed(), row.others, mark)
        lines.append(form.format(*cells).rstrip())
    kinds = {row.kind for row in rows}
    found = {row.kind for row in rows if row.smallest() is not None}
    return [*lines, f"{len(found)} of {len(kinds)} kinds found"]


def main() -> int:
    """Run the bench; exit status 1 where a fault was not named or a clean view raised alarm."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--views", type=int, default=4, help="views of LIBERO")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scene = room(Path(folder))
        stand = Stand.of(scene, scene.info.default_state, "front", Size(256, 192))
        alarms = [str(each) for each in diagnose_geometry(stand.pair(stand.reference))]
        rows = geometry_rows(stand, "box")
        stand.close()
    if options.views:
        looks, false = planted_rows(libero_views(options.views))
        rows += looks
        alarms += false
    print("\n".join(table(rows)))
    print(f"false alarms on {options.views + 1} clean views: {', '.join(alarms) or 'none'}")
    return 0 if all(passed(row) for row in rows) and not alarms else 1


if __name__ == "__main__":
    sys.exit(main())
