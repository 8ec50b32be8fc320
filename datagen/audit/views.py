"""The views that an audit looks at, scene by scene, each shown by every backend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from datagen.audit.session import AuditSession
from datagen.audit.view import Side
from datagen.configuration.config import RunConfig
from datagen.progress import RunProgress
from datagen.run.cluster import threads_per_worker
from datagen.run.plan import FramePlan, RunPlan, ScenePlan
from datagen.run.preparation import PreparedScene, class_table
from datagen.run.scene_session import prepare_backends
from datagen.stopwatch import Stopwatch
from randomizers import Outcome
from scenes import SampleLayer


@dataclass(frozen=True)
class Wanted:
    """A frame and the cameras it is looked at from."""

    frame: FramePlan
    cameras: tuple[str, ...]


@dataclass(frozen=True)
class ShownView:
    """A view as all backends show it; its sample is shown until the next one comes."""

    session: AuditSession
    frame: FramePlan
    camera: str
    sample: SampleLayer
    outcome: Outcome
    sides: tuple[Side, ...]
    """Sides in the order of the audit's backends."""


def planned_views(plan: RunPlan) -> tuple[Wanted, ...]:
    """All views of a plan."""
    cameras = {scene.scene_id: scene.cameras for scene in plan.scenes}
    return tuple(Wanted(frame, cameras[frame.scene_id]) for frame in plan.frames)


def shown_views(
    config: RunConfig,
    scenes: Sequence[ScenePlan],
    prepared: Mapping[str, PreparedScene],
    wanted: Sequence[Wanted],
    progress: RunProgress,
    watch: Stopwatch,
    backends: dict[str, dict[str, str]],
) -> Iterator[ShownView]:
    """Show views, one scene open at a time.

    Args:
        config: The run's config.
        scenes: Scenes of the plan.
        prepared: Where they are.
        wanted: What is looked at, frames of one scene in a row.
        progress: Told of every view.
        watch: Where the time is added up.
        backends: Filled with how each backend rendered.
    """
    found = prepare_backends(config, (*config.backends, *config.audit.backends))
    classes = class_table(prepared)
    progress.begin(sum(len(each.cameras) for each in wanted), 0)
    progress.stage("comparing")
    for plan in scenes:
        frames = [each for each in wanted if each.frame.scene_id == plan.scene_id]
        if not frames:
            continue
        session = AuditSession(
            config,
            plan,
            prepared[plan.scene_id],
            classes,
            backends=found,
            threads=threads_per_worker(1),
            watch=watch,
        )
        try:
            for each in frames:
                sample, outcome = session.sample(each.frame)
                for camera in each.cameras:
                    sides = tuple(session.sides(sample, camera))
                    yield ShownView(session, each.frame, camera, sample, outcome, sides)
                    progress.advance(1)
            backends.update(session.describe())
        finally:
            session.close()
