"""Facts of a converted scene that are not geometry: the content of `scene.json`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

SCENE_FORMAT = 3


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ObjectInfo(_Record):
    """A named, labelled thing of the scene: one prim under `/World`."""

    instance: int
    """Instance number in label maps, from 1."""
    name: str
    """Name in the source."""
    label: str
    """Class label, `[a-z0-9_]+`."""
    path: str
    """Prim path, `/World/<object>`."""
    kind: str
    """object, fixture, arena, robot, gripper or mount."""


class BodyInfo(_Record):
    """A rigid body: one prim with a world pose below its object."""

    name: str
    path: str
    body_id: int
    """Index in the compiled model."""
    instance: int
    free: bool
    """True when the body hangs on a free joint, so that it can be put anywhere."""


class PartInfo(_Record):
    """A drawn geometry: the unit that pixels carry."""

    part: int
    """Part number in label maps, from 1."""
    name: str
    path: str
    instance: int
    body: str
    """Path of the body prim that carries it."""
    geom_id: int
    """Index in the compiled model."""


class CameraInfo(_Record):
    """A camera of the scene."""

    name: str
    path: str
    camera_id: int


class LightInfo(_Record):
    """A light of the scene."""

    name: str
    path: str
    light_id: int


class JointInfo(_Record):
    """A joint between two bodies; free joints have no prim."""

    name: str
    path: str
    kind: Literal["hinge", "slide", "ball"]
    joint_id: int
    """Index in the compiled model."""
    qpos: int
    """Index into qpos of its first coordinate."""
    qpos0: float | None
    """Position in qpos [rad or m] where the stage has 0; None for a ball."""

    @property
    def position(self) -> str | None:
        """Path of the attribute that holds its position [deg or m]; None for a ball."""
        axis = {"hinge": "angular", "slide": "linear"}.get(self.kind)
        return axis and f"{self.path}.state:{axis}:physics:position"

    def in_stage(self, qpos: float) -> float:
        """Position in the stage, [deg] of a hinge or [m] of a slide.

        Args:
            qpos: Position in the model [rad or m].
        """
        offset = qpos - (self.qpos0 or 0.0)
        return math.degrees(offset) if self.kind == "hinge" else offset


class RobotInfo(_Record):
    """What is needed to state the robot's configuration and its end effector."""

    joints: tuple[str, ...]
    joint_qpos: tuple[int, ...]
    """Index into qpos for each of `joints`."""
    gripper_joints: tuple[str, ...]
    gripper_qpos: tuple[int, ...]
    ee_body: str
    """Path of the body whose orientation is the end effector's."""
    T_body_ee: tuple[tuple[float, ...], ...]
    """Pose of the end effector in that body [m], 4 x 4."""


class SceneInfo(_Record):
    """Everything a reader of the scene needs beside the stage."""

    format: int
    scene_id: str
    source: str
    language: str | None
    language_bddl: str | None
    objects_of_interest: tuple[str, ...]
    main_camera: str | None
    """Camera whose picture fixes the scene's exposure."""
    default_state: str
    """State that `scene.usda` shows."""
    model: str | None
    """File of the MuJoCo model, relative to the scene folder."""
    digest: str
    """BLAKE2b of all that the scene was made from."""
    versions: dict[str, str]
    objects: tuple[ObjectInfo, ...]
    bodies: tuple[BodyInfo, ...]
    parts: tuple[PartInfo, ...]
    cameras: tuple[CameraInfo, ...]
    lights: tuple[LightInfo, ...]
    joints: tuple[JointInfo, ...]
    robot: RobotInfo | None

    @classmethod
    def read(cls, path: Path) -> SceneInfo:
        """Read a `scene.json`."""
        return cls.model_validate_json(path.read_text(encoding="utf-8"))

    def write(self, path: Path) -> None:
        """Write a `scene.json`."""
        path.write_text(self.model_dump_json(indent=1), encoding="utf-8")
