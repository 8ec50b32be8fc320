"""What is said once about a finished run: the manifest and the scene reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from datagen.backends.registry import open_backend
from datagen.run.plan import ScenePlan
from datagen.run.preparation import PreparedRun, PreparedScene
from datagen.run.scene_session import backend_options
from datagen.run.shard_job import ShardOutcome
from writers import SCHEMA_VERSION, Manifest, ShardRecord, TableEntry, write_atomically


def run_manifest(
    run: PreparedRun,
    records: Sequence[ShardRecord],
    outcomes: Mapping[str, ShardOutcome],
    flags: Mapping[str, int],
) -> Manifest:
    """Make the manifest of a run.

    Args:
        run: The run.
        records: All its shards.
        outcomes: What came of the shards made now, by name.
        flags: Rows by flag.
    """
    config = run.config
    described = {name: fields for o in outcomes.values() for name, fields in o.backends.items()}
    for name in config.backends:
        if name not in described:
            # All shards were made by a run that was stopped before its manifest.
            described[name] = open_backend(
                name, backend_options(config, name, run.setup(next(iter(run.scenes))))
            ).describe()
    return _manifest(run, records, described, {"flags": dict(flags)})


def draft_manifest(run: PreparedRun, shards: int, rows: int) -> Manifest:
    """Make what is known of a run before its first shard; no renderer is opened for it.

    Args:
        run: The run.
        shards: Number of shards that it will have.
        rows: Number of rows that it will have.
    """
    planned: dict[str, JsonValue] = {"shards": shards, "rows": rows}
    return _manifest(run, [], {}, {"planned": planned})


def _manifest(
    run: PreparedRun,
    records: Sequence[ShardRecord],
    described: Mapping[str, Mapping[str, str]],
    summary: dict[str, JsonValue],
) -> Manifest:
    config = run.config
    return Manifest(
        schema_version=SCHEMA_VERSION,
        seed=config.seed,
        passes=list(config.passes),
        label_bits=run.label_bits,
        versions=dict(run.versions),
        config={**run.deciding_config, "output": config.parquet.model_dump(mode="json")},
        backends={name: dict[str, JsonValue](described.get(name, {})) for name in config.backends},
        parts=[
            TableEntry.model_validate(
                {
                    "id": part.part,
                    "name": part.name,
                    "scene_id": scene_id,
                    "instance": part.instance,
                }
            )
            for scene_id, scene in run.scenes.items()
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
            for scene_id, scene in run.scenes.items()
            for each in scene.info.objects
        ],
        classes=[TableEntry(id=number, name=label) for label, number in run.classes.items()],
        robots=[
            {
                "scene_id": scene_id,
                "joints": list(scene.info.robot.joints),
                "gripper_joints": list(scene.info.robot.gripper_joints),
            }
            for scene_id, scene in run.scenes.items()
            if scene.info.robot is not None
        ],
        scenes={
            scene.scene_id: _scene_record(scene, run.scenes[scene.scene_id])
            for scene in run.plan.scenes
            if scene.scene_id in run.scenes
        },
        refused=dict(run.refused),
        shards=list(records),
        summary=summary,
    )


def write_scene_reports(output: Path, scenes: Mapping[str, PreparedScene]) -> None:
    """Copy each scene's report into the run folder."""
    for scene_id, scene in scenes.items():
        folder = output / "scenes" / scene_id
        write_atomically(folder / "report.json", (scene.folder / "report.json").read_bytes())


def _scene_record(plan: ScenePlan, scene: PreparedScene) -> dict[str, Any]:
    report = json.loads((scene.folder / "report.json").read_text(encoding="utf-8"))
    return {
        "source": plan.source,
        "language": scene.info.language,
        "objects_of_interest": list(scene.info.objects_of_interest),
        "cameras": list(plan.cameras),
        "states": [state.name for state in plan.states],
        "digest": scene.info.digest,
        "versions": scene.info.versions,
        "report": report,
    }
