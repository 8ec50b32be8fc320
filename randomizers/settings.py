"""What the settings of randomizers are made of."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)

from randomizers.distribution_parsing import parse_distribution
from randomizers.distributions import Distribution


class Settings(BaseModel, frozen=True):
    """A part of a randomizer's settings."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


def _data(distribution: Distribution) -> Any:
    return distribution.data


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


Numbers = Annotated[
    Distribution,
    PlainValidator(parse_distribution),
    PlainSerializer(_data),
    WithJsonSchema({"description": "A number, a list of numbers, or a distribution."}),
]
"""A number or a vector of any length, as all below given in a config by a distribution."""
Number = Annotated[Numbers, AfterValidator(_number)]
"""A number."""
Factor = Annotated[Number, AfterValidator(_factor)]
"""A number of at least 0."""
Triple = Annotated[Numbers, AfterValidator(_triple)]
"""Three numbers; a distribution of numbers draws each by itself."""
Factors = Annotated[Triple, AfterValidator(_factor)]
"""Three numbers of at least 0."""
Pair = Annotated[Numbers, AfterValidator(_pair)]
"""Two numbers; a distribution of numbers draws each by itself."""
