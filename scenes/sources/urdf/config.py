"""Settings of a URDF model as a source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from scenes.convert.settings import Collision, Fineness, MaterialRule, ObjectGroup, ObjectWord
from scenes.sources.additions import AddedCamera
from scenes.sources.file_config import FileConfig


class UrdfConfig(FileConfig):
    """A robot or other model in URDF, compiled by MuJoCo."""

    path: Path
    """URDF file, from the current folder."""

    packages: dict[str, Path] = Field(default_factory=dict[str, Path])
    """Folders of packages by name, for meshes named `package://NAME/...`."""

    roots: tuple[Path, ...] = ()
    """Folders that its meshes may lie in, beside its own folder and those of `packages`."""

    cameras: dict[ObjectWord, AddedCamera] = Field(default_factory=dict[str, AddedCamera])
    """Cameras by name; URDF has none. Without any, one named `view` shows the whole model."""

    objects: dict[ObjectWord, ObjectGroup] = Field(default_factory=dict)
    """Objects by name, with links as bodies; all other links are one, called as the robot."""

    drawn_groups: tuple[Annotated[int, Field(ge=0, le=5)], ...] | None = None
    """Geom groups that are drawn: MuJoCo puts visual shapes in 1 and collision shapes in 0. None:
    the visual shapes, or the collision shapes of a model without any visual one."""

    materials: MaterialRule = "physical"
    """What `specular` and `shininess` become: highlights as strong as MuJoCo's (`mujoco`), or those
    of plastic and lacquer (`physical`: dielectrics of reflectance 0.04)."""

    collision: Collision = "boxes"
    """What stands for collision shapes: a box for each (`boxes`), for each body (`body_box`) or
    for each object (`object_box`), or a convex hull for each (`hull`)."""

    tessellation: Fineness = "mujoco"
    """How finely round shapes are cut into triangles: as MuJoCo draws them (`mujoco`), or
    2 to 16 times as many slices and stacks, in MuJoCo's pictures too."""
