"""What all randomizers share: their common settings and how they find their targets."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from randomizers.distributions import Distribution
from randomizers.errors import RandomizerError
from randomizers.streams import Scope

if TYPE_CHECKING:
    from scenes import SceneInfo


def _number(distribution: Distribution) -> Distribution:
    if distribution.dimension is not None:
        raise ValueError(f"should draw a number, draws {distribution.dimension} components")
    return distribution


def _factor(distribution: Distribution) -> Distribution:
    if distribution.bounds[0] < 0:
        raise ValueError(
            f"is a factor and may become {distribution.bounds[0]!r}; bound it from below by 0 "
            "(a normal by clip: [0, b])"
        )
    return distribution


def _triple(distribution: Distribution) -> Distribution:
    if distribution.dimension not in (None, 3):
        raise ValueError(f"should draw 3 components, draws {distribution.dimension}")
    return distribution


def _pair(distribution: Distribution) -> Distribution:
    if distribution.dimension not in (None, 2):
        raise ValueError(f"should draw 2 components, draws {distribution.dimension}")
    return distribution


Number = Annotated[Distribution, AfterValidator(_number)]
"""A number."""
Factor = Annotated[Distribution, AfterValidator(_number), AfterValidator(_factor)]
"""A number of at least 0."""
Factors = Annotated[Distribution, AfterValidator(_triple), AfterValidator(_factor)]
"""Three numbers of at least 0."""
Pair = Annotated[Distribution, AfterValidator(_pair)]
"""Two numbers; a distribution of numbers draws each by itself."""
Triple = Annotated[Distribution, AfterValidator(_triple)]
"""Three numbers; a distribution of numbers draws each by itself."""


class Settings(BaseModel, frozen=True):
    """A part of a randomizer's settings."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class Randomizer(Settings, frozen=True):
    """Settings that every randomizer has."""

    type: str
    """Kind of randomizer."""

    name: str = Field(min_length=1)
    """Name of this randomizer, no other's in the run; by default its type. Draws depend on
    the name, not on the place in the list."""

    scope: Scope = "frame"
    """How long a draw lasts: all samples of one run, scene, episode, frame or view share it."""

    targets: tuple[Annotated[str, Field(min_length=1)], ...] = Field(default=("*",), min_length=1)
    """Names of what to draw for, as shell patterns: `akita_black_bowl_*`."""

    missing: Literal["refuse", "skip"] = "refuse"
    """What to do with a scene in which one of `targets` matches nothing; `*` always may."""

    @model_validator(mode="after")
    def _draws_something(self) -> Randomizer:
        common = Randomizer.model_fields.keys() | {"type", "attempts"}
        own = [field for field in type(self).model_fields if field not in common]
        if all(getattr(self, field) is None for field in own):
            raise ValueError(f"draws nothing: set one of {', '.join(own)}")
        return self

    def match(self, info: SceneInfo, noun: str, paths: Mapping[str, str]) -> list[str]:
        """Find the targets of this randomizer.

        Args:
            info: Tables of the scene, for the message.
            noun: What the targets are, for the message.
            paths: Prim path by name of everything that could be drawn for.

        Returns:
            Prim paths in the order of `paths`.

        Raises:
            RandomizerError: A pattern matches nothing and the scene should be refused for it.
        """
        for pattern in self.targets:
            if self.missing == "skip" or pattern == "*" or _matching(pattern, paths):
                continue
            nearest = difflib.get_close_matches(pattern, paths, n=1, cutoff=0.5)
            hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
            known = ", ".join(sorted(paths)) or "none"
            raise RandomizerError(
                f"{info.scene_id}: randomizer {self.name!r}: no {noun} matches {pattern!r}. "
                f"Known: {known}.{hint} (`missing: skip` leaves such scenes as they are.)"
            )
        wanted = {name for pattern in self.targets for name in _matching(pattern, paths)}
        return [path for name, path in paths.items() if name in wanted]


def refuse_view(scope: Scope) -> Scope:
    """Refuse the scope `view` for what all views of a frame see alike."""
    if scope == "view":
        raise ValueError(
            "should be one of run, scene, episode, frame: all views of a frame show one sample, "
            "only its cameras may differ by view"
        )
    return scope


def _matching(pattern: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if fnmatchcase(name, pattern)]
