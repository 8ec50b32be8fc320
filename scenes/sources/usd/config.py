"""Settings of a USD stage as a source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from scenes.convert.settings import Collision, MaterialRule, ObjectWord, Settings
from scenes.sources.additions import AddedCamera
from scenes.sources.file_config import FileConfig


class UsdObject(Settings):
    """Prims that make one object, or one object each."""

    label: str = Field(pattern="^[a-z0-9_]+$")
    """Class label."""

    paths: tuple[Annotated[str, Field(pattern=r"^/.*[^/]$")], ...] = Field(min_length=1)
    """Prims by path, each with all below it: `*` stands for any letters within a name, `?` for
    one, `**` for any number of names. With `{name}` in the object's name each prim that fits is an
    object of its own, called so with its prim's name put in."""

    free: bool = False
    """Let the object be put anywhere, as a rigid body, where the stage itself has none of it."""


class UsdConfig(FileConfig):
    """A USD stage of any origin."""

    path: Path
    """Root layer or package, from the current folder."""

    roots: tuple[Path, ...] = ()
    """Folders that its layers and pictures may lie in, beside its own folder."""

    up_axis: Literal["Y", "Z"] | None = None
    """Axis that points up; none: as the stage states, which it then must."""

    meters_per_unit: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Length of the stage's unit [m]; none: as the stage states, which it then must."""

    cameras: dict[ObjectWord, AddedCamera] = Field(default_factory=dict[str, AddedCamera])
    """Cameras to add, by name. Without any here and in the stage, one named `view` shows it all."""

    main_camera: str | None = None
    """Camera whose picture fixes the exposure of the path tracer; none: the first of the stage."""

    objects: dict[ObjectWord, UsdObject] = Field(default_factory=dict[str, UsdObject])
    """Objects by name; the first whose paths fit a prim has it. Prims that fit none belong to the
    nearest prim above with a class label, else to the child of the default prim that holds them,
    named and labelled by its name (a Scope there is a folder of such children)."""

    materials: MaterialRule = "physical"
    """What `specular` and `shininess` become: highlights as strong as MuJoCo's (`mujoco`), or those
    of plastic and lacquer (`physical`: dielectrics of reflectance 0.04)."""

    collision: Collision = "boxes"
    """What stands for colliding prims: a box for each (`boxes`), for each body (`body_box`) or
    for each object (`object_box`), or a convex hull for each (`hull`)."""
