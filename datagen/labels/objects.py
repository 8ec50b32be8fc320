"""Labels of one object in one view."""

from __future__ import annotations

from dataclasses import dataclass

from datagen.labels.affine import Floats
from datagen.labels.boxes import Box3D, TightBox
from datagen.labels.silhouettes import LooseBox


@dataclass(frozen=True)
class ObjectLabel:
    """What a view says about an object that could be seen."""

    instance: int
    """Number in the instance map, from 1."""
    name: str
    label: str
    """Class."""
    tight_box: TightBox | None
    """x0, y0, x1, y1 of the visible pixels, `[x0, x1) x [y0, y1)`; None without one."""
    loose_box: LooseBox | None
    """x0, y0, x1, y1 of the whole silhouette inside the picture [pixel]; None if outside."""
    pixels_visible: int
    pixels_total: int
    """Pixels of the whole silhouette inside the picture, hidden ones too."""
    T_world_object: Floats
    """Pose of the object's first body, its root [m], [4, 4]."""
    box: Box3D
    """Box around all drawn vertices in the frame of that body, in the poses of the sample."""

    @property
    def occlusion(self) -> float | None:
        """Share of the silhouette's pixels that other objects hide; None without a pixel."""
        return 1.0 - self.pixels_visible / self.pixels_total if self.pixels_total else None
