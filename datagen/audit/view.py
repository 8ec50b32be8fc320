"""What an audit looks at: one sample from one camera through two backends."""

from __future__ import annotations

from dataclasses import dataclass

from datagen.backends import Buffers, Size
from datagen.labels import ViewLabels
from scenes import Scene

AUDIT_PASSES = (
    "rgb",
    "hdr",
    "part",
    "depth",
    "distance",
    "position",
    "albedo",
    "normal",
    "triangle",
    "shadowed",
    "st",
)
"""Passes an audit asks each backend for, where it has them."""


@dataclass(frozen=True)
class Side:
    """One backend's account of a view."""

    backend: str
    buffers: Buffers
    """A pass the backend does not have is None."""
    labels: ViewLabels
    """Labels computed from this backend's buffers; `labels.camera` is the camera it used."""


@dataclass(frozen=True)
class ViewPair:
    """One view as two backends show it. The sample stays over `scene` while it is compared."""

    scene: Scene
    scene_id: str
    episode: int
    frame: int
    camera: str
    size: Size
    reference: Side
    """What is taken for right: the backend named first."""
    candidate: Side

    @property
    def key(self) -> str:
        """Name of the view in tables: scene/episode/frame/camera."""
        return f"{self.scene_id}/{self.episode}/{self.frame}/{self.camera}"
