"""Counts that grow row group by row group."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

ViewKey = tuple[str, str, str]
"""Scene, camera and backend."""

_OBJECT_LEAVES = ("instance", "class", "x0", "loose_x0", "pixels_visible", "occlusion")
COLUMNS = (
    "scene_id",
    "camera",
    "backend",
    "width",
    "height",
    "redraws",
    "flags",
    *(f"objects.list.element.{name}" for name in _OBJECT_LEAVES),
)
"""Leaves of the shards that are counted."""


@dataclass(slots=True)
class ViewTally:
    """Counts of one scene, camera and backend."""

    positions: array[int] = field(default_factory=lambda: array("q"))
    """Places of the rows in the run."""
    sizes: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    boxes: int = 0
    fewest_boxes: int = 0
    most_boxes: int = 0
    flagged: int = 0
    redraws: int = 0

    @property
    def rows(self) -> int:
        """Rows so far."""
        return len(self.positions)

    def add(self, position: int, size: tuple[int, int], boxes: int, redraws: int) -> None:
        """Count a row."""
        self.fewest_boxes = min(self.fewest_boxes, boxes) if self.positions else boxes
        self.most_boxes = max(self.most_boxes, boxes)
        self.boxes += boxes
        self.redraws += redraws
        self.positions.append(position)
        self.sizes.add(size)


@dataclass(slots=True)
class ClassTally:
    """Counts of one class."""

    boxes: int = 0
    loose_boxes: int = 0
    pixels: int = 0
    occlusion_sum: float = 0.0
    occlusion_count: int = 0

    @property
    def occlusion(self) -> float | None:
        """Mean occlusion; None without one."""
        return self.occlusion_sum / self.occlusion_count if self.occlusion_count else None


class RunTally:
    """Counts of a run.

    Args:
        listed: Most flagged rows whose places are kept.
    """

    def __init__(self, listed: int) -> None:
        self.rows = 0
        self.views: dict[ViewKey, ViewTally] = {}
        self.classes: defaultdict[str, ClassTally] = defaultdict(ClassTally)
        self.objects: set[tuple[str, str, int]] = set()
        """Class, scene and instance of every object that occurs."""
        self.boxes_per_view: Counter[int] = Counter()
        self.flags: Counter[str] = Counter()
        self.flagged: list[int] = []
        self._listed = listed

    def add(self, table: pa.Table) -> None:
        """Count the rows of a table that holds `COLUMNS`."""
        objects = table.column("objects").combine_chunks()
        lengths = pc.fill_null(objects.value_lengths(), 0).to_numpy(zero_copy_only=False)
        entries = objects.flatten()
        seen = entries.field("x0").is_valid().to_numpy(zero_copy_only=False)
        self._add_rows(table, _sums(seen, lengths))
        self._add_objects(entries, seen, table.column("scene_id").to_pylist(), lengths)

    def _add_rows(self, table: pa.Table, boxes: NDArray[np.int64]) -> None:
        names = ("scene_id", "camera", "backend", "width", "height", "redraws", "flags")
        columns = (table.column(name).to_pylist() for name in names)
        for count, values in zip(boxes.tolist(), zip(*columns, strict=True), strict=True):
            scene_id, camera, backend, width, height, redraws, flags = values
            view = self.views.setdefault((scene_id, camera, backend), ViewTally())
            view.add(self.rows, (width, height), count, redraws or 0)
            if flags:
                view.flagged += 1
                self.flags.update(set(flags))
                if len(self.flagged) < self._listed:
                    self.flagged.append(self.rows)
            self.boxes_per_view[count] += 1
            self.rows += 1

    def _add_objects(
        self,
        entries: pa.StructArray,
        seen: NDArray[np.bool_],
        scenes: list[str],
        lengths: NDArray[np.int32],
    ) -> None:
        encoded = entries.field("class").dictionary_encode()
        names: list[str] = encoded.dictionary.to_pylist()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        loose = entries.field("loose_x0").is_valid().to_numpy(zero_copy_only=False)
        pixels = pc.fill_null(entries.field("pixels_visible"), 0).to_numpy(zero_copy_only=False)
        occlusion = entries.field("occlusion")
        hidden = pc.fill_null(occlusion, 0.0).to_numpy(zero_copy_only=False).astype(np.float64)
        has_hidden = occlusion.is_valid().to_numpy(zero_copy_only=False)
        for code, name in enumerate(names):
            mine = codes == code
            tally = self.classes[name]
            tally.boxes += int(seen[mine].sum())
            tally.loose_boxes += int(loose[mine].sum())
            tally.pixels += int(pixels[mine].sum(dtype=np.int64))
            tally.occlusion_sum += float(hidden[mine].sum())
            tally.occlusion_count += int(has_hidden[mine].sum())
        instances = entries.field("instance").to_numpy(zero_copy_only=False)
        known = list(dict.fromkeys(scenes))
        scene_codes = np.repeat([known.index(scene) for scene in scenes], lengths)
        for code, scene, instance in np.unique(
            np.stack([codes, scene_codes, instances]), axis=1
        ).T.tolist():
            self.objects.add((names[code], known[scene], instance))


def _sums(values: NDArray[np.bool_], lengths: NDArray[np.int32]) -> NDArray[np.int64]:
    """Add up runs of `values` that are `lengths` long."""
    totals = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    ends = np.cumsum(lengths, dtype=np.int64)
    return totals[ends] - totals[ends - lengths]
