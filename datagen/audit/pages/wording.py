"""Numbers, limits and picture names as a person reads them."""

from __future__ import annotations

import math

from datagen.audit.diagnose.findings import Finding
from datagen.audit.measure.metrics import METRICS
from datagen.audit.thresholds import Verdict

_PICTURES = {
    "difference": "difference, 4 times",
    "flip": "FLIP",
    "ids.disagreement": "ids that differ: red inside, orange at edges, blue explained",
    "depth.difference": "depth difference [m]",
    "normal.angle": "angle of normals [deg]",
    "light_formula": "MuJoCo's formula on {candidate}'s geometry",
    "light_difference": "difference of the light import",
    "albedo_reference": "albedo, {reference}",
    "albedo_candidate": "albedo, {candidate}",
}


def number_text(metric: str, value: float) -> str:
    """Write a number of a metric, without its unit; shares are in per cent."""
    if not math.isfinite(value):
        return {"inf": "∞", "-inf": "-∞"}.get(str(float(value)), "none")
    unit = METRICS[metric].unit if metric in METRICS else ""
    if unit == "share":
        return f"{100 * value:.3f}".rstrip("0").rstrip(".") or "0"
    if unit == "count":
        return f"{value:.0f}"
    if unit == "dB":
        return f"{value:.1f}"
    if value == 0:
        return "0"
    if abs(value) < 1e-3:
        return f"{value:.1e}".replace("e-0", "e-")
    return f"{value:.3f}"


def unit_text(metric: str) -> str:
    """Give the unit that a metric's numbers are written in."""
    unit = METRICS[metric].unit if metric in METRICS else ""
    return {"share": "%", "count": "", "ratio": ""}.get(unit, unit)


def with_unit(metric: str, value: float) -> str:
    """Write a number of a metric with its unit."""
    return f"{number_text(metric, value)} {unit_text(metric)}".rstrip()


def limits_text(metric: str, low: float | None, high: float | None) -> str:
    """Write limits without their unit, such as `>= 99.9`."""
    if low is None:
        return "" if high is None else f"<= {number_text(metric, high)}"
    if high is None:
        return f">= {number_text(metric, low)}"
    return f"{number_text(metric, low)} to {number_text(metric, high)}"


def failure_text(verdict: Verdict) -> str:
    """Say what was measured and what is allowed."""
    limits = limits_text(verdict.metric, verdict.min, verdict.max)
    unit = unit_text(verdict.metric)
    of = f" of {verdict.object_name}" if verdict.object_name else ""
    value = with_unit(verdict.metric, verdict.value)
    return f"{verdict.metric}{of}: {value}, allowed {limits} {unit}".rstrip()


def finding_text(finding: Finding) -> str:
    """Say what was found, where, and how large it is."""
    size = f" {finding.size:.3g} {finding.unit}".rstrip() if finding.unit else ""
    return f"{finding.kind}{size}, {finding.subject}: {finding.sentence}"


def picture_text(name: str, reference: str, candidate: str) -> str:
    """Give the caption of a picture."""
    sides = {"reference": reference, "candidate": candidate}
    caption = sides.get(name) or _PICTURES.get(name) or name.replace("_", " ").replace(".", ", ")
    return caption.format(**sides)
