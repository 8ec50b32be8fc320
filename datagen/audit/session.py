"""A scene open for an audit: the run's own samples, shown by the backends that are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from datagen.audit.view import AUDIT_PASSES, Side, ViewPair
from datagen.backends import Backend, Buffers, Pass, Size
from datagen.backends.frames import SampleTable, View
from datagen.backends.registry import (
    backend_entry,
    capabilities,
    first_path_tracer,
    open_backend,
)
from datagen.configuration.config import RunConfig
from datagen.run.exposure import scene_exposure
from datagen.run.plan import FramePlan, ScenePlan
from datagen.run.preparation import PreparedScene
from datagen.run.scene_session import Prepared, SceneSession, SceneSetup, backend_options
from datagen.stopwatch import Stopwatch
from randomizers import Outcome
from scenes import SampleLayer, Scene

_FINE: frozenset[Pass] = frozenset({"part", "position", "normal", "albedo"})
_EXACT: frozenset[Pass] = frozenset({"triangle"})


class AuditSession:
    """Shows frames of one scene through the audit's backends.

    Samples are drawn by the code that makes a run's rows, with the run's seed, randomizers and
    exposure. The backends are set for comparison: MuJoCo shows texture bytes as they are, and the
    path tracer looks through back faces as MuJoCo does.

    Args:
        config: The run's config.
        plan: The scene.
        prepared: Where it is.
        classes: Class numbers of the run.
        backends: What was found once for the run by backend.
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
        backends: Prepared,
        threads: int,
        watch: Stopwatch,
    ) -> None:
        self.watch = watch
        self.config = config
        self._compared = comparable(config)
        self._setup = SceneSetup(
            folder=prepared.folder,
            classes=classes,
            exposure_state=plan.states[0].name,
            prepared=backends,
            threads=threads,
        )
        exposure = self._own_exposure() if config.audit.pictures else None
        setup = replace(self._setup, exposure=exposure)
        self._session = SceneSession(self._compared, setup, watch)
        self.scene = self._session.scene
        self._own: list[Backend] = []

    def sample(self, frame: FramePlan) -> tuple[SampleLayer, Outcome]:
        """Draw the sample of a frame and show it by every backend."""
        with self.watch("draw"):
            sample, outcome = self._session.sample(frame)
        table = SampleTable.of(sample)
        for renderer in self._session.renderers:
            with self.watch("apply"):
                renderer.apply(table)
        return sample, outcome

    def sides(self, sample: SampleLayer, camera: str) -> Iterator[Side]:
        """Render and label a view of the sample shown, backend by backend."""
        size = Size(*self.config.size)
        table = SampleTable.of(sample)
        for renderer in self._session.renderers:
            passes = capabilities()[renderer.name].intersection(AUDIT_PASSES)
            if not (self.config.audit.pictures or renderer is self._session.renderers[0]):
                passes -= {"rgb", "hdr"}
            with self.watch(f"render {renderer.name}"):
                (buffers,) = renderer.render(table, [View(camera, size)], passes)
            yield self.side(renderer.name, sample, camera, buffers)

    def fine(self, reference: str, backend: str, camera: str) -> Buffers | None:
        """Render what smooth pictures are made of, at a multiple of the size.

        Returns:
            Parts, positions, normals and albedo; None for a backend that has not all of them, and
            where the reference too gives the colours of pixel centres and smooths nothing.
        """
        times = self.config.audit.fine
        sampled = [capabilities()[name].issuperset(_FINE) for name in (reference, backend)]
        if times == 1 or sampled != [False, True]:
            return None
        width, height = self.config.size
        opened = self._compared_backend(backend)
        with self.watch(f"render {backend}"):
            passes = _FINE | (_EXACT & capabilities()[backend])
            return opened.render(camera, Size(width * times, height * times), passes)

    def side(self, backend: str, sample: SampleLayer, camera: str, buffers: Buffers) -> Side:
        """Label buffers of a view of a sample."""
        with self.watch("labels"):
            size = Size(*self.config.size)
            labels = self._session.labeler.labels(sample, camera, size, buffers)
        return Side(backend, buffers, labels)

    def pair(self, frame: FramePlan, camera: str, reference: Side, candidate: Side) -> ViewPair:
        """Put two sides of a view together."""
        return ViewPair(
            scene=self.scene,
            scene_id=frame.scene_id,
            episode=frame.episode_index,
            frame=frame.frame_index,
            camera=camera,
            size=Size(*self.config.size),
            reference=reference,
            candidate=candidate,
        )

    def run_backends(self) -> list[Backend]:
        """Give the run's own backends, set as the run sets them."""
        if not self._own:
            for name in self.config.backends:
                self._own.append(self._as_compared(name) or self._opened(name))
        return self._own

    def describe(self) -> dict[str, dict[str, str]]:
        """State versions, devices and settings of the backends that are compared."""
        return self._session.describe()

    def close(self) -> None:
        """Free the renderers."""
        for backend in self._own:
            if backend not in [each.backend for each in self._session.renderers]:
                backend.close()
        self._session.close()

    def _as_compared(self, name: str) -> Backend | None:
        """The compared backend of this name, if it is set as the run sets it."""
        own, compared = (
            backend_options(config, name, self._setup, self.watch)
            for config in (self.config, self._compared)
        )
        if own != compared or name not in self._compared.backends:
            return None
        return self._compared_backend(name)

    def _compared_backend(self, name: str) -> Backend:
        return next(each.backend for each in self._session.renderers if each.name == name)

    def _opened(self, name: str) -> Backend:
        with self.watch("scene"):
            options = backend_options(self.config, name, self._setup, self.watch)
            backend = open_backend(name, options)
            backend.open(self.scene)
        return backend

    def _own_exposure(self) -> float | None:
        """The exposure of the run, found as the run finds it: with its own settings."""
        name = first_path_tracer((*self.config.backends, *self._compared.backends))
        if name is None:
            return None
        options = backend_options(self.config, name, self._setup, self.watch)
        scene = Scene.open(self._setup.folder)
        tracer = _OpensLate(open_backend(name, options), scene)
        with self.watch("exposure"):
            exposure = scene_exposure(scene, tracer, self._setup.exposure_state)
        tracer.close()
        return exposure


class _OpensLate:
    """A backend that loads its scene only when something is to be shown."""

    def __init__(self, backend: Backend, scene: Scene) -> None:
        self.name = backend.name
        self._backend = backend
        self._scene = scene
        self._open = False

    def open(self, scene: Scene) -> None:
        """Load a scene."""
        self._backend.open(scene)
        self._open = True

    def apply(self, sample: SampleLayer) -> None:
        """Show a sample."""
        if not self._open:
            self.open(self._scene)
        self._backend.apply(sample)

    def render(self, camera: str, size: Size, passes: Set[Pass]) -> Buffers:
        """Render the sample shown last."""
        return self._backend.render(camera, size, passes)

    def describe(self) -> dict[str, str]:
        """State what decides the bytes."""
        return self._backend.describe()

    def close(self) -> None:
        """Free what was loaded."""
        self._backend.close()


def comparable(config: RunConfig) -> RunConfig:
    """Set a config's backends to those that an audit compares, so that they can be compared."""
    compared = dict.fromkeys((*config.backends, *config.audit.backends))
    settings = {
        name: own.model_copy(update=dict(backend_entry(name).comparison))
        for name in compared
        if (own := config.settings_of(name)) is not None
    }
    return config.model_copy(update={"backends": config.audit.backends, "passes": (), **settings})
