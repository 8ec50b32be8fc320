"""Rows of a finished run, made again and held against what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from datagen.audit.results import StoredRow
from datagen.audit.session import AuditSession
from datagen.audit.views import Wanted
from datagen.backends import Size
from datagen.backends.registry import capabilities
from datagen.configuration.config import RunConfig
from datagen.configuration.file import apply_overrides
from datagen.errors import ConfigError
from datagen.report.selection import shares, spread
from datagen.report.shards import RunShards, View
from datagen.run.plan import RunPlan
from datagen.run.source_paths import released_scenes
from scenes import SampleLayer
from writers import PLAN_NAME, ReadError, Row, read_plan

_CHECKED = ("rgb", "part", "depth")
_CHANGEABLE = ("audit", "cache")


class StoredRun:
    """A finished run: its config and plan, and rows of it.

    Args:
        folder: The run folder.
        overrides: Settings of the audit, or the cache, each as `audit.a.b=value`.

    Raises:
        ReadError: The run is not finished, or a file of it is broken.
        DatagenError: Its plan is of another version.
        ConfigError: Its config is not one of this version, or an override would change its rows.
    """

    def __init__(self, folder: Path, overrides: Iterable[str] = ()) -> None:
        self.shards = RunShards.open(folder)
        self.shards.verify()
        record = _plan_of(folder)
        data = {**cast(dict[str, Any], record["config"]), "output": str(folder)}
        if isinstance(data.get("scenes"), list):
            data["scenes"] = released_scenes(cast(list[Any], data["scenes"]), folder)
        for override in overrides:
            if override.partition("=")[0].strip().partition(".")[0] not in _CHANGEABLE:
                raise ConfigError(
                    f"--set {override}: the rows of a run are made again as they are; "
                    f"what can be set is {' and '.join(_CHANGEABLE)}."
                )
            apply_overrides(data, [override])
        self.config = RunConfig.from_data(data, str(folder / "plan.json"))
        self.plan = RunPlan.from_json(cast(dict[str, Any], record["plan"]))
        self.versions = cast(dict[str, str], record["versions"])

    def chosen(self, count: int) -> tuple[Wanted, ...]:
        """Choose views, evenly over scenes and cameras; the same run gives the same choice."""
        by_place: dict[tuple[str, str], list[View]] = {}
        seen_views: list[View] = []  # In the order of the rows, thus of each scene's cameras.
        columns = ("scene_id", "episode_index", "frame_index", "camera")
        for table in self.shards.tables(columns):
            for row in zip(*(table.column(name).to_pylist() for name in columns), strict=True):
                views = by_place.setdefault((row[0], row[3]), [])
                if not views or views[-1] != row:
                    views.append(cast(View, row))
                    seen_views.append(cast(View, row))
        places = shares([len(views) for views in by_place.values()], count)
        chosen = {
            views[i]
            for views, most in zip(by_place.values(), places, strict=True)
            for i in spread(len(views), most)
        }
        cameras: dict[tuple[str, int, int], tuple[str, ...]] = {}
        for view in seen_views:
            if view in chosen:
                cameras[view[:3]] = (*cameras.get(view[:3], ()), view[3])
        return tuple(
            Wanted(frame, seen)
            for frame in self.plan.frames
            if (seen := cameras.get((frame.scene_id, frame.episode_index, frame.frame_index)))
        )

    def rows(self, wanted: Sequence[Wanted]) -> dict[View, dict[str, Row]]:
        """Read the stored rows of views, by backend."""
        views = {
            (each.frame.scene_id, each.frame.episode_index, each.frame.frame_index, camera)
            for each in wanted
            for camera in each.cameras
        }
        found: dict[View, dict[str, Row]] = {}
        positions = range(sum(shard.rows for shard in self.shards.manifest.shards))
        keys = [key for key in self.shards.keys(positions) if key.view in views]
        for row in self.shards.rows(keys, _CHECKED):
            view = (row.scene_id, row.episode_index, row.frame_index, row.camera)
            found.setdefault(view, {})[row.backend] = row
        return found


def _plan_of(folder: Path) -> dict[str, JsonValue]:
    """Read the plan file of a run; one that is whole but of another kind is refused."""
    record = read_plan(folder)
    for name in ("config", "plan", "versions"):
        if not isinstance(record.get(name), dict):
            raise ReadError(f"{folder / PLAN_NAME}: not the plan of a run: it has no '{name}'.")
    return record


def remade_rows(
    session: AuditSession, sample: SampleLayer, camera: str, rows: dict[str, Row]
) -> Iterator[StoredRow]:
    """Make the rows of a view again as the run made them, and compare.

    Args:
        session: The scene.
        sample: Sample of the frame.
        camera: Name of the camera.
        rows: Stored rows of the view, by backend.
    """
    for backend in session.run_backends():
        if backend.name not in rows:
            continue
        row = rows[backend.name]
        backend.apply(sample)
        passes = capabilities()[backend.name].intersection(session.config.buffers)
        buffers = backend.render(camera, Size(row.width, row.height), passes)
        differences = [
            difference
            for name in _CHECKED
            if (difference := _difference(name, getattr(row, name), getattr(buffers, name)))
        ]
        yield StoredRow(row.row_id, tuple(differences))


def _difference(name: str, stored: NDArray[Any] | None, made: NDArray[Any] | None) -> str:
    if stored is None or made is None:
        return "" if stored is made else f"{name}: only one of the two has it"
    if stored.shape != made.shape:
        return f"{name}: stored as {stored.shape}, made as {made.shape}"
    stored, made = np.ascontiguousarray(stored), np.ascontiguousarray(made)
    if stored.dtype == made.dtype and stored.tobytes() == made.tobytes():
        return ""
    unequal = (stored != made) if stored.ndim == 2 else (stored != made).any(axis=-1)
    if not unequal.any() and stored.dtype != made.dtype:
        return ""
    with np.errstate(invalid="ignore"):
        gap = np.abs(stored.astype(np.float64) - made.astype(np.float64))
    largest = float(gap[np.isfinite(gap)].max(initial=0.0))
    return f"{name}: {int(unequal.sum())} of {unequal.size} pixels differ, by up to {largest:g}"
