"""One shard: frames of a scene drawn, rendered, labelled and written."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from datagen.backends import Backend, Buffers, Pass, Size
from datagen.backends.registry import capabilities, open_backend
from datagen.configuration.config import RunConfig
from datagen.labels import Labeler, ObjectLabel, ViewLabels, state_flags
from datagen.run.exposure import EXPOSURE, exposure_flags, scene_exposure
from datagen.run.plan import FramePlan, ShardPlan
from datagen.stopwatch import Stopwatch
from randomizers import Outcome, SampleId, randomize, recipe_json, stream
from scenes import SampleLayer, Scene
from writers import ObjectRow, Row, ShardRecord, note_shard, row_id, write_shard
from writers.codecs import LabelBits


@dataclass(frozen=True)
class ShardJob:
    """All that a worker needs to make one shard."""

    config: dict[str, Any]
    """The run's config as JSON values."""
    shard: ShardPlan
    source: str
    scene_folder: Path
    cameras: tuple[str, ...]
    exposure_state: str
    """State that fixes the scene's exposure."""
    classes: dict[str, int]
    label_bits: LabelBits
    variant: str
    """Mitsuba variant, found once for the run."""
    threads: int
    """Threads that a renderer may use."""
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


class SceneSession:
    """A scene with its renderers, open in this process.

    A process keeps one session: a worker that makes several shards of a scene opens it once.
    """

    def __init__(self, job: ShardJob, watch: Stopwatch) -> None:
        self.config = RunConfig.from_data(job.config)
        self.watch = watch
        self._exposure_state = job.exposure_state
        with watch("scene"):
            self.scene = Scene.open(job.scene_folder)
            self.labeler = Labeler(self.scene, job.classes)
            self.backends: list[Backend] = []
            for name in self.config.backends:
                backend = open_backend(name, backend_options(self.config, name, job, watch))
                backend.open(self.scene)
                self.backends.append(backend)

    @cached_property
    def exposure(self) -> float | None:
        """Exposure of the scene, None where nothing traces paths; measured on first use."""
        tracers = [each for each in self.backends if "hdr" in capabilities()[each.name]]
        if not tracers:
            return None
        with self.watch("exposure"):
            return scene_exposure(self.scene, tracers[-1], self._exposure_state)

    def views(self, job: ShardJob, frame: FramePlan) -> Iterator[Row]:
        """Make all views of a frame, camera by camera, backend by backend."""
        size = Size(*self.config.size)
        with self.watch("draw"):
            sample, outcome = self.sample(frame)
        for backend in self.backends:
            with self.watch("apply"):
                backend.apply(sample)
        overlapping = state_flags(self.scene.state(frame.state))
        for camera in job.cameras:
            for backend in self.backends:
                buffers = backend.render(camera, size, self.passes(backend))
                with self.watch("labels"):
                    labels = self.labeler.labels(sample, camera, size, buffers)
                unusual = exposure_flags(self.exposure, backend.name)
                row = _row(job, self.scene, frame, camera, backend, buffers, labels, outcome)
                yield replace(row, flags=sorted({*row.flags, *unusual, *overlapping}))

    def sample(self, frame: FramePlan) -> tuple[SampleLayer, Outcome]:
        """Draw the sample of a frame."""
        ids = SampleId(frame.scene_id, frame.episode_index, frame.frame_index)
        seed = self.config.seed
        noise = stream(seed, "renderer", "frame", ids.scope_id("frame", ""), "noise", 0)
        sample = SampleLayer(self.scene, frame.state, noise_seed=int(noise.integers(2**31)))
        if self.exposure is not None:
            sample.set(EXPOSURE, self.exposure)
        return sample, randomize(sample, self.config.randomize, ids, seed)

    def close(self) -> None:
        """Free the renderers."""
        for backend in self.backends:
            backend.close()

    def passes(self, backend: Backend) -> frozenset[Pass]:
        """Passes that the run asks a backend for."""
        return self.config.buffers & capabilities()[backend.name]


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
            for row in session.views(job, frame):
                yield row
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
    described = {backend.name: backend.describe() for backend in session.backends}
    return ShardOutcome(record, session.exposure, described, dict(watch.seconds))


def backend_options(
    config: RunConfig, name: str, job: ShardJob, watch: Stopwatch | None = None
) -> dict[str, object]:
    """Constructor arguments of a backend, as the config says."""
    if name == "newton":
        return {}
    if name == "mujoco":
        return config.mujoco.model_dump()
    found: dict[str, object] = {"variant": job.variant, "threads": job.threads, "watch": watch}
    return config.mitsuba.model_dump() | found


def _open_session(job: ShardJob, watch: Stopwatch) -> SceneSession:
    global _session
    key = (job.scene_folder, job.threads, os.getpid(), repr(job.config))
    if _session is not None and _session[0] == key:
        session = _session[1]
        session.watch.seconds = watch.seconds
        return session
    if _session is not None:
        _session[1].close()
        _session = None
    session = SceneSession(job, watch)
    _session = (key, session)
    return session


def _row(
    job: ShardJob,
    scene: Scene,
    frame: FramePlan,
    camera: str,
    backend: Backend,
    buffers: Buffers,
    labels: ViewLabels,
    outcome: Outcome,
) -> Row:
    height, width = labels.part.shape
    robot = labels.robot
    return Row(
        scene_id=frame.scene_id,
        source=job.source,
        language=scene.info.language,
        language_bddl=scene.info.language_bddl,
        episode_index=frame.episode_index,
        frame_index=frame.frame_index,
        camera=camera,
        backend=backend.name,
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
        flags=sorted({*labels.flags, *outcome.flags}),
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
