"""What a randomizer is: settings, targets, draw and meaning in one class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from randomizers.changes import Changes
from randomizers.draw import Draw, Drawn
from randomizers.errors import RandomizerError
from randomizers.known import known
from randomizers.settings import Settings
from randomizers.streams import Scope

if TYPE_CHECKING:
    from randomizers.trial import Trial
    from scenes import SampleLayer, SceneInfo


def _kind(settings: dict[str, Any]) -> str:
    return settings.get("type", "")


class Randomizer(Settings, frozen=True):
    """Draws for targets of one kind.

    A subclass has a field `type` of a literal that is also its default, and fields for what it
    draws; those with the default None may be left out, but not all of them.
    """

    noun: ClassVar[str] = "target"
    """What the targets are, for messages."""

    by_view: ClassVar[bool] = False
    """Whether `scope: view` makes sense: only what belongs to one camera may differ by view."""

    type: str
    """Kind of randomizer."""

    name: str = Field(default_factory=_kind, min_length=1)
    """Name of this randomizer, no other's in the run; by default its type. Draws depend on
    the name, not on the place in the list."""

    scope: Scope = "frame"
    """How long a draw lasts: all samples of one run, scene, episode, frame or view share it."""

    targets: tuple[Annotated[str, Field(min_length=1)], ...] = Field(default=("*",), min_length=1)
    """Names of what to draw for, as shell patterns: `akita_black_bowl_*`."""

    missing: Literal["refuse", "skip"] = "refuse"
    """What to do with a scene in which one of `targets` matches nothing; `*` always may."""

    @field_validator("scope")
    @classmethod
    def _refuse_view(cls, scope: Scope) -> Scope:
        if scope == "view" and not cls.by_view:
            raise ValueError(
                "should be one of run, scene, episode, frame: all views of a frame show one "
                "sample, only its cameras may differ by view"
            )
        return scope

    @model_validator(mode="after")
    def _draws_something(self) -> Randomizer:
        fields = type(self).model_fields.items()
        own = [name for name, field in fields if field.default is None]
        if own and all(getattr(self, name) is None for name in own):
            raise ValueError(f"draws nothing: set one of {', '.join(own)}")
        return self

    @classmethod
    @abstractmethod
    def candidates(cls, info: SceneInfo) -> Mapping[str, str]:
        """Prim path by name of everything in a scene that can be drawn for."""

    @abstractmethod
    def draw(self, target: str, trial: Trial) -> list[Draw]:
        """Draw for one target, given by its path.

        All that the meaning needs beside the scene and its state must be among the draws.
        """

    @classmethod
    @abstractmethod
    def meaning(cls, sample: SampleLayer, target: str, drawn: Drawn) -> Changes:
        """Compute what drawn values make of a target, from the start values of the sample.

        Args:
            sample: Gives the values that a draw starts from: `start` and `start_pose`.
            target: Path of the target.
            drawn: What was drawn for it, by parameter.
        """

    def find(self, info: SceneInfo) -> list[str]:
        """Find the targets of this randomizer in a scene.

        Returns:
            Prim paths in the order of `candidates`.

        Raises:
            RandomizerError: A pattern matches nothing and the scene should be refused for it.
        """
        paths = self.candidates(info)
        for pattern in self.targets:
            if self.missing == "skip" or pattern == "*" or _matching(pattern, paths):
                continue
            raise RandomizerError(
                f"{info.scene_id}: randomizer {self.name!r}: no {self.noun} matches {pattern!r}. "
                f"{known(pattern, paths)} (`missing: skip` leaves such scenes as they are.)"
            )
        wanted = {name for pattern in self.targets for name in _matching(pattern, paths)}
        return [path for name, path in paths.items() if name in wanted]


def _matching(pattern: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if fnmatchcase(name, pattern)]
