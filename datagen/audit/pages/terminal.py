"""What an audit says in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from datagen.audit.pages.tables import finding_groups
from datagen.audit.pages.wording import failure_text, limits_text, unit_text, with_unit
from datagen.audit.results import AuditResults, AuditView
from datagen.progress import counted, duration, refusal_lines

_MOST = 40
"""Most failures that are listed one by one."""


def metric_lines(results: AuditResults) -> list[str]:
    """Give a table of the metrics that are held to limits.

    A line has the number nearest to its limits, these limits, and how many numbers are beyond.
    """
    lines: list[tuple[str, str, str, str]] = []
    for metric in results.thresholds:
        verdicts = [v for view in results.views for v in view.verdicts if v.metric == metric]
        worst = min(verdicts, key=lambda verdict: verdict.room, default=None)
        if worst is None:
            continue
        allowed = f"{limits_text(metric, worst.min, worst.max)} {unit_text(metric)}".rstrip()
        beyond = sum(not verdict.passed for verdict in verdicts)
        lines.append((metric, with_unit(metric, worst.value), allowed, str(beyond)))
    head = ("metric", "worst", "allowed", "beyond")
    widths = [max(len(line[column]) for line in (head, *lines)) for column in range(3)]
    return [
        f"{name:<{widths[0]}}  {worst:>{widths[1]}}  {allowed:<{widths[2]}}  {beyond}"
        for name, worst, allowed, beyond in (head, *lines)
    ]


def failure_lines(results: AuditResults) -> list[str]:
    """Say what failed and where, a line each."""
    lines = [
        f"{_where(results, view)}: {failure_text(verdict)}"
        for view in results.views
        for verdict in view.failures
    ]
    lines += [f"row {row.row_id}: {text}" for row in results.stored for text in row.differences]
    more = len(lines) - _MOST
    return [*lines[:_MOST], f"and {more} more: see the page"] if more > 0 else lines


def finding_lines(results: AuditResults) -> list[str]:
    """Say what is probably wrong, a line for each culprit."""
    return [
        f"{group.finding.kind}, {group.finding.subject}: {group.finding.sentence} "
        f"({counted(len(group.views), 'view')}, such as "
        f"{_where(results, results.views[min(group.views)])})"
        for group in finding_groups(results)
    ]


def summary_lines(
    results: AuditResults, files: Mapping[str, Path], seconds: float, rendering: float
) -> list[str]:
    """Give everything that the command prints.

    Args:
        results: The audit.
        files: What was written, by what it is.
        seconds: Time of the whole command [s].
        rendering: Time of it that the renderers took [s].
    """
    failed = len(results.failed_views)
    lines = [*metric_lines(results), ""]
    if findings := finding_lines(results):
        lines += ["Findings:", *(f"  {line}" for line in findings)]
    if failures := failure_lines(results):
        lines += ["Failed:", *(f"  {line}" for line in failures)]
    if results.changes:
        lines += ["Not as it was:", *(f"  {line}" for line in results.changes)]
    lines += refusal_lines(results.refused)
    if results.stored:
        same = len(results.stored) - len(results.failed_rows)
        lines.append(
            f"{same} of {counted(len(results.stored), 'row')} made again "
            f"{'is' if same == 1 else 'are'} the same to the byte"
        )
    lines.append(
        f"{counted(len(results.views), 'view')} in {duration(seconds)} "
        f"(renderers {duration(rendering)}): "
        + (f"{failed} {'fails' if failed == 1 else 'fail'}" if failed else "all pass")
    )
    return [*lines, *(f"{name}: {path}" for name, path in files.items())]


def _where(results: AuditResults, view: AuditView) -> str:
    several = len({each.candidate for each in results.views}) > 1
    return view.key if several else view.key.rpartition(" ")[0]
