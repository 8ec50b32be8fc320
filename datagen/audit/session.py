"""A scene open for an audit: the run's own samples, shown by the backends that are compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from datagen.audit.view import AUDIT_PASSES, Side, ViewPair
from datagen.backends import Backend, Buffers, Pass, Size
from datagen.backends.registry import capabilities, open_backend
from datagen.config import RunConfig
from datagen.plan import FramePlan, ScenePlan, ShardPlan
from datagen.preparation import PreparedScene
from datagen.shard_job import SceneSession, ShardJob, backend_options
from datagen.stopwatch import Stopwatch
from randomizers import Outcome
from scenes import SampleLayer


_FINE: frozenset[Pass] = frozenset({"part", "position", "normal", "albedo"})


class AuditSession:
    """Shows frames of one scene through the audit's backends.

    Samples and exposure are those of the run, made by the code that makes a run's rows, with the
    run's settings. The backends that are compared are set for comparison: MuJoCo shows texture
    bytes as they are, and the path tracer looks through back faces as MuJoCo does.

    Args:
        config: The run's config.
        plan: The scene.
        prepared: Where it is.
        classes: Class numbers of the run.
        variant: Mitsuba variant.
        threads: Threads that a renderer may use.
        watch: Where the time of each stage is added up.
    """

    def __init__(
        self,
        config: RunConfig,
        plan: ScenePlan,
        prepared: PreparedScene,
        classes: Mapping[str, int],
        *,
        variant: str,
        threads: int,
        watch: Stopwatch,
    ) -> None:
        self.watch = watch
        self._config = config
        self._job = _job(config, plan, prepared, classes, variant, threads)
        self.run = SceneSession(self._job, watch)
        """The scene as the run opens it."""
        self.scene = self.run.scene
        self.backends: list[Backend] = [self._open(name) for name in config.audit.backends]

    def sample(self, frame: FramePlan) -> tuple[SampleLayer, Outcome]:
        """Draw the sample of a frame and show it by every backend."""
        with self.watch("draw"):
            sample, outcome = self.run.sample(frame)
        for backend in self.backends:
            with self.watch("apply"):
                backend.apply(sample)
        return sample, outcome

    def sides(self, sample: SampleLayer, camera: str) -> Iterator[Side]:
        """Render and label a view of the sample shown, backend by backend."""
        size = Size(*self._config.size)
        for backend in self.backends:
            passes = capabilities()[backend.name].intersection(AUDIT_PASSES)
            with self.watch(f"render {backend.name}"):
                buffers = backend.render(camera, size, passes)
            yield self.side(backend.name, sample, camera, buffers)

    def fine(self, backend: str, camera: str) -> Buffers | None:
        """Render what smooth pictures are made of, at a multiple of the size.

        Returns:
            Parts, positions, normals and albedo; None for a backend that has not all of them.
        """
        times = self._config.audit.fine
        if times == 1 or not capabilities()[backend].issuperset(_FINE):
            return None
        width, height = self._config.size
        opened = next(each for each in self.backends if each.name == backend)
        with self.watch(f"render {backend}"):
            return opened.render(camera, Size(width * times, height * times), _FINE)

    def side(self, backend: str, sample: SampleLayer, camera: str, buffers: Buffers) -> Side:
        """Label buffers of a view of a sample."""
        with self.watch("labels"):
            size = Size(*self._config.size)
            labels = self.run.labeler.labels(sample, camera, size, buffers)
        return Side(backend, buffers, labels)

    def pair(self, frame: FramePlan, camera: str, reference: Side, candidate: Side) -> ViewPair:
        """Put two sides of a view together."""
        return ViewPair(
            scene=self.scene,
            scene_id=frame.scene_id,
            episode=frame.episode_index,
            frame=frame.frame_index,
            camera=camera,
            size=Size(*self._config.size),
            reference=reference,
            candidate=candidate,
        )

    def describe(self) -> dict[str, dict[str, str]]:
        """State versions, devices and settings of the backends."""
        return {backend.name: backend.describe() for backend in self.backends}

    def close(self) -> None:
        """Free the renderers."""
        own = [backend for backend in self.backends if backend not in self.run.backends]
        for backend in own:
            backend.close()
        self.run.close()

    def _open(self, name: str) -> Backend:
        options = audit_options(self._config, name, self._job, self.watch)
        for backend in self.run.backends:
            if backend.name == name and options == self._own_options(name):
                return backend
        with self.watch("scene"):
            backend = open_backend(name, options)
            backend.open(self.scene)
        return backend

    def _own_options(self, name: str) -> dict[str, object]:
        return backend_options(self._config, name, self._job, self.watch)


def audit_options(
    config: RunConfig, name: str, job: ShardJob, watch: Stopwatch
) -> dict[str, object]:
    """Constructor arguments of a backend that make it comparable with the others."""
    if name == "mitsuba":
        return backend_options(config, name, job, watch) | {"cull_back_faces": True}
    if name == "mujoco":
        return backend_options(config, name, job, watch) | {"colorspace": "display"}
    return {}


def _job(
    config: RunConfig,
    plan: ScenePlan,
    prepared: PreparedScene,
    classes: Mapping[str, int],
    variant: str,
    threads: int,
) -> ShardJob:
    data = json.loads(config.model_dump_json())
    return ShardJob(
        config=data | {"cache": str(config.cache)},
        shard=ShardPlan(0, plan.scene_id, ()),
        source=plan.source,
        scene_folder=prepared.folder,
        exposure_state=plan.states[0].name,
        classes=dict(classes),
        label_bits=16,
        variant=variant,
        threads=threads,
        path=Path(),
    )
