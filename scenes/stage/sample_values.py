"""Values of USD attributes, checked before a sample takes them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from pxr import Sdf

_SHOWN_LENGTH = 60
_STORED = {"half": np.float16, "float": np.float32}


def checked(kind: Sdf.ValueTypeName, value: Any, allowed: tuple[str, ...] = ()) -> Any:
    """Give the value as its attribute's type.

    Args:
        kind: Type of the attribute.
        value: A value of this type; a vector may be any sequence of as many numbers, an array any
            sequence of elements.
        allowed: The only words that a token may be; empty allows all.

    Raises:
        ValueError: The value is of another type or shape, not finite, or not allowed.
    """
    if kind.isArray:
        element = kind.scalarType
        if isinstance(value, str) or not hasattr(value, "__len__"):
            raise ValueError(f"expected {kind}")
        values = [_scalar(element, each, ()) for each in value]
        return type(kind.defaultValue)(values)
    return _scalar(kind, value, allowed)


def shown(value: Any) -> str:
    """Print a value on one line, cut to a readable length."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _SHOWN_LENGTH else f"{text[: _SHOWN_LENGTH - 3]}..."


def _scalar(kind: Sdf.ValueTypeName, value: Any, allowed: tuple[str, ...]) -> Any:
    default = kind.defaultValue
    if isinstance(default, bool):
        if not isinstance(value, bool | np.bool_):
            raise ValueError("expected bool, True or False")
        return bool(value)
    if isinstance(default, int):
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise ValueError(f"expected {kind}, a whole number")
        return int(value)
    if isinstance(default, float):
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise ValueError(f"expected {kind}, a number")
        try:
            return _finite(kind, float(value))
        except OverflowError as error:
            raise ValueError(f"expected {kind}, finite") from error
    if isinstance(default, str):
        if not isinstance(value, str):
            raise ValueError(f"expected {kind}, a text")
        if allowed and value not in allowed:
            raise ValueError(f"expected {kind}, one of {', '.join(allowed)}")
        return value
    if isinstance(default, Sdf.AssetPath):
        if not isinstance(value, str | Sdf.AssetPath):
            raise ValueError(f"expected {kind}, a path")
        return Sdf.AssetPath(value) if isinstance(value, str) else value
    return _composed(kind, value, default)


def _composed(kind: Sdf.ValueTypeName, value: Any, default: Any) -> Any:
    """Check a vector, a quaternion or a matrix."""
    if isinstance(value, type(default)):
        return _finite(kind, value)
    size = len(default) if hasattr(default, "__len__") else 0
    numbers = np.shape(default) == (size,) and size > 0
    if not numbers or isinstance(value, str):
        raise ValueError(f"expected {kind}, a {type(default).__name__}")
    try:
        found = np.asarray(value)
    except ValueError:
        found = np.empty(0)
    if found.shape != (size,) or found.dtype.kind not in "iuf":
        raise ValueError(f"expected {kind}, {size} numbers")
    try:
        return _finite(kind, type(default)(*found.tolist()))
    except OverflowError as error:
        raise ValueError(f"expected {kind}, finite") from error


def _finite(kind: Sdf.ValueTypeName, value: Any) -> Any:
    numbers = value
    if hasattr(value, "GetImaginary"):
        numbers = [value.GetReal(), *value.GetImaginary()]
    # Beyond its range a number is stored as infinite.
    stored = _STORED.get(str(kind), np.float64)
    with np.errstate(over="ignore"):
        array = np.asarray(numbers, dtype=stored)
    if not np.isfinite(array).all():
        raise ValueError(f"expected {kind}, finite")
    return value
