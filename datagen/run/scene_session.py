"""A scene with its renderers, open in one process: samples drawn, shown and labelled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from datagen.backends import Buffers, Pass, Size
from datagen.backends.frames import LocalRenderer, SampleTable, View
from datagen.backends.registry import (
    accepted,
    backend_entry,
    capabilities,
    first_path_tracer,
    open_backend,
)
from datagen.configuration.config import RunConfig
from datagen.labels import Labeler, ViewLabels, state_flags
from datagen.post import Post, after_rendering
from datagen.run.exposure import EXPOSURE, exposure_flags, scene_exposure
from datagen.run.plan import FramePlan
from datagen.stopwatch import Stopwatch
from randomizers import Outcome, SampleId, randomize, stream
from scenes import SampleLayer, Scene, pinhole

Prepared = Mapping[str, Mapping[str, str]]
"""What was found once for the run by backend: options by name."""


@dataclass(frozen=True)
class SceneSetup:
    """What a process needs to open a scene for its renderers, beside the config."""

    folder: Path
    classes: Mapping[str, int]
    """Class numbers of the run."""
    exposure_state: str
    """State that fixes the scene's exposure."""
    prepared: Prepared
    threads: int
    """Threads that a renderer may use."""
    exposure: float | Literal["measured"] | None = "measured"
    """Exposure of path-traced views; None where nothing traces paths."""


@dataclass(frozen=True)
class ShownView:
    """One view of a frame, labelled."""

    camera: str
    backend: str
    buffers: Buffers
    labels: ViewLabels
    flags: tuple[str, ...]
    """What is doubtful about the scene's state or exposure."""


class SceneSession:
    """A scene with its renderers, open in this process.

    A process keeps one session: a worker that makes several shards of a scene opens it once.

    Args:
        config: The run's config.
        setup: What to open, and what was found once for the run.
        watch: Where the time of each stage is added up.
        post: What a lens and a sensor do to the buffers before they are labelled.
    """

    def __init__(
        self, config: RunConfig, setup: SceneSetup, watch: Stopwatch, post: tuple[Post, ...] = ()
    ) -> None:
        self._post = post
        self.config = config
        self.setup = setup
        self.watch = watch
        with watch("scene"):
            self.scene = Scene.open(setup.folder)
            self.labeler = Labeler(self.scene, dict(setup.classes))
            self.renderers: list[LocalRenderer] = []
            for name in config.backends:
                options = backend_options(config, name, setup, watch)
                renderer = LocalRenderer(open_backend(name, options), self.scene)
                renderer.open(setup.folder)
                self.renderers.append(renderer)

    @cached_property
    def exposure(self) -> float | None:
        """Exposure of the scene, None where nothing traces paths; measured on first use."""
        if self.setup.exposure != "measured":
            return self.setup.exposure
        tracer = first_path_tracer(self.config.backends)
        if tracer is None:
            return None
        backend = next(each.backend for each in self.renderers if each.name == tracer)
        with self.watch("exposure"):
            return scene_exposure(self.scene, backend, self.setup.exposure_state)

    def views(
        self, frame: FramePlan, cameras: tuple[str, ...]
    ) -> Iterator[tuple[ShownView, Outcome]]:
        """Show all views of a frame, camera by camera, backend by backend."""
        size = Size(*self.config.size)
        with self.watch("draw"):
            sample, outcome = self.sample(frame)
        table = SampleTable.of(sample)
        for renderer in self.renderers:
            with self.watch("apply"):
                renderer.apply(table)
        overlapping = state_flags(self.scene.state(frame.state))
        wanted = [View(camera, size) for camera in cameras]
        shown = [
            renderer.render(table, wanted, self.passes(renderer.name))
            for renderer in self.renderers
        ]
        for camera, *pictures in zip(cameras, *shown, strict=True):
            for renderer, rendered in zip(self.renderers, pictures, strict=True):
                buffers = rendered
                if self._post:
                    view = pinhole(self.scene, camera, *size)
                    buffers = after_rendering(self._post, rendered, view)
                with self.watch("labels"):
                    labels = self.labeler.labels(sample, camera, size, buffers)
                flags = (*exposure_flags(self.exposure, renderer.name), *overlapping)
                yield ShownView(camera, renderer.name, buffers, labels, flags), outcome

    def sample(self, frame: FramePlan) -> tuple[SampleLayer, Outcome]:
        """Draw the sample of a frame."""
        ids = SampleId(frame.scene_id, frame.episode_index, frame.frame_index)
        seed = self.config.seed
        noise = stream(seed, "renderer", "frame", ids.scope_id("frame", ""), "noise", 0)
        sample = SampleLayer(self.scene, frame.state, noise_seed=int(noise.integers(2**31)))
        if self.exposure is not None:
            sample.set(EXPOSURE, self.exposure)
        return sample, randomize(sample, self.config.randomize, ids, seed)

    def describe(self) -> dict[str, dict[str, str]]:
        """State versions, devices and settings of the renderers."""
        return {renderer.name: renderer.describe() for renderer in self.renderers}

    def close(self) -> None:
        """Free the renderers."""
        for renderer in self.renderers:
            renderer.close()

    def passes(self, backend: str) -> frozenset[Pass]:
        """Passes that the run asks a backend for."""
        return self.config.buffers & capabilities()[backend]


def prepare_backends(config: RunConfig, backends: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Find what is found once per run for each backend: options by name.

    Raises:
        BackendError: A renderer cannot run here.
    """
    return {
        name: backend_entry(name).prepared(config.settings_of(name))
        for name in dict.fromkeys(backends)
    }


def backend_options(
    config: RunConfig, name: str, setup: SceneSetup, watch: Stopwatch | None = None
) -> dict[str, object]:
    """Constructor arguments of a backend: the config's, what was prepared, and our resources."""
    settings = config.settings_of(name)
    own = {} if settings is None else settings.model_dump()
    resources = accepted(name, {"threads": setup.threads, "watch": watch})
    return own | dict(setup.prepared.get(name, {})) | resources
