"""The table of a corpus sweep, and the models that are not in its good columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

BAR = 0.99
TIES = 0.9
"""Share of the differing pixels that coplanar faces or rounding must explain to be the cause."""
_COLUMNS = (
    "package", "roots", "compile", "scenes", "converted", "refused", "shown", ">=99%", "decided",
    "mean ids", "worst", "on parts", "interior", "unsettled",
)  # fmt: skip
_REASONS = {
    "missing file": ("no such file", "error opening", "could not open"),
    "outside the package": ("lies outside",),
    "fragment of another model": (
        "not found in",
        "of sensorized object",
        "unknown default class",
        "invalid qpos size",
    ),
    "unknown element or attribute": ("schema violation",),
    "bad value": ("bad format",),
    "moving body without mass": ("mass and inertia of moving",),
    "repeated name": ("repeated name",),
    "names that would be one": ("would both be called",),
    "texture content": ("content type",),
    "mesh volume": ("mesh volume",),
    "skin": ("skin ",),
    "flex": ("flex ",),
}
"""Kinds of refusals by words of their message, the first that fits."""
_SETTLED = frozenset({"MuJoCo refuses", "no geom", "refused", "shown"})


def totals(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Count the models of each package, and of all."""
    packages = list(dict.fromkeys(line["package"] for line in lines))
    rows = [_row(name, [x for x in lines if x["package"] == name]) for name in packages]
    return [*rows, _row("all", lines)]


def _row(name: str, lines: list[dict[str, Any]]) -> dict[str, Any]:
    shown = [line for line in lines if line["status"] == "shown"]
    good = [line for line in shown if line["share"] >= BAR]
    return {
        "package": name,
        "roots": len(lines),
        "compile": sum(line.get("compiles", False) for line in lines),
        "scenes": sum(line.get("geoms", 0) > 0 for line in lines),
        "converted": sum("report" in line for line in lines),
        "refused": sum(line["status"] == "refused" for line in lines),
        "shown": len(shown),
        ">=99%": len(good),
        "decided": sum(line["decided"] >= BAR for line in shown),
        "mean ids": sum(line["mean"] for line in shown) / len(shown) if shown else None,
        "worst": min((line["share"] for line in shown), default=None),
        "on parts": sum(line["surface"] for line in shown) / len(shown) if shown else None,
        "interior": sum(line["interior"] for line in shown),
        "unsettled": sum(line["status"] not in _SETTLED for line in lines)
        + sum(bool(line.get("report")) for line in lines),
        "refused by kind": _kinds(lines, "refused"),
        "MuJoCo refuses by kind": _kinds(lines, "MuJoCo refuses"),
    }


def _kinds(lines: list[dict[str, Any]], status: str) -> dict[str, int]:
    messages = (line["message"] for line in lines if line["status"] == status)
    return dict(Counter(map(kind_of, messages)).most_common())


def kind_of(message: str) -> str:
    """Kind of a refusal by its message."""
    said = message.lower()
    fits = (kind for kind, words in _REASONS.items() if any(word in said for word in words))
    return next(fits, "other")


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Lay out a line per package, then the reasons of refusals."""
    cells = [_COLUMNS, *(tuple(_cell(row[column]) for column in _COLUMNS) for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(_COLUMNS))]
    lines = [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    lines.append(
        "decided: scenes of which 99 % agree where neither coplanar faces nor an edge through the "
        "pixel's centre leave the part open; on parts: mean share of the pixels that show any"
    )
    for key in ("refused by kind", "MuJoCo refuses by kind"):
        counted = ", ".join(f"{kind} {count}" for kind, count in rows[-1][key].items())
        lines.append(f"{key}: {counted or 'none'}")
    return lines


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.3f}%" if isinstance(value, float) else str(value)


def rest(lines: Iterable[dict[str, Any]]) -> list[str]:
    """Tell every model that is refused, unsettled or below the bar, with its kind of reason."""
    told: list[str] = []
    for line in lines:
        name = f"{line['package']} {line['model']}"
        if line.get("report"):
            told.append(f"{name}: not accounted for: {'; '.join(line['report'])}")
        if line["status"] == "shown":
            if line["share"] < BAR:
                told.append(f"{name}: {100 * line['share']:.2f} %: {cause(line)}")
        elif line["status"] not in ("MuJoCo refuses", "no geom"):
            told.append(f"{name}: {line['status']}: {line.get('message', '')[:300]}")
    return told


def cause(line: dict[str, Any]) -> str:
    """Kind of reason why a model is below the bar."""
    pairs = ", ".join(f"{first} for {second} {count}" for first, second, count in line["pairs"])
    kind = "coplanar faces or rounding" if line["explained"] >= TIES else "not explained"
    return f"{kind} ({100 * line['explained']:.0f} % of misses): {pairs}"
