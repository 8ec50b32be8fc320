"""One attempt at a sample: the streams to draw from and the things already put."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from randomizers.distributions import Distribution
from randomizers.draw import Draw, SampleId, Value
from randomizers.geometry.placement import Placement
from randomizers.randomizer import Randomizer
from randomizers.streams import Scope, stream

if TYPE_CHECKING:
    from scenes import SampleLayer

RENEWED: frozenset[Scope] = frozenset({"frame", "view"})
"""Scopes drawn anew when a sample is refused; wider draws belong to other samples too."""


class Trial:
    """What randomizers draw one attempt at a sample with."""

    def __init__(self, sample: SampleLayer, sample_id: SampleId, seed: int, number: int) -> None:
        self.sample = sample
        self.sample_id = sample_id
        self.seed = seed
        self.number = number
        """Number of this attempt at the sample, from 0."""
        self.flags: set[str] = set()
        self.redraws = 0
        """Draws of single targets that did not fit."""

    @cached_property
    def placement(self) -> Placement:
        """Where objects stand in this attempt."""
        return Placement(self.sample)

    def attempt(self, randomizer: Randomizer) -> int:
        """Number of the attempt that a randomizer's draws are at."""
        return self.number if randomizer.scope in RENEWED else 0

    def draw(
        self,
        randomizer: Randomizer,
        target: str,
        parameter: str,
        distribution: Distribution | None,
        size: int | None = None,
        attempt: int | None = None,
    ) -> list[Draw]:
        """Draw one parameter of one target from a stream of its own.

        Args:
            randomizer: Who draws.
            target: Prim path.
            parameter: Name of the parameter.
            distribution: What to draw from; None draws nothing.
            size: Number of components, None for a number.
            attempt: Number of the attempt; None for the randomizer's.
        """
        if distribution is None:
            return []
        scope, number = randomizer.scope, self.attempt(randomizer) if attempt is None else attempt
        scope_id = self.sample_id.scope_id(scope, target)
        rng = stream(self.seed, randomizer.name, scope, scope_id, f"{target}.{parameter}", number)
        value: list[float] | float = np.asarray(distribution.draw(rng, size)).tolist()
        drawn = tuple(value) if isinstance(value, list) else value
        return [self.state(randomizer, target, parameter, drawn, number)]

    def state(
        self,
        randomizer: Randomizer,
        target: str,
        parameter: str,
        value: Value,
        attempt: int | None = None,
    ) -> Draw:
        """Record a value that a recipe needs."""
        return Draw(
            randomizer=randomizer.name,
            scope=randomizer.scope,
            target=target,
            parameter=f"{randomizer.type}.{parameter}",
            value=value,
            attempt=self.attempt(randomizer) if attempt is None else attempt,
        )
