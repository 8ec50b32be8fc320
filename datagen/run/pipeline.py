"""The main job: from a config to a run folder."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset

from datagen.configuration.config import RunConfig
from datagen.errors import DatagenError
from datagen.progress import RunProgress, Summary
from datagen.report import write_report
from datagen.run.cluster import run_jobs
from datagen.run.manifest import draft_manifest, run_manifest, write_scene_reports
from datagen.run.plan import deciding_config
from datagen.run.preparation import PreparedRun, prepare_run, refuse_unwritable
from datagen.run.scene_notes import scene_notes
from datagen.run.shard_job import ShardJob, ShardOutcome
from scenes import SceneError
from writers import (
    PLAN_NAME,
    ReadError,
    ShardRecord,
    claim_folder,
    finished_shard,
    held_folder,
    noted_shards,
    refuse_other_plan,
    remove_leftovers,
    rewrite_journal,
    write_card,
    write_draft,
    write_manifest,
)


def run(config: RunConfig, progress: RunProgress) -> Summary:
    """Make the dataset that a config describes; what a stopped run finished is kept.

    The plan holds all scenes. Shards of a scene that is refused are not made; the same run makes
    them once the scene is mended, unless it brings classes that would renumber those of the rows
    that are there.

    Raises:
        ConfigError: A name in the config does not exist.
        PlanError: The folder belongs to another run.
        scenes.SceneError: Every scene is refused, or one whose rows are there already.
        BackendError: A renderer cannot run or failed.
        WriteError: The run folder cannot be written, or another process is making this run.
    """
    started = time.monotonic()
    refuse_unwritable(config.output, "Choose another output folder.")
    refuse_other_plan(config.output, {"config": deciding_config(config)})
    prepared = prepare_run(config, progress)
    with held_folder(config.output):
        return _make(config, prepared, progress, started)


def _make(
    config: RunConfig, prepared: PreparedRun, progress: RunProgress, started: float
) -> Summary:
    _claim(prepared)
    data = config.output / "data"
    remove_leftovers(data)
    jobs = prepared.jobs()
    found = _found(jobs, config.output)
    finished, missing = found.finished, found.missing
    rows = {job.shard.name: _rows(job, prepared) for job in jobs}
    progress.begin(
        sum(rows.values()),
        sum(rows[name] for name in finished),
        max(min(config.workers, len(missing)), 1),
    )
    for name, reason in found.damaged.items():
        progress.stage(f"{data / name}: made again: {reason}")
    if missing:
        draft = draft_manifest(prepared, len(jobs), sum(rows.values()))
        write_draft(config.output, draft)
    progress.stage("rendering")
    outcomes: dict[str, ShardOutcome] = {}
    try:
        for outcome in run_jobs(missing, config.workers, progress.advance):
            outcomes[outcome.record.name] = outcome
            finished[outcome.record.name] = outcome.record
    except SceneError as error:
        # It was whole before rendering began.
        raise DatagenError(str(error)) from error
    finally:
        remove_leftovers(data)  # Of workers that were ended in the middle of a shard.
    progress.stage("finishing")
    records = [finished[job.shard.name] for job in jobs]
    flags, flagged = _flags(data, [record.name for record in records])
    manifest = run_manifest(prepared, records, outcomes, flags)
    bases = {job.shard.name: job.basis for job in jobs}
    rewrite_journal(config.output, [(bases[record.name], record) for record in records])
    write_scene_reports(config.output, prepared.scenes)
    write_manifest(config.output, manifest)
    write_card(config.output, manifest, title=config.output.name)
    page = write_report(config.output)
    return Summary(
        output=config.output,
        rows=sum(rows.values()),
        rows_made=sum(rows[job.shard.name] for job in missing),
        seconds=time.monotonic() - started,
        flagged=flags,
        rows_flagged=flagged,
        page=page,
        refused=prepared.refused,
        notes=tuple(scene_notes({name: each.folder for name, each in prepared.scenes.items()})),
        damaged=found.damaged,
    )


def _claim(prepared: PreparedRun) -> None:
    """Take the run folder for this run, and a folder in it for each scene.

    Raises:
        PlanError: The folder belongs to another run, or a scene has changed since.
        scenes.SceneError: A scene is refused whose rows are there already.
    """
    output = prepared.config.output
    folders = {scene.scene_id: output / "scenes" / scene.scene_id for scene in prepared.plan.scenes}
    for scene_id, reason in prepared.refused.items():
        if (folders[scene_id] / PLAN_NAME).exists():
            raise SceneError(
                f"{output}: it holds rows of the scene {scene_id}, which is refused now: {reason} "
                "Mend the scene, or choose another output folder."
            )
    claim_folder(
        output,
        {
            "config": prepared.deciding_config,
            "versions": dict(prepared.versions),
            "classes": dict(prepared.classes),
            "label_bits": prepared.label_bits,
            "plan": prepared.plan.to_json(),
        },
    )
    for scene_id, scene in prepared.scenes.items():
        source = prepared.plan.scene(scene_id).source
        claim_folder(folders[scene_id], {"source": source, "digest": scene.info.digest})


def _rows(job: ShardJob, prepared: PreparedRun) -> int:
    return len(job.shard.frames) * prepared.plan.views_in(job.shard.scene_id)


@dataclass(frozen=True)
class _Found:
    """What an earlier run left of the shards of this one."""

    finished: dict[str, ShardRecord]
    missing: list[ShardJob]
    """Shards to make, those included that are there but do not count."""
    damaged: dict[str, str]
    """Why shards that are there do not count, by name."""


def _found(jobs: list[ShardJob], output: Path) -> _Found:
    """Tell shards that are finished from those to make.

    A shard counts when its bytes are those that were noted as it was written, of this run, and
    its rows are those of the plan.
    """
    found = _Found({}, [], {})
    noted = noted_shards(output, {job.shard.name: job.basis for job in jobs})
    for job in jobs:
        name = job.shard.name
        if not os.path.lexists(job.path):
            found.missing.append(job)
            continue
        try:
            found.finished[name] = finished_shard(job.path, noted[name], job.row_ids)
        except ReadError as error:
            found.missing.append(job)
            found.damaged[name] = str(error)
    return found


def _flags(data: Path, names: list[str]) -> tuple[dict[str, int], int]:
    """Count rows by flag, and rows with any flag."""
    table = pyarrow.dataset.dataset([str(data / name) for name in names]).to_table(["flags"])
    rows = table["flags"].to_pylist()
    counts = Counter(flag for flags in rows for flag in set(flags))
    return dict(sorted(counts.items())), sum(bool(flags) for flags in rows)
