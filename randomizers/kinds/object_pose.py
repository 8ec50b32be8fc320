"""Movable objects shifted and turned on what carries them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from randomizers.changes import Changes
from randomizers.draw import Draw, Drawn, by_parameter
from randomizers.geometry.boxes import Floats
from randomizers.geometry.rotations import Z_AXIS, rotation, translation
from randomizers.randomizer import Randomizer
from randomizers.settings import Number, Pair
from randomizers.trial import Trial

if TYPE_CHECKING:
    from scenes import SampleLayer, SceneInfo

EXHAUSTED = "object_pose_exhausted"
"""Flag: no draw of an object fitted, so it stands where the state puts it."""
UNSUPPORTED = "object_pose_unsupported"
"""Flag: nothing was found under an object, so it stands where the state puts it."""


class ObjectPose(Randomizer, frozen=True):
    """Shifts and turns movable objects on their supports, keeping their height.

    A draw fits when all of the object's footprint that had its support under it has it again,
    and no pair of objects stands deeper in each other than 1 mm or than in the state. Draws are
    repeated until one fits or `attempts` are used up; then the object stays where the state puts
    it and the sample is flagged `object_pose_exhausted`. An object under which nothing is found
    stays too, with the flag `object_pose_unsupported`.

    What rests on or in a moved object, or touches it and so may lean on it, moves along. What an
    object rests on is drawn for in its stead if it is a target too, and an object that moved
    along already is not drawn for again. One that the robot touches stays. Objects are put one
    after another in the order of the scene, each clear of where the others stand by then.
    """

    noun: ClassVar[str] = "movable object"

    type: Literal["object_pose"] = "object_pose"
    """Kind of randomizer."""

    translation: Pair | None = None
    """Shift along the world's x and y [m]."""

    yaw: Number | None = None
    """Turn about the vertical through the origin of the object's body [deg]."""

    attempts: int = Field(default=20, ge=1, le=1000, strict=True)
    """Draws of one object before it is left where it is."""

    @classmethod
    def candidates(cls, info: SceneInfo) -> Mapping[str, str]:
        """Paths of all objects that hang on a free joint, by name."""
        free = {body.instance for body in info.bodies if body.free}
        return {
            thing.name: thing.path
            for thing in info.objects
            if thing.instance in free and thing.kind == "object"
        }

    def draw(self, target: str, trial: Trial) -> list[Draw]:
        """Draw for one object until it fits."""
        placement = trial.placement
        ground = placement.ground
        paths = placement.shapes.paths
        instance = next(number for number, path in paths.items() if path == target)
        targets = set(self.find(trial.sample.scene.info))
        if any(paths[base] in targets for base in ground.bases(instance)):
            return []
        carried = ground.carried(instance)
        movers = {placement.movers.get(i) for i in (instance, *carried)} - {None}
        if placement.movers.get(instance) == self.name:
            return []
        if movers:
            return [trial.state(self, target, "kept", "moved by another randomizer")]
        if ground.held(instance):
            return [trial.state(self, target, "kept", "held")]
        if instance not in ground.supports:
            trial.flags.add(UNSUPPORTED)
            return [trial.state(self, target, "kept", "unsupported")]
        first = trial.attempt(self) * self.attempts
        for attempt in range(first, first + self.attempts):
            draws = trial.draw(self, target, "translation", self.translation, 2, attempt)
            draws += trial.draw(self, target, "yaw", self.yaw, None, attempt)
            move = _move(trial.sample, placement.shapes.free[instance], by_parameter(draws))
            if placement.fits(instance, move):
                placement.put(instance, move, self.name)
                if carried:
                    riders = tuple(paths[rider] for rider in sorted(carried))
                    draws.append(trial.state(self, target, "carried", riders, attempt))
                return draws
            trial.redraws += 1
        trial.flags.add(EXHAUSTED)
        return [trial.state(self, target, "kept", "exhausted", first + self.attempts - 1)]

    @classmethod
    def meaning(cls, sample: SampleLayer, target: str, drawn: Drawn) -> Changes:
        """Compute what drawn parameters make of an object and what it carries."""
        if "kept" in drawn:
            return Changes()
        info = sample.scene.info
        paths = {target, *drawn.get("carried", ())}
        instances = {thing.instance for thing in info.objects if thing.path in paths}
        own = next(thing.instance for thing in info.objects if thing.path == target)
        free = next(body.path for body in info.bodies if body.free and body.instance == own)
        move = _move(sample, free, drawn)
        moved = [body.path for body in info.bodies if body.instance in instances]
        return Changes({path: move @ sample.start_pose(path) for path in moved})


def _move(sample: SampleLayer, body: str, drawn: Drawn) -> Floats:
    origin = sample.start_pose(body)[:3, 3]
    turn = rotation(Z_AXIS, drawn.get("yaw", 0.0))
    shift = (*drawn.get("translation", (0.0, 0.0)), 0.0)
    return translation(origin + shift) @ turn @ translation(-origin)
