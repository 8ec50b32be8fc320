"""The tables of the page: views by metrics, findings, objects of a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from datagen.audit.diagnose.findings import Finding
from datagen.audit.measure.metrics import METRICS, OBJECTS, family
from datagen.audit.pages.wording import limits_text, number_text, unit_text
from datagen.audit.results import AuditResults, AuditView, SceneCaveats
from datagen.audit.thresholds import Verdict

WORST_OBJECTS = 8
"""Most objects in the table of a view."""


@dataclass(frozen=True, slots=True)
class Column:
    """A metric as a column of the table of views."""

    metric: str
    family: str
    name: str
    """Last part of the metric's name."""
    meaning: str
    unit: str
    limits: str
    """Limits of most cameras; empty where there is none."""
    failing: int
    """Views that fail it."""
    worst: str
    """The number nearest to, or farthest beyond, its limit; empty without limits."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of the table."""

    text: str
    state: str
    """`pass`, `fail`, or `plain` where nothing is asked; empty where nothing was measured."""
    title: str
    """Limits and caveats."""
    caveat: bool


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """One culprit in all views where it was found."""

    finding: Finding
    """The one with the largest size."""
    views: tuple[int, ...]
    """Places of the views in the results."""


@dataclass(frozen=True, slots=True)
class ObjectLine:
    """An object of a view."""

    name: str
    cells: tuple[Cell, ...]
    caveats: tuple[str, ...]


def columns_of(results: AuditResults) -> list[Column]:
    """Give the metrics that any view has, by family: those that a view fails come first."""
    present = {metric for view in results.views for metric in view.metrics}
    # Of numbers of objects only those that are held to something: the worst object of each view.
    present |= {
        verdict.metric for view in results.views for verdict in view.verdicts if verdict.object_name
    }
    known = [metric for metric in METRICS if metric in present]
    columns = [_column(results, metric) for metric in [*known, *sorted(present - set(known))]]
    failing = {column.family for column in columns if column.failing}
    order = list(dict.fromkeys(column.family for column in columns))
    return sorted(
        columns,
        key=lambda column: (
            column.family not in failing,
            order.index(column.family),
            not column.failing,
        ),
    )


def view_cells(
    columns: Sequence[Column], view: AuditView, caveats: SceneCaveats
) -> tuple[Cell, ...]:
    """Give a view's line of the table."""
    verdicts = _worst_verdicts(view)
    return tuple(
        _cell(
            column.metric,
            _value(column.metric, view, verdicts),
            verdicts.get(column.metric),
            caveats.families.get(column.family, ()),
        )
        for column in columns
    )


def _worst_verdicts(view: AuditView) -> dict[str, Verdict]:
    """Verdict of each metric; of a metric of objects, that of the worst one."""
    found: dict[str, Verdict] = {}
    for verdict in view.verdicts:
        known = found.get(verdict.metric)
        if known is None or verdict.room < known.room:
            found[verdict.metric] = verdict
    return found


def _value(metric: str, view: AuditView, verdicts: Mapping[str, Verdict]) -> float | None:
    if metric not in view.metrics and metric in verdicts:
        return verdicts[metric].value
    return view.metrics.get(metric)


def finding_groups(results: AuditResults) -> list[FindingGroup]:
    """Gather findings by culprit, the one in most views first."""
    found: dict[tuple[str, str, str], list[tuple[Finding, int]]] = {}
    for place, view in enumerate(results.views):
        for finding in view.findings:
            scene = "" if finding.subject.startswith("picture") else view.scene_id
            found.setdefault((finding.kind, finding.subject, scene), []).append((finding, place))
    groups = [
        FindingGroup(
            max((finding for finding, _ in each), key=lambda finding: abs(finding.size)),
            tuple(dict.fromkeys(place for _, place in each)),
        )
        for each in found.values()
    ]
    return sorted(groups, key=lambda group: -len(group.views))


