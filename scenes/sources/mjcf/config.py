"""Settings of a MuJoCo model as a source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from scenes.convert.settings import Collision, Fineness, MaterialRule, ObjectGroup, ObjectWord
from scenes.sources.file_config import FileConfig


class MjcfConfig(FileConfig):
    """A MuJoCo model."""

    path: Path
    """XML file, from the current folder."""

    roots: tuple[Path, ...] = ()
    """Folders that its meshes, textures and included files may lie in, beside its own folder."""

    keyframe: str | None = Field(default=None, pattern=r"^[\w.@+ -]+$")
    """Keyframe that says where everything stands; none: the model's initial position."""

    objects: dict[ObjectWord, ObjectGroup] = Field(default_factory=dict)
    """Objects by name, in place of the rule that each root body is one."""

    drawn_groups: tuple[Annotated[int, Field(ge=0, le=5)], ...] | None = None
    """Geom groups that are drawn; none: found from the model."""

    materials: MaterialRule = "physical"
    """What `specular` and `shininess` become: highlights as strong as MuJoCo's (`mujoco`), or those
    of plastic and lacquer (`physical`: dielectrics of reflectance 0.04)."""

    collision: Collision = "boxes"
    """What stands for colliding geoms: a box for each (`boxes`), for each body (`body_box`) or
    for each object (`object_box`), or a convex hull for each (`hull`)."""

    tessellation: Fineness = "mujoco"
    """How finely round shapes are cut into triangles: as the model's `visual/quality` has MuJoCo
    draw them (`mujoco`), or 2 to 16 times as many slices and stacks, in MuJoCo's pictures too."""
