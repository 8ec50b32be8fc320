"""What a draw means for the scene, before it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from randomizers.geometry.boxes import Floats

if TYPE_CHECKING:
    from scenes import SampleLayer


@dataclass(frozen=True)
class Changes:
    """Poses and values that differ from those of the state and the authored stage."""

    poses: Mapping[str, Floats] = field(default_factory=dict[str, Floats])
    """Local pose by prim path, [4, 4] for column vectors, m; of a body it is the world pose."""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Value by path of an attribute that is no pose: `/World/lights/key.inputs:intensity`."""

    @property
    def paths(self) -> list[str]:
        """Paths of all attributes that change."""
        return [*(f"{prim}.xformOp:transform" for prim in self.poses), *self.values]

    def write(self, sample: SampleLayer) -> None:
        """State the poses and values in a sample."""
        for prim, pose in self.poses.items():
            sample.set_pose(prim, pose)
        for path, value in self.values.items():
            sample.set(path, value)
