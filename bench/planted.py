"""A view to plant faults into, rendered by MuJoCo on both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from datagen.audit.view import AUDIT_PASSES, Side, ViewPair
from datagen.backends import Buffers, Size
from datagen.backends.mujoco.backend import MUJOCO_PASSES, MujocoBackend
from datagen.labels import Labeler
from scenes import SampleLayer, Scene


@dataclass
class Stand:
    """A scene whose reference side is rendered once and whose candidate is rendered anew."""

    scene: Scene
    camera: str
    size: Size
    backend: MujocoBackend
    labeler: Labeler
    sample: SampleLayer
    reference: Side

    @classmethod
    def of(cls, scene: Scene, state: str, camera: str, size: Size) -> Stand:
        """Render the clean view of a scene."""
        classes = {
            name: i for i, name in enumerate(sorted({o.label for o in scene.info.objects}), 1)
        }
        backend = MujocoBackend(colorspace="display")
        backend.open(scene)
        labeler = Labeler(scene, classes)
        sample = SampleLayer(scene, state)
        side = _side(backend, labeler, sample, sample, camera, size)
        return cls(scene, camera, size, backend, labeler, sample, side)

    def fresh(self) -> SampleLayer:
        """The clean sample, to be changed."""
        return SampleLayer(self.scene, self.sample.state.name)

    def rendered(self, sample: SampleLayer, *, stated: SampleLayer | None = None) -> ViewPair:
        """Render a changed sample as the candidate, which states the labels of another one."""
        side = _side(
            self.backend, self.labeler, sample, stated or self.sample, self.camera, self.size
        )
        return self.pair(side)

    def changed(self, change: Callable[[Buffers], Buffers]) -> ViewPair:
        """Change copies of the clean buffers and take them for the candidate's."""
        buffers = change(self.reference.buffers)
        self.scene.show(self.sample)
        labels = self.labeler.labels(self.sample, self.camera, self.size, buffers)
        return self.pair(Side("mujoco", buffers, labels))

    def pair(self, candidate: Side) -> ViewPair:
        """Put a candidate beside the clean reference, with the clean sample shown."""
        self.scene.show(self.sample)
        return ViewPair(
            scene=self.scene,
            scene_id=self.scene.info.scene_id,
            episode=0,
            frame=0,
            camera=self.camera,
            size=self.size,
            reference=self.reference,
            candidate=replace(candidate, backend="candidate"),
        )

    def close(self) -> None:
        """Free the renderer."""
        self.backend.close()


def _side(
    backend: MujocoBackend,
    labeler: Labeler,
    sample: SampleLayer,
    stated: SampleLayer,
    camera: str,
    size: Size,
) -> Side:
    backend.apply(sample)
    buffers = backend.render(camera, size, MUJOCO_PASSES & set(AUDIT_PASSES))
    return Side("mujoco", buffers, labeler.labels(stated, camera, size, buffers))


@dataclass(frozen=True)
class Fault:
    """One culprit at one size."""

    kind: str
    """Kind of the finding that must name it."""
    label: str
    """How it is planted."""
    size: float
    unit: str
    subject: str
    """Start of the finding's subject."""
    plant: Callable[[Stand], ViewPair]


@dataclass
class Row:
    """What became of one culprit, planted in one way at several sizes."""

    kind: str
    label: str
    unit: str
    tried: dict[float, list[bool]] = field(default_factory=dict[float, list[bool]])
    """By the size's amount, whether each planted fault was named with its subject."""
    others: int = 0
    """Findings that name anything else."""

    def add(self, size: float, named: bool, others: int) -> None:
        """Note one planted fault."""
        self.tried.setdefault(abs(size), []).append(named)
        self.others += others

    def smallest(self) -> float | None:
        """Smallest size from which every fault was named, down from the largest."""
        found = None
        for size in sorted(self.tried, reverse=True):
            if not all(self.tried[size]):
                break
            found = size
        return found

    def missed(self) -> str:
        """Say at which size below that how many were named."""
        last = self.smallest()
        below = [size for size in self.tried if last is None or size < last]
        if not below:
            return ""
        size = max(below)
        return f"{size:g}{self.unit}: {sum(self.tried[size])} of {len(self.tried[size])}"
