"""The audit: the same samples by several renderers, compared view by view."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from datagen.audit.baseline import Baseline, BaselineWriter
from datagen.audit.caveats import read_caveats
from datagen.audit.config import Threshold, flat
from datagen.audit.measure.measure import Compare, compare_everything, measure
from datagen.audit.results import AuditResults, AuditView, Kind, StoredRow
from datagen.audit.stored import StoredRun, remade_rows
from datagen.audit.views import ShownView, Wanted, planned_views, shown_views
from datagen.configuration.config import RunConfig
from datagen.progress import RunProgress
from datagen.run.plan import RunPlan, build_plan, choose_cameras, know_cameras
from datagen.run.preparation import PreparedScenes, prepare_scenes, scene_cameras
from datagen.run.sources import plan_scenes
from datagen.run.versions import library_versions, version_changes
from datagen.stopwatch import Stopwatch


def audit(
    config: RunConfig,
    progress: RunProgress,
    *,
    save_baseline: Path | None = None,
    compare: Compare = compare_everything,
    watch: Stopwatch | None = None,
) -> AuditResults:
    """Compare the renderers that a config names, on the samples that a run of it would show.

    Args:
        config: The config; its `audit` names the renderers, and `limit` counts views.
        progress: Told of every view.
        save_baseline: File to keep what every renderer shows in, for later comparisons.
        compare: What measures a view.
        watch: Where the time is added up.

    Raises:
        ConfigError: There is nothing to compare, or a name in the config does not exist.
        scenes.SceneError: Every scene is refused.
        BackendError: A renderer cannot run or failed.
        WriteError: The baseline cannot be written.
    """
    reference, *candidates = config.audit.backends
    if not candidates and save_baseline is None:
        raise config.problem(
            f"audit.backends: {reference} alone has nothing to be compared with; name two "
            "backends, or save a baseline, or compare with one (--against)."
        )
    run = _Run(config, progress, watch)
    thresholds = flat(config.audit.thresholds)
    keeping = nullcontext() if save_baseline is None else BaselineWriter(save_baseline)
    views: list[AuditView] = []
    with keeping as writer:
        for shown in run.shown():
            views += _compared(shown, config, thresholds, compare, run.watch)
            if writer is not None:
                writer.add(shown)
        if writer is not None:
            writer.finish(run.versions, run.described, run.deciding)
    return run.results("backends", reference, candidates, thresholds, views)


def audit_against(
    config: RunConfig,
    file: Path,
    progress: RunProgress,
    *,
    compare: Compare = compare_everything,
    watch: Stopwatch | None = None,
) -> AuditResults:
    """Compare what renderers show now with what a baseline keeps of them.

    Args:
        config: The config; the renderers of its `audit` that the baseline knows are compared.
        file: The baseline.
        progress: Told of every view.
        compare: What measures a view.
        watch: Where the time is added up.

    Raises:
        ReadError: The file is no baseline.
        ConfigError: The baseline knows none of the renderers or views.
    """
    with Baseline.open(file) as baseline:
        names = tuple(name for name in config.audit.backends if name in baseline.backends)
        if not names:
            raise config.problem(
                f"audit.backends: {file} knows none of {', '.join(config.audit.backends)}; "
                f"it has {', '.join(baseline.backends)}."
            )
        settings = config.audit.model_copy(update={"backends": names})
        run = _Run(config.model_copy(update={"audit": settings}), progress, watch)
        thresholds = flat(settings.baseline)
        views: list[AuditView] = []
        for shown in run.shown():
            for side in shown.sides:
                kept = baseline.side(shown, side.backend)
                if kept is None:
                    continue
                pair = shown.session.pair(shown.frame, shown.camera, kept.side, side)
                notes = (*kept.notes, *baseline.signature_notes(shown, side))
                views.append(measure(pair, settings, thresholds, compare, run.watch, notes))
        if not views:
            raise config.problem(f"{file} has none of the views that this config shows.")
        changes = (
            *baseline.changes(run.versions, run.described, run.deciding),
            *baseline.unseen(names),
        )
        return run.results("baseline", "baseline", names, thresholds, views, changes=changes)


def audit_run(
    folder: Path,
    rows: int,
    progress: RunProgress,
    *,
    overrides: Sequence[str] = (),
    compare: Compare = compare_everything,
    watch: Stopwatch | None = None,
) -> AuditResults:
    """Make views of a finished run again: hold them against its rows, and compare renderers.

    Args:
        folder: The run folder.
        rows: Views to look at, evenly chosen; all rows of a chosen view are made again.
        progress: Told of every view.
        overrides: Settings of the audit, each as `audit.a.b=value`.
        compare: What measures a view.
        watch: Where the time is added up.

    Raises:
        ReadError: The run is not finished, or a file of it is broken.
        ConfigError: Its config cannot be read, or a setting does not exist.
    """
    made = StoredRun(folder, overrides)
    config = made.config
    wanted = made.chosen(rows)
    kept = made.rows(wanted)
    run = _Run(config, progress, watch, made.plan, wanted)
    thresholds = flat(config.audit.thresholds)
    reference, *candidates = config.audit.backends
    views: list[AuditView] = []
    stored: list[StoredRow] = []
    for shown in run.shown():
        views += _compared(shown, config, thresholds, compare, run.watch)
        frame = shown.frame
        key = (frame.scene_id, frame.episode_index, frame.frame_index, shown.camera)
        with run.watch("rows made again"):
            stored += remade_rows(shown.session, shown.sample, shown.camera, kept[key])
    before = {name: made.versions[name] for name in run.versions if name in made.versions}
    changes = version_changes(before, {name: run.versions[name] for name in before})
    results = run.results("run", reference, candidates, thresholds, views, changes=changes)
    refused = {**made.shards.manifest.refused, **results.refused}
    return replace(results, stored=tuple(stored), refused=refused)


def _compared(
    shown: ShownView,
    config: RunConfig,
    thresholds: Mapping[str, Threshold],
    compare: Compare,
    watch: Stopwatch,
) -> Iterator[AuditView]:
    reference, *others = shown.sides
    for candidate in others:
        pair = shown.session.pair(shown.frame, shown.camera, reference, candidate)
        fine = shown.session.fine(reference.backend, candidate.backend, shown.camera)
        yield measure(pair, config.audit, thresholds, compare, watch, fine=fine)


class _Run:
    """What every kind of audit has: a plan, its scenes, and the views shown one by one."""

    def __init__(
        self,
        config: RunConfig,
        progress: RunProgress,
        watch: Stopwatch | None,
        plan: RunPlan | None = None,
        wanted: Sequence[Wanted] | None = None,
    ) -> None:
        self.watch = watch or Stopwatch()
        self.versions = library_versions()
        self.described: dict[str, dict[str, str]] = {}
        self.deciding: dict[str, Any] = json.loads(
            config.model_dump_json(exclude={"output", "workers", "cache", "limit"})
        )
        self._progress = progress
        self._title = config.output.name
        self._config = config
        # With one backend a view counts as one row of the limit.
        single = config.model_copy(update={"backends": config.backends[:1]})
        sources = choose_cameras(single, plan_scenes(config)) if plan is None else ()
        self._plan = plan or build_plan(single, sources)
        self._wanted = planned_views(self._plan) if wanted is None else wanted
        self._prepared = self._prepare()
        if plan is None:
            known = scene_cameras(self._prepared.scenes)
            self._plan = build_plan(single, know_cameras(sources, known))
        if wanted is None:
            self._wanted = planned_views(self._plan)
        self._wanted = tuple(
            each for each in self._wanted if each.frame.scene_id in self._prepared.scenes
        )

    def shown(self) -> Iterator[ShownView]:
        """Show the views."""
        return shown_views(
            self._config,
            self._plan.scenes,
            self._prepared.scenes,
            self._wanted,
            self._progress,
            self.watch,
            self.described,
        )

    def results(
        self,
        kind: Kind,
        reference: str,
        candidates: Sequence[str],
        thresholds: Mapping[str, Threshold],
        views: Sequence[AuditView],
        *,
        changes: tuple[str, ...] = (),
    ) -> AuditResults:
        """Put the results together."""
        return AuditResults(
            kind=kind,
            title=self._title,
            reference=reference,
            candidates=tuple(candidates),
            thresholds=thresholds,
            views=tuple(views),
            caveats=tuple(
                read_caveats(scene_id, scene.folder, (each.name for each in scene.info.objects))
                for scene_id, scene in self._prepared.scenes.items()
            ),
            versions=self.versions,
            changes=changes,
            refused=self._prepared.refused,
            backends=self.described,
            config=self.deciding,
            findings_fail=self._config.audit.findings == "fail",
            full_views=self._config.audit.full_views,
        )

    def _prepare(self) -> PreparedScenes:
        names = {each.frame.scene_id for each in self._wanted}
        scenes = [scene for scene in self._plan.scenes if scene.scene_id in names]
        with self.watch("scenes"):
            return prepare_scenes(self._config, scenes, self._config.audit.backends, self._progress)
