"""The main job: from a config to a run folder."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pyarrow.dataset

from datagen.cluster import run_jobs
from datagen.config import RunConfig
from datagen.errors import DatagenError
from datagen.preparation import PreparedRun, prepare_run, refuse_unwritable
from datagen.progress import RunProgress, Summary
from datagen.report import write_report
from datagen.run_manifest import run_manifest, write_scene_reports
from datagen.scene_notes import scene_notes
from datagen.shard_job import ShardJob, ShardOutcome
from scenes import SceneError
from writers import (
    PLAN_NAME,
    ReadError,
    ShardRecord,
    claim_folder,
    held_folder,
    read_manifest,
    read_record,
    remove_leftovers,
    row_schema,
    write_card,
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
    finished, missing = _split(jobs, config)
    rows = {job.shard.name: _rows(job, prepared) for job in jobs}
    progress.begin(
        sum(rows.values()),
        sum(rows[name] for name in finished),
        max(min(config.workers, len(missing)), 1),
    )
    progress.stage("rendering")
    outcomes: dict[str, ShardOutcome] = {}
    try:
        for outcome in run_jobs(missing, config.workers, progress.advance):
            outcomes[outcome.record.name] = outcome
            finished[outcome.record.name] = outcome.record
    except SceneError as error:
        # It was whole before rendering began.
        raise DatagenError(str(error)) from error
    progress.stage("finishing")
    records = [finished[job.shard.name] for job in jobs]
    flags, flagged = _flags(data, [record.name for record in records])
    manifest = run_manifest(prepared, records, outcomes, flags)
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


def _split(
    jobs: list[ShardJob], config: RunConfig
) -> tuple[dict[str, ShardRecord], list[ShardJob]]:
    """Tell shards that are finished from those to make.

    A shard that is not the one of the manifest was changed since, and is made again.
    """
    listed = _listed(config.output)
    schema = row_schema(config.passes, config.parquet.depth_mm)
    finished: dict[str, ShardRecord] = {}
    missing: list[ShardJob] = []
    for job in jobs:
        if not job.path.exists():
            missing.append(job)
            continue
        try:
            record = read_record(job.path, schema)
        except ReadError:
            missing.append(job)
            continue
        if listed.get(job.shard.name, record) == record:
            finished[job.shard.name] = record
        else:
            missing.append(job)
    return finished, missing


def _listed(output: Path) -> dict[str, ShardRecord]:
    """Give the shards of the manifest by name; none before there is a whole one."""
    try:
        return {record.name: record for record in read_manifest(output).shards}
    except ReadError:
        return {}


def _flags(data: Path, names: list[str]) -> tuple[dict[str, int], int]:
    """Count rows by flag, and rows with any flag."""
    table = pyarrow.dataset.dataset([str(data / name) for name in names]).to_table(["flags"])
    rows = table["flags"].to_pylist()
    counts = Counter(flag for flags in rows for flag in set(flags))
    return dict(sorted(counts.items())), sum(bool(flags) for flags in rows)
