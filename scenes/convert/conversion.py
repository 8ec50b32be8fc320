"""What the steps of a conversion share: the model, the stage and the tables that grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
from pxr import Usd

from scenes.convert.grouping import Grouping
from scenes.convert.looks.materials import Materials
from scenes.convert.report import SceneReport
from scenes.convert.settings import Collision, MaterialRule
from scenes.errors import SceneError
from scenes.stage.info import BodyInfo, CameraInfo, JointInfo, LightInfo, ObjectInfo, PartInfo
from scenes.stage.matrices import Matrix, rigid
from scenes.stage.names import UniqueNames


@dataclass(frozen=True)
class Description:
    """What a source knows about a scene beyond its compiled model."""

    scene_id: str
    source: str
    """`libero/<suite>/<task>` or `mjcf/<file name>`; a run's config holds the whole path."""
    digest: str
    versions: Mapping[str, str]
    language: str | None = None
    language_bddl: str | None = None
    objects_of_interest: tuple[str, ...] = ()
    main_camera: str | None = None
    grouping: Grouping = field(default_factory=Grouping)
    robot_joints: tuple[str, ...] = ()
    gripper_joints: tuple[str, ...] = ()
    ee_site: str | None = None
    """Site whose position is the end effector's."""
    ee_body: str | None = None
    """Body whose orientation is the end effector's."""
    collision: Collision = "boxes"
    """What stands for colliding geoms."""
    materials: MaterialRule = "physical"
    """What MuJoCo's highlights become."""
    path: Path | None = None
    """File of the source as its user spells it; None where it is none."""
    origins: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Prim of a source that was USD itself, by kind and name of the element made from it."""

    @property
    def place(self) -> str:
        """What messages name as the source."""
        return self.source if self.path is None else str(self.path)


@dataclass(frozen=True)
class Collider:
    """A colliding geom and the body prim that carries it."""

    body: BodyInfo
    geom: int
    T_body_geom: Matrix
    """Pose in the body [m], [4, 4]."""


@dataclass
class Conversion:
    """A conversion under way."""

    model: mujoco.MjModel
    folder: Path
    stage: Usd.Stage
    description: Description
    rest: mujoco.MjData
    """Every pose at qpos0."""
    shown: mujoco.MjData
    """Every pose in the default state."""
    drawn: frozenset[int]
    """Geoms that are drawn."""
    stand_ins: frozenset[int]
    """Geoms shown as boxes, since nothing of their object is drawn."""
    materials: Materials
    report: SceneReport
    objects: list[ObjectInfo] = field(default_factory=list)
    object_names: set[str] = field(default_factory=set[str])
    bodies: list[BodyInfo] = field(default_factory=list)
    parts: list[PartInfo] = field(default_factory=list)
    cameras: list[CameraInfo] = field(default_factory=list)
    lights: list[LightInfo] = field(default_factory=list)
    joints: list[JointInfo] = field(default_factory=list)
    colliders: list[Collider] = field(default_factory=list)
    ambiguous: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Names by kind of element that another one of the kind would be spelled like."""
    shared_labels: frozenset[str] = frozenset()
    """Names of objects that another one would share its class with unasked."""
    proxies: int = 0
    """Collision proxies and planes written."""
    _names: dict[str, UniqueNames] = field(default_factory=dict)

    def child_path(self, parent: str, name: str | None, kind: str, number: int) -> str:
        """Path for a new child of a prim, unique beside its siblings."""
        names = self._siblings(parent)
        return f"{parent}/{names.identifier(name, kind, number)}"

    def reserve(self, parent: str, name: str) -> None:
        """Keep a name of a prim's child for later."""
        self._siblings(parent).identifier(name, name, 0)

    def _siblings(self, parent: str) -> UniqueNames:
        return self._names.setdefault(parent, UniqueNames(self.description.place, self.ambiguous))

    def name(self, kind: mujoco.mjtObj, number: int) -> str | None:
        """Name of an element of the model, None for an unnamed one."""
        return mujoco.mj_id2name(self.model, kind, number) or None

    def index(self, kind: mujoco.mjtObj, name: str) -> int:
        """Index of an element of the model.

        Raises:
            SceneError: The model has no such element.
        """
        number = mujoco.mj_name2id(self.model, kind, name)
        if number < 0:
            word = kind.name.removeprefix("mjOBJ_").lower()
            raise SceneError(f"{self.description.place}: the model has no {word} {name!r}.")
        return number

    def body_path(self, body: int) -> str:
        """Prim path of a body of the model."""
        return next(info.path for info in self.bodies if info.body_id == body)

    def body_pose(self, body: int) -> Matrix:
        """World pose of a body at qpos0 [m], [4, 4]."""
        return rigid(self.rest.xpos[body], self.rest.xmat[body])
