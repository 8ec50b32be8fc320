"""Distributions from plain data, as a config holds them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from randomizers.distributions import (
    Choice,
    Constant,
    Distribution,
    LogUniform,
    Normal,
    Uniform,
    Values,
)
from randomizers.known import known

_FARTHEST = 8.0
"""Most standard deviations from the mean at which a truncated bell may begin."""


def parse_distribution(data: Any) -> Distribution:
    """Make a distribution from plain data.

    Raises:
        ValueError: The data are no distribution; the message says what is allowed.
    """
    if isinstance(data, Distribution):
        return data
    if not isinstance(data, Mapping):
        return _constant(data)
    mapping = cast(Mapping[Any, Any], data)
    kinds = [key for key in mapping if key != "clip"]
    for kind in kinds:
        if kind not in _PARSERS:
            raise ValueError(f"{kind!r} is not a distribution. {known(kind, _PARSERS)}")
    if len(kinds) != 1:
        raise ValueError(f"should be exactly one of {', '.join(_PARSERS)}")
    (kind,) = kinds
    if "clip" in mapping:
        if kind != "normal":
            raise ValueError("clip goes with normal only")
        return _normal(mapping["normal"], mapping["clip"])
    return _PARSERS[kind](mapping[kind])


def _constant(data: Any) -> Distribution:
    value = _numbers(data, "value")
    return Constant(_dimension(data), value)


def _uniform(data: Any) -> Distribution:
    low, high = _range(data, "uniform")
    return Uniform(_dimension(*data), low, high)


def _loguniform(data: Any) -> Distribution:
    low, high = _range(data, "loguniform")
    if min(low) <= 0:
        raise ValueError(f"loguniform needs bounds above 0, not {min(low)!r}")
    return LogUniform(_dimension(*data), low, high)


def _normal(data: Any, clip: Any = None) -> Distribution:
    if not isinstance(data, Mapping) or set(cast(Mapping[Any, Any], data)) != {"mean", "std"}:
        raise ValueError(f"normal needs {{mean: m, std: s}}, not {data!r}")
    mean, std = _numbers(data["mean"], "mean"), _numbers(data["std"], "std")
    if min(std) < 0:
        raise ValueError(f"std should be at least 0, not {min(std)!r}")
    if clip is None:
        return Normal(_dimension(data["mean"], data["std"]), mean, std, None)
    low, high = _range(clip, "clip")
    dimension = _dimension(data["mean"], data["std"], *clip)
    columns = (np.broadcast_to(v, (dimension or 1,)) for v in (mean, std, low, high))
    for row in zip(*columns, strict=True):
        m, s, a, b = map(float, row)
        # Further out the bell has no digits left to draw from.
        if a > m + _FARTHEST * s or b < m - _FARTHEST * s:
            raise ValueError(
                f"clip [{a!r}, {b!r}] lies more than {_FARTHEST:g} std from the mean {m!r}"
            )
    return Normal(dimension, mean, std, (low, high))


def _choice(data: Any) -> Distribution:
    if not isinstance(data, Sequence) or isinstance(data, str) or not data:
        raise ValueError(f"choice needs a list of values, not {data!r}")
    items = cast(Sequence[Any], data)
    values = tuple(_numbers(item, "choice") for item in items)
    dimension = _dimension(*items)
    if len(set(map(len, values))) > 1:
        raise ValueError("choice mixes numbers and vectors")
    return Choice(dimension, values)


_PARSERS: dict[str, Callable[[Any], Distribution]] = {
    "choice": _choice,
    "constant": _constant,
    "loguniform": _loguniform,
    "normal": _normal,
    "uniform": _uniform,
}


def _range(data: Any, name: str) -> tuple[Values, Values]:
    if not isinstance(data, Sequence) or isinstance(data, str) or len(data) != 2:
        raise ValueError(f"{name} needs [low, high], not {data!r}")
    low, high = (_numbers(item, name) for item in cast(Sequence[Any], data))
    _dimension(*data)
    for a, b in np.broadcast(np.array(low), np.array(high)):
        if a > b:
            raise ValueError(f"{name}: low {float(a)!r} is above high {float(b)!r}")
    return low, high


def _numbers(data: Any, name: str) -> Values:
    if isinstance(data, Sequence) and not isinstance(data, str):
        items = cast(Sequence[Any], data)
        if not items:
            raise ValueError(f"{name}: an empty list is no vector")
    else:
        items = [data]
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int | float):
            hint = " (YAML takes 1e-3 for text, 1.0e-3 for a number)" if _is_text(item) else ""
            raise ValueError(f"{name}: {item!r} is not a number{hint}")
        if not math.isfinite(item):
            raise ValueError(f"{name}: {item!r} is not finite")
    return tuple(float(item) for item in items)


def _is_text(item: Any) -> bool:
    try:
        return isinstance(item, str) and math.isfinite(float(item))
    except ValueError:
        return False


def _dimension(*values: Any) -> int | None:
    lengths = {len(cast(Sequence[Any], v)) for v in values if isinstance(v, Sequence)}
    if len(lengths) > 1:
        raise ValueError(f"mixes vectors of {' and '.join(map(str, sorted(lengths)))} components")
    return lengths.pop() if lengths else None