def object_table(view: AuditView, caveats: SceneCaveats) -> tuple[list[str], list[ObjectLine]]:
    """Give the columns and lines of a view's worst objects, the worst first."""
    columns = list(dict.fromkeys(name for each in view.objects.values() for name in each))
    verdicts = {
        (verdict.object_name, verdict.metric): verdict
        for verdict in view.verdicts
        if verdict.object_name
    }
    lines = [
        (
            _badness(name, numbers, verdicts),
            ObjectLine(
                name,
                tuple(
                    _cell(
                        f"{OBJECTS}.{column}",
                        numbers.get(column),
                        verdicts.get((name, f"{OBJECTS}.{column}")),
                        (),
                    )
                    for column in columns
                ),
                caveats.objects.get(name, ()),
            ),
        )
        for name, numbers in view.objects.items()
    ]
    lines.sort(key=lambda line: (-line[0], line[1].name))
    return columns, [line for _, line in lines[:WORST_OBJECTS]]


def _column(results: AuditResults, metric: str) -> Column:
    verdicts = [
        found[metric] for view in results.views if metric in (found := _worst_verdicts(view))
    ]
    threshold = results.thresholds.get(metric)
    worst = min(verdicts, key=lambda verdict: verdict.room, default=None)
    group, _, name = metric.partition(".")
    return Column(
        metric=metric,
        family=group,
        name=name.replace("_", " "),
        meaning=METRICS[metric].meaning if metric in METRICS else metric,
        unit=unit_text(metric),
        limits=limits_text(metric, threshold.min, threshold.max) if threshold else "",
        failing=sum(not verdict.passed for verdict in verdicts),
        worst=number_text(metric, worst.value) if worst else "",
    )


def _cell(
    metric: str, value: float | None, verdict: Verdict | None, caveats: Sequence[str]
) -> Cell:
    if value is None:
        return Cell("", "", "", False)
    state = "plain" if verdict is None else "pass" if verdict.passed else "fail"
    allowed = "" if verdict is None else limits_text(metric, verdict.min, verdict.max)
    owner = f" of {verdict.object_name}" if verdict is not None and verdict.object_name else ""
    facts = [f"{metric}{owner} {value!r}", f"allowed {allowed}" if allowed else "", *caveats]
    title = "; ".join(fact for fact in facts if fact)
    return Cell(number_text(metric, value), state, title, bool(caveats))


def _badness(
    name: str,
    numbers: Mapping[str, float],
    verdicts: Mapping[tuple[str, str], Verdict],
) -> float:
    beyond = max(
        (verdict.excess for (each, _), verdict in verdicts.items() if each == name), default=0.0
    )
    shape = 1.0 - numbers.get("iou", 1.0)
    light = abs(numbers.get("luminance_ratio", 1.0) - 1.0)
    return 10.0 * (beyond > 0) + max(shape, light if light == light else 0.0)


def family_caveats(caveats: SceneCaveats) -> list[tuple[str, str]]:
    """Give caveats with what they touch: families of metrics, an object, or everything."""
    found: dict[str, list[str]] = {}
    for group, lines in caveats.families.items():
        for line in lines:
            found.setdefault(line, []).append(group)
    for name, lines in caveats.objects.items():
        for line in lines:
            found.setdefault(line, []).append(f"object {name}")
    for line in caveats.scene:
        found.setdefault(line, []).append("everything")
    return [(", ".join(touched), line) for line, touched in found.items()]


def failing_metrics(view: AuditView) -> list[str]:
    """Name the metrics that a view fails, each once; `findings` stands for any finding."""
    metrics = dict.fromkeys(verdict.metric for verdict in view.failures)
    return [*metrics, *(["findings"] if view.findings else [])]


def families(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """Give the families of columns that stand side by side, and how many columns each has."""
    counts: dict[str, int] = {}
    for column in columns:
        counts[family(column.metric)] = counts.get(family(column.metric), 0) + 1
    return list(counts.items())
