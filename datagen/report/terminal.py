"""What a run holds, as tables for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from datagen.progress import counted, refusal_lines
from datagen.report.statistics import Brightness, DepthRange, RunStatistics, ViewStatistics
from writers import Manifest

_VIEW_LINES = 40
"""Most lines of the table of views."""
_PIPE_WIDTH = 160
_BARS = " ▁▂▃▄▅▆▇█"


def print_statistics(
    folder: Path, manifest: Manifest, statistics: RunStatistics, console: Console | None = None
) -> None:
    """Print the numbers of a run.

    Args:
        folder: Run folder, named in the first line.
        manifest: Manifest of the run.
        statistics: Numbers of the run.
        console: Where to print; standard output by default.
    """
    if console is None:
        console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH, highlight=False)
    size = sum(shard.bytes for shard in manifest.shards) / 1e6
    console.print(Text(_clean(str(folder)), style="bold"), soft_wrap=True)
    unfinished = unfinished_line(manifest)
    if unfinished:
        console.print(Text(unfinished, style="yellow"), soft_wrap=True)
    console.print(_facts(manifest, statistics, size))
    console.print(_views(statistics))
    hidden = len(statistics.views) - _VIEW_LINES
    if hidden > 0:
        console.print(f"... and {hidden} more, all in report.html")
    console.print(_classes(statistics))
    for line in refusal_lines(manifest.refused):
        console.print(Text(_clean(line), style="yellow"), soft_wrap=True)


def unfinished_line(manifest: Manifest) -> str:
    """Say how far a run is that is not finished; empty for one that is."""
    planned = manifest.summary.get("planned")
    if not isinstance(planned, dict):
        return ""
    return (
        f"Not finished: {manifest.row_count} of {planned['rows']} rows, "
        f"{len(manifest.shards)} of {planned['shards']} shards. Give the command of the run again "
        "to complete it."
    )


def _facts(manifest: Manifest, statistics: RunStatistics, size: float) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    scenes = len({view.scene_id for view in statistics.views})
    table.add_row(
        "rows",
        f"{statistics.rows} in {counted(len(manifest.shards), 'shard')} ({size:.1f} MB), "
        f"{counted(scenes, 'scene')}, seed {manifest.seed}",
    )
    table.add_row("backends", Text(_clean(", ".join(manifest.backends))))
    counts = statistics.boxes_per_view
    if statistics.rows:
        mean = statistics.boxes / statistics.rows
        least = next(n for n, rows in enumerate(counts) if rows)
        bars = _bars(counts[least:])
        table.add_row("boxes per view", f"{least} {bars} {len(counts) - 1}, mean {mean:.1f}")
    if statistics.brightness:
        told = statistics.brightness
        table.add_row(
            "brightness",
            f"0 {_bars(told.histogram)} 255, {told.low:.0f} to {told.high:.0f}, "
            f"mean {told.mean:.0f} ({counted(statistics.measured_rows, 'row')} measured)",
        )
    if statistics.depth:
        table.add_row(
            "depth", f"{_depth(statistics.depth)} m, median {statistics.depth.median:.2f} m"
        )
    table.add_row("redraws", str(statistics.redraws))
    kinds = ", ".join(f"{count} {flag}" for flag, count in statistics.flags.items())
    flagged = counted(statistics.flagged_rows, "row") + (f": {_clean(kinds)}" if kinds else "")
    table.add_row("flagged", Text(flagged, style="yellow" if kinds else ""))
    return table


def _views(statistics: RunStatistics) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("scene", overflow="fold", ratio=1)
    table.add_column("camera", overflow="fold")
    table.add_column("backend")
    for name in ("rows", "boxes/view", "depth [m]", "brightness", "flagged"):
        table.add_column(Text(name), justify="right")
    before = ""
    for view in statistics.views[:_VIEW_LINES]:
        scene = "" if view.scene_id == before else view.scene_id
        before = view.scene_id
        table.add_row(*(Text(_clean(cell)) for cell in (scene, *_view_cells(view))))
    return table


def _view_cells(view: ViewStatistics) -> tuple[str, ...]:
    return (
        view.camera,
        view.backend,
        str(view.rows),
        f"{view.boxes / view.rows:.1f} ({view.fewest_boxes} to {view.most_boxes})",
        _depth(view.depth),
        _brightness(view.brightness),
        str(view.flagged or ""),
    )


def _classes(statistics: RunStatistics) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("class", overflow="fold")
    for name in ("number", "objects", "boxes", "loose boxes", "mean pixels", "mean hidden"):
        table.add_column(name, justify="right")
    for each in statistics.classes:
        table.add_row(
            Text(_clean(each.name)),
            "" if each.number is None else str(each.number),
            str(each.objects),
            str(each.boxes),
            str(each.loose_boxes),
            f"{each.pixels / each.boxes:.0f}" if each.boxes else "",
            "" if each.occlusion is None else f"{each.occlusion:.0%}",
            style="" if each.boxes else "dim",
        )
    return table


def _depth(depth: DepthRange | None) -> str:
    return f"{depth.near:.2f} to {depth.far:.2f}" if depth else ""


def _brightness(told: Brightness | None) -> str:
    return f"{told.mean:.0f} ({told.low:.0f} to {told.high:.0f})" if told else ""


def _bars(values: Sequence[int]) -> str:
    most = max(values, default=0)
    steps = len(_BARS) - 1
    return "".join(_BARS[-(-value * steps // most)] if most else " " for value in values)


def _clean(text: str) -> str:
    """Replace control characters, with which a name could steer the terminal."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
