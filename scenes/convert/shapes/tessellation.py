"""How finely round shapes are cut into triangles, as MuJoCo's renderer does it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import mujoco

from scenes.errors import SceneError

_LEAST_SLICES = 3
_LEAST_STACKS = 2
_MOST = 1024


@dataclass(frozen=True)
class Tessellation:
    """How finely a round shape is cut; MuJoCo's `numslices` and `numstacks`."""

    slices: int = 28
    """Sides of a circle around the axis."""
    stacks: int = 16
    """Rings from pole to pole; MuJoCo draws one less where the number is odd."""

    @property
    def cap_stacks(self) -> int:
        """Rings of half a sphere."""
        return self.stacks // 2


MUJOCO = Tessellation()
"""MuJoCo's defaults."""


def model_tessellation(model: mujoco.MjModel) -> Tessellation:
    """How finely MuJoCo draws the round shapes of a model.

    Raises:
        SceneError: The numbers make no solid, or too many triangles.
    """
    quality = model.vis.quality
    for name, count, least in (
        ("numslices", quality.numslices, _LEAST_SLICES),
        ("numstacks", quality.numstacks, _LEAST_STACKS),
    ):
        if not least <= count <= _MOST:
            raise SceneError(
                f"visual/quality: {name} is {count}; round shapes need {least} to {_MOST}."
            )
    return Tessellation(quality.numslices, quality.numstacks)


def refine(model: mujoco.MjModel, tessellation: Literal["mujoco"] | int, source: Path) -> None:
    """Make MuJoCo draw a model's round shapes finer, and with it all that follow its numbers.

    Args:
        model: The compiled model, which is changed.
        tessellation: Times as many slices and stacks; `mujoco` leaves the model as it is.
        source: File that an error names.

    Raises:
        SceneError: There would be too many.
    """
    if tessellation == "mujoco":
        return
    quality = model.vis.quality
    most = max(quality.numslices, quality.numstacks)
    if most * tessellation > _MOST:
        raise SceneError(
            f"{source}: tessellation {tessellation}: its visual/quality already asks for {most} "
            f"slices or stacks; {_MOST} are allowed."
        )
    quality.numslices *= tessellation
    quality.numstacks *= tessellation
