"""Settings of what scenes are made from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from scenes.convert.settings import Collision, MaterialRule, ObjectGroup, Settings


def _spelling(value: object) -> str:
    return "<word>" if isinstance(value, str) else "<times>"


Fineness = Annotated[
    Annotated[Literal["mujoco"], Tag("<word>")]
    | Annotated[int, Field(ge=2, le=16), Tag("<times>")],
    Discriminator(_spelling),
]
"""How finely round shapes are cut into triangles."""


class StateCount(Settings):
    """The first so many initial states."""

    count: int = Field(ge=1)
    """How many, from the first."""


def _kind(value: object) -> str:
    """Tell the spellings of a choice apart, so that errors are those of the one meant."""
    if isinstance(value, str):
        return "<word>"
    return "<count>" if isinstance(value, dict | StateCount) else "<list>"


class LiberoSource(Settings):
    """Tasks of a LIBERO suite."""

    suite: str
    """Name of the suite, such as libero_spatial; `datagen scenes` lists them."""

    tasks: Annotated[
        Annotated[Literal["all"], Tag("<word>")]
        | Annotated[tuple[int | str, ...], Field(min_length=1), Tag("<list>")],
        Discriminator(_kind),
    ] = "all"
    """`all`, or tasks by index or by name; `datagen scenes SUITE` lists them."""

    initial_states: Annotated[
        Annotated[Literal["all"], Tag("<word>")]
        | Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1), Tag("<list>")]
        | Annotated[StateCount, Tag("<count>")],
        Discriminator(_kind),
    ] = StateCount(count=1)
    """Initial states of each task: `all`, indices, or `{count: n}` for the first n."""

    state: Literal["settled", "stored"] = "settled"
    """`settled`: objects have come to rest; `stored`: as in LIBERO's files, some float."""

    seed: int = Field(default=0, ge=0, lt=2**32)
    """Seed of the fixtures' poses, which LIBERO's initial states do not hold."""

    materials: MaterialRule = "physical"
    """What `specular` and `shininess` become: highlights as strong as MuJoCo's (`mujoco`), or those
    of plastic and lacquer (`physical`: dielectrics of reflectance 0.04)."""

    collision: Collision = "boxes"
    """What stands for colliding geoms: a box for each (`boxes`), for each body (`body_box`) or
    for each object (`object_box`), or a convex hull for each (`hull`)."""

    @field_validator("tasks", "initial_states")
    @classmethod
    def _refuse_repeats(cls, value: object) -> object:
        if isinstance(value, tuple) and len(set(value)) < len(value):
            raise ValueError("lists something twice")
        return value


ObjectWord = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*[^\W_][^\x00-\x1f\x7f]*$")]
"""Name of an object: at least a letter or digit, no control characters."""


class MjcfSource(Settings):
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


Point = tuple[
    Annotated[float, Field(allow_inf_nan=False)],
    Annotated[float, Field(allow_inf_nan=False)],
    Annotated[float, Field(allow_inf_nan=False)],
]


class AddedCamera(Settings):
    """A camera that stands still in the scene."""

    position: Point
    """Where it stands [m], z up."""

    look_at: Point
    """The point in the middle of its picture [m]."""

    fovy: float = Field(default=45.0, gt=0, lt=180)
    """Vertical field of view [deg]."""


class UrdfSource(Settings):
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


class UsdSource(Settings):
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


FileSource = MjcfSource | UrdfSource | UsdSource
"""A source that is a file."""


def _choice(value: object) -> str:
    return "<word>" if value == "all" else "<list>"


CameraChoice = Annotated[
    Annotated[Literal["all"], Tag("<word>")]
    | Annotated[tuple[str, ...], Field(min_length=1), Tag("<list>")],
    Discriminator(_choice),
]
"""Cameras by name, or all of a scene's."""


class SourceConfig(Settings):
    """One source of scenes: exactly one of the kinds, and what its scenes are called."""

    libero: LiberoSource | None = None
    """Tasks of a LIBERO suite."""

    mjcf: MjcfSource | None = None
    """A MuJoCo model."""

    urdf: UrdfSource | None = None
    """A URDF model."""

    usd: UsdSource | None = None
    """A USD stage."""

    name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_-]{1,80}$")
    """Name of its scene, or start of the names of its tasks; none: made from the file's name, and
    from its folder or keyframe where several sources share one."""

    cameras: CameraChoice | None = None
    """Cameras by name, or `all`, in place of the config's `cameras`."""

    @field_validator("cameras")
    @classmethod
    def _refuse_repeats(cls, value: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
        if isinstance(value, tuple) and len(set(value)) < len(value):
            raise ValueError("lists something twice")
        return value

    @model_validator(mode="after")
    def _exactly_one(self) -> SourceConfig:
        kinds = (self.libero, self.mjcf, self.urdf, self.usd)
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError("a source is exactly one of: libero, mjcf, urdf, usd")
        return self


def _usual_memory() -> float:
    """8 GiB, or half of the machine's memory where that is less."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return max(0.5, min(8.0, round(machine / 2, 1)))


class ConversionLimits(Settings):
    """What the process that reads sources and converts them may take for one scene."""

    timeout: float = Field(default=300.0, gt=0, le=1e6, allow_inf_nan=False)
    """Longest time [s]."""

    memory: float = Field(default_factory=_usual_memory, ge=0.5, le=1e6, allow_inf_nan=False)
    """Most memory [GiB]; by default 8, or half of the machine's where that is less."""
