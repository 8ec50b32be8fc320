"""Numbers of a run: objects and flags of every row, pixels of a bounded, even choice of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from datagen.report.pixels import PixelFacts, pixel_facts
from datagen.report.selection import shares, spread
from datagen.report.shards import RunShards
from datagen.report.tally import COLUMNS, RunTally, ViewKey, ViewTally

MEASURED_ROWS = 1000
"""Most rows whose pixels are read for brightness and depth."""
FLAGGED_ROWS = 60
"""Most flagged rows that are told one by one."""
BRIGHTNESS_BINS = 16
"""Bars of the brightness histogram, over 0 to 256."""


@dataclass(frozen=True, slots=True)
class DepthRange:
    """Depth over the measured rows [m], pixels that show nothing left out."""

    near: float
    median: float
    """Median of the rows' medians."""
    far: float


@dataclass(frozen=True, slots=True)
class Brightness:
    """Mean luma (Rec. 709 on display values, 0 to 255) of the measured rows."""

    low: float
    mean: float
    median: float
    high: float
    histogram: tuple[int, ...]
    """Rows by brightness, `BRIGHTNESS_BINS` bars of equal width over 0 to 256."""


@dataclass(frozen=True, slots=True)
class ViewStatistics:
    """Rows of one scene, camera and backend."""

    scene_id: str
    camera: str
    backend: str
    rows: int
    sizes: tuple[tuple[int, int], ...]
    """Picture sizes, width and height [px]."""
    boxes: int
    """Tight boxes of all rows."""
    fewest_boxes: int
    most_boxes: int
    flagged: int
    """Rows with at least one flag."""
    redraws: int
    measured_rows: int
    brightness: Brightness | None
    depth: DepthRange | None


@dataclass(frozen=True, slots=True)
class ClassStatistics:
    """Everything of one class; one row may show several objects of it."""

    name: str
    number: int | None
    """Number in the semantic maps; None if the manifest has no such class."""
    objects: int
    """Different objects, counted per scene."""
    boxes: int
    """Tight boxes: an object with a visible pixel in a row."""
    loose_boxes: int
    """Loose boxes: an object inside the picture of a row, hidden or not."""
    pixels: int
    """Visible pixels of all rows."""
    occlusion: float | None
    """Mean share hidden, over all boxes that have one."""


@dataclass(frozen=True, slots=True)
class RunStatistics:
    """Numbers of a finished run."""

    rows: int
    views: tuple[ViewStatistics, ...]
    """By scene, camera and backend, in the order of the rows."""
    classes: tuple[ClassStatistics, ...]
    """By number; those that no row shows are there too."""
    boxes_per_view: tuple[int, ...]
    """Rows by their number of tight boxes, from 0 on."""
    flags: Mapping[str, int]
    """Rows by flag."""
    flagged_rows: int
    """Rows with at least one flag."""
    flagged: tuple[int, ...]
    """Places of the first `FLAGGED_ROWS` flagged rows, counted over the shards."""
    redraws: int
    measured_rows: int
    """Rows whose pixels were read."""
    brightness: Brightness | None
    """None if no measured row shows anything."""
    depth: DepthRange | None

    @property
    def boxes(self) -> int:
        """Tight boxes of all rows."""
        return sum(count * rows for count, rows in enumerate(self.boxes_per_view))


def run_statistics(folder: Path) -> RunStatistics:
    """Count and measure a finished run.

    Objects, boxes and flags are counted over all rows. Brightness and depth are measured on at
    most `MEASURED_ROWS` rows, evenly spread within each scene, camera and backend. Memory holds
    one row group.

    Raises:
        ReadError: The run is not finished, or a file of it is broken.
    """
    shards = RunShards.open(folder)
    return statistics_of(shards, count_rows(shards))


def count_rows(shards: RunShards) -> RunTally:
    """Count objects, boxes and flags of all rows of a run."""
    tally = RunTally(FLAGGED_ROWS)
    for table in shards.tables(COLUMNS):
        tally.add(table)
    return tally


def statistics_of(shards: RunShards, tally: RunTally) -> RunStatistics:
    """Measure a choice of rows, and put all numbers together."""
    facts = _measure(shards, tally)
    every = [fact for found in facts.values() for fact in found]
    histogram = tally.boxes_per_view
    return RunStatistics(
        rows=tally.rows,
        views=tuple(_view(key, view, facts.get(key, [])) for key, view in tally.views.items()),
        classes=_classes(shards, tally),
        boxes_per_view=tuple(histogram[n] for n in range(max(histogram, default=-1) + 1)),
        flags=dict(sorted(tally.flags.items())),
        flagged_rows=sum(view.flagged for view in tally.views.values()),
        flagged=tuple(tally.flagged),
        redraws=sum(view.redraws for view in tally.views.values()),
        measured_rows=len(every),
        brightness=_brightness(every),
        depth=_depth(every),
    )


def _measure(shards: RunShards, tally: RunTally) -> dict[ViewKey, list[PixelFacts]]:
    groups = list(tally.views.values())
    places = shares([view.rows for view in groups], MEASURED_ROWS)
    positions = [
        view.positions[i]
        for view, most in zip(groups, places, strict=True)
        for i in spread(view.rows, most)
    ]
    facts: dict[ViewKey, list[PixelFacts]] = {}
    for row in shards.rows(shards.keys(positions), ("rgb", "depth")):
        key = (row.scene_id, row.camera, row.backend)
        facts.setdefault(key, []).append(pixel_facts(row))
    return facts


def _view(key: ViewKey, tally: ViewTally, facts: list[PixelFacts]) -> ViewStatistics:
    return ViewStatistics(
        *key,
        rows=tally.rows,
        sizes=tuple(sorted(tally.sizes)),
        boxes=tally.boxes,
        fewest_boxes=tally.fewest_boxes,
        most_boxes=tally.most_boxes,
        flagged=tally.flagged,
        redraws=tally.redraws,
        measured_rows=len(facts),
        brightness=_brightness(facts),
        depth=_depth(facts),
    )


def _classes(shards: RunShards, tally: RunTally) -> tuple[ClassStatistics, ...]:
    numbers = {entry.name: entry.id for entry in shards.manifest.classes}
    objects = Counter(name for name, _, _ in tally.objects)
    names = sorted(numbers, key=lambda name: numbers[name])
    names += sorted(set(tally.classes) - set(numbers))
    return tuple(
        ClassStatistics(
            name=name,
            number=numbers.get(name),
            objects=objects[name],
            boxes=tally.classes[name].boxes,
            loose_boxes=tally.classes[name].loose_boxes,
            pixels=tally.classes[name].pixels,
            occlusion=tally.classes[name].occlusion,
        )
        for name in names
    )


def _brightness(facts: Iterable[PixelFacts]) -> Brightness | None:
    values = np.array([fact.brightness for fact in facts if fact.brightness is not None])
    if not values.size:
        return None
    bars, _ = np.histogram(values, BRIGHTNESS_BINS, (0, 256))
    return Brightness(
        low=float(values.min()),
        mean=float(values.mean()),
        median=float(np.median(values)),
        high=float(values.max()),
        histogram=tuple(bars.tolist()),
    )


def _depth(facts: Iterable[PixelFacts]) -> DepthRange | None:
    known = [
        (fact.near, fact.middle, fact.far)
        for fact in facts
        if fact.near is not None and fact.middle is not None and fact.far is not None
    ]
    if not known:
        return None
    near, middle, far = zip(*known, strict=True)
    return DepthRange(min(near), float(np.median(middle)), max(far))
