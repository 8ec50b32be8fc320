"""Hold every task of LIBERO's standard suites against MuJoCo, and print one table.

    make sweep
    python bench/libero_sweep.py --set 'scenes=[{libero: {suite: libero_goal}}]'
    python bench/libero_sweep.py --read out/libero_suites/audit      an audit made before

The audit of `configs/libero_suites.yaml` does the work; this adds up its views by suite, checks
that no scene lost an element, and holds against their bars what single views do not know: the mean,
and the share of all differing pixels that is explained. Exit code 0 if every bar is met, else 5.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from datagen.audit.command import audit_command  # noqa: E402
from datagen.configuration.config import load_config  # noqa: E402
from datagen.progress import SilentProgress  # noqa: E402
from datagen.run.preparation import prepare_run  # noqa: E402

CONFIG = ROOT / "configs" / "libero_suites.yaml"
MEAN_AGREEMENT = 0.9998
"""Least mean agreement of part ids over all views."""
EXPLAINED = 0.99
"""Least share of the differing pixels of all views that are ties or lie on an edge."""
COLUMNS = (
    ("views", "", ""),
    ("ids min", "ids.agreement", "min"),
    ("ids mean", "ids.agreement", "mean"),
    ("interior misses", "ids.interior_misses", "sum"),
    ("explained", "ids.explained", "explained"),
    ("depth p99.9 [m]", "depth.p999", "max"),
    ("albedo min [dB]", "albedo.psnr", "min"),
    ("filtered min [dB]", "albedo.filtered_psnr", "min"),
    ("light min [dB]", "light.psnr", "min"),
)


def main() -> int:
    """Audit, or read an audit, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--set", dest="overrides", action="append", default=[])
    parser.add_argument("--read", type=Path, help="folder of an audit.json made before")
    arguments = parser.parse_args()
    config = load_config(CONFIG, arguments.overrides, {})
    folder = arguments.read or config.output / "audit"
    if arguments.read is None:
        _, lines = audit_command(
            CONFIG,
            run=None,
            rows=None,
            overrides=arguments.overrides,
            output=folder,
            limit=None,
            save_baseline=None,
            against=None,
        )
        print("\n".join(lines))
    results = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    views = results["views"]
    suites: dict[str, list[Mapping[str, Any]]] = {}
    for view in views:
        suites.setdefault(view["scene_id"].rpartition("_")[0], []).append(view)
    print_table({**suites, "all": views})
    losses = lost_elements(config)
    print(f"\n{losses or 'No scene'} lost an element.")
    mean = mean_of(views, "ids.agreement")
    print(f"Mean agreement of ids {mean:.4%}, bar {MEAN_AGREEMENT:.2%}.")
    print(f"Explained {explained(views):.2%} of the differing pixels, bar {EXPLAINED:.0%}.")
    failed = [view for view in views if not view["passed"]]
    for view in failed:
        print_failure(view)
    whole = not losses and not results["refused"] and not failed
    return 0 if whole and mean >= MEAN_AGREEMENT and explained(views) >= EXPLAINED else 5


def print_table(groups: Mapping[str, list[Mapping[str, Any]]]) -> None:
    """Print a line per group of views."""
    names = ["suite", *(title for title, _, _ in COLUMNS)]
    rows = [names, ["---"] * len(names)]
    for name, views in groups.items():
        cells = (cell(views, metric, kind) for _, metric, kind in COLUMNS)
        rows.append([name, *cells])
    for row in rows:
        print(f"| {' | '.join(row)} |")


def cell(views: list[Mapping[str, Any]], metric: str, kind: str) -> str:
    """Give one number of a group of views as text."""
    if not metric:
        return str(len(views))
    if kind == "explained":
        return f"{explained(views):.2%}"
    values = [float(view["metrics"][metric]) for view in views if metric in view["metrics"]]
    if not values:
        return "-"
    value = {"min": min, "max": max, "sum": sum, "mean": lambda v: sum(v) / len(v)}[kind](values)
    if metric == "ids.agreement":
        return f"{value:.3%}"
    return f"{value:.2g}" if value < 1e-2 else f"{value:.1f}"


def mean_of(views: Iterable[Mapping[str, Any]], metric: str) -> float:
    """Mean of a metric over views."""
    values = [float(view["metrics"][metric]) for view in views]
    return sum(values) / len(values)


def explained(views: Iterable[Mapping[str, Any]]) -> float:
    """Share of the differing pixels of views that are ties or lie on an edge."""
    differing = left = 0.0
    for view in views:
        metrics = view["metrics"]
        width, height = view["size"]
        differing += (1.0 - float(metrics["ids.agreement"])) * width * height
        left += float(metrics["ids.unexplained"])
    return 1.0 - left / differing if differing else 1.0


def lost_elements(config: Any) -> str:
    """Name the scenes with an element that did not come out, empty if there are none."""
    lost: list[str] = []
    for scene_id, scene in prepare_run(config, SilentProgress()).scenes.items():
        report = json.loads((scene.folder / "report.json").read_text(encoding="utf-8"))
        came_out = report["counts_out"]
        fewer = [
            kind
            for kind, count in report["counts_in"].items()
            if came_out.get(COUNTED_AS.get(kind, kind), 0) < count
        ]
        if fewer:
            lost.append(f"{scene_id} ({', '.join(fewer)})")
    return ", ".join(lost)


COUNTED_AS = {"actuators": "joint drives"}
"""Kinds that are called otherwise in a stage."""


def print_failure(view: Mapping[str, Any]) -> None:
    """Print what failed in a view, one line each."""
    key = f"{view['scene_id']} {view['camera']}"
    for failure in view["failures"]:
        subject = f" of {failure['object']}" if failure["object"] else ""
        print(f"{key}: {failure['metric']}{subject} = {failure['value']}")
    for finding in view["findings"]:
        print(f"{key}: {finding['sentence']}")


if __name__ == "__main__":
    sys.exit(main())
