"""Distributions as data: what a config may draw a number or a vector from."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = tuple[float, ...]


@dataclass(frozen=True)
class Distribution(ABC):
    """What a value is drawn from.

    In a config it is one of

    * `0.5` or `[0, 0, 0.1]` or `{constant: 0.5}`: always this value;
    * `{uniform: [a, b]}`: evenly between a and b;
    * `{loguniform: [a, b]}`: evenly in the logarithm, 0 < a <= b;
    * `{normal: {mean: m, std: s}}`, with `clip: [a, b]` beside `normal` to truncate: values are
      drawn from the part of the bell inside the bounds, none is moved to a bound;
    * `{choice: [x, y, ...]}`: one of these.

    Where a number stands a vector may stand; numbers beside vectors hold for every component.
    Components are drawn independently, those of a chosen vector together.
    """

    dimension: int | None
    """Length of what is drawn, None for a number."""

    def draw(self, rng: np.random.Generator, size: int | None = None) -> NDArray[np.float64]:
        """Draw a value, [size], or [] without a size.

        Args:
            rng: The stream to draw from.
            size: Number of components; a distribution of numbers draws each one by itself.

        Raises:
            ValueError: The distribution is of vectors of another length.
        """
        count = self.dimension if size is None else size
        if self.dimension not in (None, count):
            raise ValueError(f"draws {self.dimension} components, {size} are needed")
        drawn = self._draw(rng, 1 if count is None else count)
        return drawn[0] if count is None else drawn

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest number that any component can be."""
        return self._bounds()

    @property
    def data(self) -> Any:
        """The distribution as plain data, as it stands in a config."""
        return self._data()

    @abstractmethod
    def _bounds(self) -> tuple[float, float]: ...

    @abstractmethod
    def _data(self) -> Any: ...

    @abstractmethod
    def _draw(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class Constant(Distribution):
    """Always the same value."""

    value: Values

    def _bounds(self) -> tuple[float, float]:
        return min(self.value), max(self.value)

    def _data(self) -> Any:
        return {"constant": _plain(self.value, self.dimension)}

    def _draw(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        return np.broadcast_to(np.array(self.value), (count,)).copy()


@dataclass(frozen=True)
class Uniform(Distribution):
    """Evenly between two values."""

    low: Values
    high: Values

    def _bounds(self) -> tuple[float, float]:
        return min(self.low), max(self.high)

    def _data(self) -> Any:
        return {"uniform": [_plain(v, self.dimension) for v in (self.low, self.high)]}

    def _draw(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        low, high = np.array(self.low), np.array(self.high)
        # Rounding can pass the bound by a last digit.
        return np.minimum(low + (high - low) * rng.random(count), high)


@dataclass(frozen=True)
class LogUniform(Distribution):
    """Evenly in the logarithm between two positive values."""

    low: Values
    high: Values

    def _bounds(self) -> tuple[float, float]:
        return min(self.low), max(self.high)

    def _data(self) -> Any:
        return {"loguniform": [_plain(v, self.dimension) for v in (self.low, self.high)]}

    def _draw(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        low, high = np.log(self.low), np.log(self.high)
        # exp(log(x)) can miss x by a rounding error, never by more.
        return np.clip(np.exp(low + (high - low) * rng.random(count)), self.low, self.high)


@dataclass(frozen=True)
class Normal(Distribution):
    """A bell, whole or truncated."""

    mean: Values
    std: Values
    clip: tuple[Values, Values] | None

    def _bounds(self) -> tuple[float, float]:
        if self.clip is not None:
            return min(self.clip[0]), max(self.clip[1])
        if any(self.std):
            return -math.inf, math.inf
        return min(self.mean), max(self.mean)

    def _data(self) -> Any:
        mean, std = (_plain(v, self.dimension) for v in (self.mean, self.std))
        bell = {"normal": {"mean": mean, "std": std}}
        if self.clip is None:
            return bell
        return {**bell, "clip": [_plain(v, self.dimension) for v in self.clip]}

    def _draw(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        mean, std = np.array(self.mean), np.array(self.std)
        if self.clip is None:
            return mean + std * rng.standard_normal(count)
        shares = rng.random(count)
        columns = (np.broadcast_to(v, (count,)) for v in (mean, std, *self.clip))
        rows = zip(shares, *columns, strict=True)
        return np.array([_truncated(*map(float, row)) for row in rows])


@dataclass(frozen=True)
class Choice(Distribution):
    """One of several values, each as likely as the others."""

    values: tuple[Values, ...]

    def _bounds(self) -> tuple[float, float]:
        return min(map(min, self.values)), max(map(max, self.values))

    def _data(self) -> Any:
        return {"choice": [_plain(v, self.dimension) for v in self.values]}

    def _draw(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        values = np.array(self.values)
        if self.dimension is not None:
            return values[int(rng.integers(len(values)))]
        return values[rng.integers(len(values), size=count), 0]


def _plain(values: Values, dimension: int | None) -> float | list[float]:
    return values[0] if dimension is None or len(values) == 1 < dimension else list(values)


def _truncated(share: float, mean: float, std: float, low: float, high: float) -> float:
    """Value below which a share of the truncated bell lies."""
    if std == 0:
        return mean
    a, b = (low - mean) / std, (high - mean) / std
    # Left of the mean the distribution function keeps its digits; the right half is mirrored.
    sign = 1.0 if a + b <= 0 else -1.0
    a, b, share = (a, b, share) if sign > 0 else (-b, -a, 1.0 - share)
    unit = NormalDist()
    p, q = unit.cdf(a), unit.cdf(b)
    at = p + (q - p) * share
    # A share of exactly 0 or 1 has no value on an unbounded bell; the bound is its limit.
    z = unit.inv_cdf(at) if 0.0 < at < 1.0 else (a if at <= 0.0 else b)
    # Only rounding can leave the bounds here.
    return min(max(mean + std * sign * z, low), high)
