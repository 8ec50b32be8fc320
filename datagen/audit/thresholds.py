"""Numbers held against their thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from datagen.audit.config import Threshold
from datagen.audit.measure.metrics import OBJECTS, family


@dataclass(frozen=True, slots=True)
class Verdict:
    """A number, its limits, and whether it is within them."""

    metric: str
    """Dotted name."""
    object_name: str | None
    """Object that was measured; None for the whole view."""
    value: float
    min: float | None
    max: float | None
    passed: bool

    @property
    def room(self) -> float:
        """How far the number is inside its limits, in its own unit; negative outside."""
        if self.value != self.value:
            return float("-inf")
        below = float("inf") if self.min is None else self.value - self.min
        above = float("inf") if self.max is None else self.max - self.value
        return min(below, above)

    @property
    def excess(self) -> float:
        """How far beyond its limit the number is, 0 where it is within; infinite for no number.

        In units of the limit, so that different metrics can be ordered.
        """
        if self.passed:
            return 0.0
        if self.value != self.value:
            return float("inf")
        limit = self.min if self.min is not None and self.value < self.min else self.max
        assert limit is not None
        return abs(self.value - limit) / max(abs(limit), 1e-9)


def judge(
    metrics: Mapping[str, float],
    objects: Mapping[str, Mapping[str, float]],
    thresholds: Mapping[str, Threshold],
    camera: str,
    backend: str,
    smallest_object: int = 1,
) -> tuple[Verdict, ...]:
    """Hold a view's numbers against the thresholds; what was not measured is not judged.

    Args:
        metrics: Numbers of the view by dotted name.
        objects: Numbers by object, then name.
        thresholds: Thresholds by dotted name; `objects.<name>` holds for every object.
        camera: Camera of the view.
        backend: Backend that was compared with the reference.
        smallest_object: Pixels that both sides must show of an object for it to be judged.
    """
    verdicts: list[Verdict] = []
    for metric, threshold in thresholds.items():
        limits = threshold.limits(camera, backend)
        if limits is None:
            continue
        for name, value in _measured(metric, metrics, objects, smallest_object):
            passed = limits.allow(value)
            verdicts.append(Verdict(metric, name, value, limits.min, limits.max, passed))
    return tuple(verdicts)


def _measured(
    metric: str,
    metrics: Mapping[str, float],
    objects: Mapping[str, Mapping[str, float]],
    smallest_object: int,
) -> list[tuple[str | None, float]]:
    if family(metric) != OBJECTS:
        return [(None, metrics[metric])] if metric in metrics else []
    name = metric.partition(".")[2]
    return [
        (each, numbers[name])
        for each, numbers in objects.items()
        if name in numbers and _pixels(numbers) >= smallest_object
    ]


def _pixels(numbers: Mapping[str, float]) -> float:
    return min(numbers.get(f"pixels_{side}", 0.0) for side in ("reference", "candidate"))
