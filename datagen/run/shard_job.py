"""One shard: frames of a scene drawn, rendered, labelled and written."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datagen.configuration.config import RunConfig
from datagen.labels import ObjectLabel
from datagen.run.plan import FramePlan, ShardPlan
from datagen.run.scene_session import SceneSession, SceneSetup, ShownView
from datagen.stopwatch import Stopwatch
from randomizers import Outcome, recipe_json
from scenes import Scene
from writers import ObjectRow, Row, ShardRecord, note_shard, row_id, write_shard
from writers.codecs import LabelBits


@dataclass(frozen=True)
class ShardJob:
    """All that a worker needs to make one shard."""

    config: dict[str, Any]
    """The run's config as JSON values."""
    setup: SceneSetup
    shard: ShardPlan
    source: str
    cameras: tuple[str, ...]
    label_bits: LabelBits
    path: Path
    """The file to write."""
    journal: Path
    """Folder of the journal that is told of the file."""
    basis: str
    """Stands for all that decides the bytes of the file."""

    @property
    def row_ids(self) -> list[str]:
        """Keys of the rows, in their order."""
        return [
            row_id(frame.scene_id, frame.episode_index, frame.frame_index, camera, backend)
            for frame in self.shard.frames
            for camera in self.cameras
            for backend in self.config["backends"]
        ]


@dataclass(frozen=True)
class ShardOutcome:
    """What came of a job."""

    record: ShardRecord
    exposure: float | None
    backends: dict[str, dict[str, str]]
    seconds: dict[str, float]


_session: tuple[tuple[Any, ...], SceneSession] | None = None


def make_shard(job: ShardJob, advance: Callable[[int], None]) -> ShardOutcome:
    """Make one shard.

    Args:
        job: What to make.
        advance: Called with a number of views when they are done.

    Raises:
        BackendError: A renderer failed.
        WriteError: The file could not be written.
    """
    watch = Stopwatch()
    session = _open_session(job, watch)

    def rows() -> Iterator[Row]:
        for frame in job.shard.frames:
            for view, outcome in session.views(frame, job.cameras):
                yield _row(job, session.scene, frame, view, outcome)
                advance(1)

    record = write_shard(
        job.path,
        rows(),
        session.config.parquet,
        session.config.passes,
        label_bits=job.label_bits,
        timings=watch.seconds,
        note=functools.partial(note_shard, job.journal, job.basis),
    )
    return ShardOutcome(record, session.exposure, session.describe(), dict(watch.seconds))


def _open_session(job: ShardJob, watch: Stopwatch) -> SceneSession:
    global _session
    key = (job.setup.folder, job.setup.threads, os.getpid(), repr(job.config))
    if _session is not None and _session[0] == key:
        session = _session[1]
        session.watch.seconds = watch.seconds
        return session
    if _session is not None:
        _session[1].close()
        _session = None
    session = SceneSession(RunConfig.from_data(job.config), job.setup, watch)
    _session = (key, session)
    return session


def _row(job: ShardJob, scene: Scene, frame: FramePlan, view: ShownView, outcome: Outcome) -> Row:
    buffers, labels = view.buffers, view.labels
    height, width = labels.part.shape
    robot = labels.robot
    return Row(
        scene_id=frame.scene_id,
        source=job.source,
        language=scene.info.language,
        language_bddl=scene.info.language_bddl,
        episode_index=frame.episode_index,
        frame_index=frame.frame_index,
        camera=view.camera,
        backend=view.backend,
        width=width,
        height=height,
        rgb=buffers.rgb,
        instance=labels.instance,
        part=labels.part,
        semantic=labels.semantic,
        depth=buffers.depth,
        distance=buffers.distance,
        normal=buffers.normal,
        albedo=buffers.albedo,
        hdr=buffers.hdr,
        K=labels.camera.K,
        T_world_camera=labels.camera.T_world_camera,
        objects=[_object_row(each) for each in labels.objects],
        robot_joint_position=None if robot is None else robot.joint_positions.tolist(),
        robot_ee_pose=None if robot is None else robot.ee_pose.tolist(),
        robot_gripper=None if robot is None else robot.gripper_positions.tolist(),
        seed=int(job.config["seed"]),
        recipe=recipe_json(outcome.recipe),
        redraws=outcome.redraws,
        flags=sorted({*labels.flags, *outcome.flags, *view.flags}),
    )


def _object_row(label: ObjectLabel) -> ObjectRow:
    x0, y0, x1, y1 = label.tight_box or (None,) * 4
    loose = label.loose_box or (None,) * 4
    return ObjectRow(
        instance=label.instance,
        name=label.name,
        class_name=label.label,
        x0=x0,
        y0=y0,
        x1=x1,
        y1=y1,
        loose_x0=loose[0],
        loose_y0=loose[1],
        loose_x1=loose[2],
        loose_y1=loose[3],
        pixels_visible=label.pixels_visible,
        pixels_total=label.pixels_total,
        occlusion=label.occlusion,
        T_world_object=label.T_world_object,
        box_center=label.box.center,
        box_size=label.box.size,
    )
