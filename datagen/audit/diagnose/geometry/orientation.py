"""Pictures that stand on their head or in a mirror."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datagen.audit.diagnose.findings import Finding
from datagen.backends import Buffers

_AXES = {"rows_flipped": (0,), "columns_flipped": (1,), "rotated_180": (0, 1)}
_SENTENCES = {
    "rows_flipped": "is upside down: its rows run from bottom to top, as OpenGL's do",
    "columns_flipped": "is mirrored: its columns run from right to left",
    "rotated_180": "is turned by 180 degrees: rows and columns both run backwards",
}
_PASSES = ("part", "depth", "distance", "position", "normal", "albedo", "rgb", "hdr")
_FEWEST = 20
"""Pixels that must differ before a flip is looked for."""
_LEFT = 0.35
"""Share of the difference that a flip may leave."""


@dataclass(frozen=True)
class Upright:
    """The candidate's buffers the right way round, and which were not."""

    buffers: Buffers
    findings: tuple[Finding, ...]


def upright(reference: Buffers, candidate: Buffers, backend: str) -> Upright:
    """Find flips and undo them.

    Ids, depth and picture are judged one by one: a backend may flip only one of them.

    Args:
        reference: Buffers taken for right.
        candidate: The other buffers.
        backend: Name of the candidate.
    """
    found: dict[str, list[str]] = {}
    for name in ("part", "depth", "rgb"):
        first, second = getattr(reference, name), getattr(candidate, name)
        if first is None or second is None or first.shape != second.shape:
            continue
        kind = _flip(_difference(name), first, second)
        if kind is not None:
            found.setdefault(kind, []).append(name)
    by_pass = {name: kind for kind, names in found.items() for name in names}
    # Passes that nothing is compared with share the fate of the ids, which one ray gives them.
    for name in set(_PASSES) - {"part", "depth", "rgb"}:
        leader = "rgb" if name in ("albedo", "hdr") else "depth"
        if leader in by_pass:
            by_pass[name] = by_pass[leader]
    turned: dict[str, Any] = {}
    for name, kind in by_pass.items():
        values = getattr(candidate, name)
        if values is not None:
            turned[name] = np.flip(values, _AXES[kind])
    findings = tuple(
        Finding(
            kind,
            "picture",
            1.0,
            "",
            f"The {_listed(names)} of {backend} {_SENTENCES[kind]}.",
        )
        for kind, names in found.items()
    )
    return Upright(replace(candidate, **turned), findings)


def _listed(names: list[str]) -> str:
    words = {"part": "ids", "depth": "depth", "rgb": "picture"}
    return " and ".join(
        [", ".join(words[name] for name in names[:-1]), words[names[-1]]]
    ).removeprefix(" and ")


def _difference(name: str) -> Any:
    return {"part": _ids, "depth": _depths, "rgb": _colors}[name]


def _flip(difference: Any, first: NDArray[Any], second: NDArray[Any]) -> str | None:
    now = difference(first, second)
    if now < _FEWEST:
        return None
    left = {kind: difference(first, np.flip(second, axes)) for kind, axes in _AXES.items()}
    best = min(left, key=left.__getitem__)
    return best if left[best] <= _LEFT * now else None


def _ids(first: NDArray[Any], second: NDArray[Any]) -> float:
    return float(np.count_nonzero(first != second))


def _depths(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Pixels whose depth is off by over 1 %."""
    both = np.isfinite(first) & np.isfinite(second)
    with np.errstate(invalid="ignore"):
        off = np.where(both, np.abs(first - second) > 0.01 * np.abs(first), False)
    return float(np.count_nonzero(off | (np.isfinite(first) != np.isfinite(second))))


def _colors(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Pixels' worth of a clear difference (1/4 of the range), beyond an even change of light."""
    a, b = first.astype(np.float64).mean(axis=2), second.astype(np.float64).mean(axis=2)
    a, b = (each / max(each.mean(), 1.0) for each in (a, b))
    return float(np.abs(a - b).sum() * 4.0 / 2.0)
