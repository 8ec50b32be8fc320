"""What an audit came to: frozen records, and the JSON and CSV files made of them."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from datagen.audit.config import Threshold
from datagen.audit.diagnose.findings import Finding
from datagen.audit.thresholds import Verdict
from writers import write_atomically

RESULTS_VERSION = 1
"""Version of the JSON file's layout and of the CSV file's columns."""
JSON_NAME = "audit.json"
CSV_NAME = "audit.csv"
CSV_COLUMNS = (
    "scene_id", "episode", "frame", "camera", "reference", "candidate", "object", "metric", "value",
    "min", "max", "result",
)  # fmt: skip

Kind = Literal["backends", "run", "baseline"]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a view, for the page."""

    webp: bytes
    """WebP file."""
    greatest: float | None = None
    """Value that the lightest colour of a map stands for; 0 is the darkest."""


@dataclass(frozen=True)
class AuditView:
    """One view: one backend compared with the reference."""

    scene_id: str
    episode: int
    frame: int
    camera: str
    reference: str
    """Backend taken for right; in a baseline audit, the same backend then."""
    candidate: str
    width: int
    height: int
    metrics: Mapping[str, float]
    objects: Mapping[str, Mapping[str, float]]
    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    """What a reader of these numbers must know."""
    pictures: Mapping[str, Picture] = field(default_factory=dict[str, Picture], repr=False)
    """Pictures by name, for the page; not in the JSON file."""

    @property
    def key(self) -> str:
        """Name in tables: scene/episode/frame/camera, and the backend compared."""
        return f"{self.scene_id}/{self.episode}/{self.frame}/{self.camera} {self.candidate}"

    @property
    def failures(self) -> tuple[Verdict, ...]:
        """Numbers beyond their limits, the farthest first."""
        failed = [verdict for verdict in self.verdicts if not verdict.passed]
        return tuple(sorted(failed, key=lambda verdict: -verdict.excess))


@dataclass(frozen=True)
class StoredRow:
    """A row of a finished run and whether it could be made again."""

    row_id: str
    differences: tuple[str, ...]
    """What is not the same to the byte, a sentence each; empty when all is."""


@dataclass(frozen=True)
class SceneCaveats:
    """What a scene's report says that touches comparisons."""

    scene_id: str
    objects: Mapping[str, tuple[str, ...]]
    """Caveats that name an object, by object."""
    families: Mapping[str, tuple[str, ...]]
    """Caveats of a family of metrics, by its name."""
    scene: tuple[str, ...]
    """Caveats of everything in the scene."""


@dataclass(frozen=True)
class AuditResults:
    """The whole audit."""

    kind: Kind
    """Renderers against each other, rows of a run, or one renderer then and now."""
    title: str
    reference: str
    candidates: tuple[str, ...]
    thresholds: Mapping[str, Threshold]
    views: tuple[AuditView, ...]
    caveats: tuple[SceneCaveats, ...] = ()
    stored: tuple[StoredRow, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    changes: tuple[str, ...] = ()
    """What is not as it was: versions, config, views that are missing."""
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why scenes were refused, so that no view of them is compared; by scene id."""
    backends: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """How each backend rendered."""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    findings_fail: bool = True
    """Whether a finding alone fails a view."""
    full_views: int = 40
    """Most views that the page shows in full size."""

    def failed(self, view: AuditView) -> bool:
        """Tell whether a view fails."""
        return bool(view.failures) or (self.findings_fail and bool(view.findings))

    @property
    def failed_views(self) -> tuple[AuditView, ...]:
        """Views that fail, in order."""
        return tuple(view for view in self.views if self.failed(view))

    @property
    def failed_rows(self) -> tuple[StoredRow, ...]:
        """Stored rows that could not be made again."""
        return tuple(row for row in self.stored if row.differences)

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failed_views and not self.failed_rows

    def caveats_of(self, scene_id: str) -> SceneCaveats:
        """Give the caveats of a scene, empty ones where it has none."""
        found = (each for each in self.caveats if each.scene_id == scene_id)
        return next(found, SceneCaveats(scene_id, {}, {}, ()))


def write_results(results: AuditResults, folder: Path) -> tuple[Path, Path]:
    """Write the JSON and the CSV file; the same results give the same bytes.

    Raises:
        WriteError: The folder cannot be written.
    """
    text = json.dumps(results_json(results), indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(folder / JSON_NAME, (text + "\n").encode())
    write_atomically(folder / CSV_NAME, results_csv(results).encode())
    return folder / JSON_NAME, folder / CSV_NAME


def results_json(results: AuditResults) -> dict[str, Any]:
    """Give all but the pictures as JSON values; infinity and NaN become the texts inf and nan."""
    return {
        "results_version": RESULTS_VERSION,
        "kind": results.kind,
        "title": results.title,
        "passed": results.passed,
        "reference": results.reference,
        "candidates": list(results.candidates),
        "thresholds": {
            metric: threshold.model_dump(mode="json")
            for metric, threshold in results.thresholds.items()
        },
        "views": [_view_json(results, view) for view in results.views],
        "stored_rows": [
            {"row_id": row.row_id, "differences": list(row.differences)} for row in results.stored
        ],
        "caveats": [_caveats_json(each) for each in results.caveats],
        "versions": dict(results.versions),
        "changes": list(results.changes),
        "refused": dict(results.refused),
        "backends": {name: dict(facts) for name, facts in results.backends.items()},
        "config": dict(results.config),
    }


def results_csv(results: AuditResults) -> str:
    """Give one line per number: view, object if any, metric, value, limits, verdict."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for view in results.views:
        start = (view.scene_id, view.episode, view.frame, view.camera)
        sides = (view.reference, view.candidate)
        verdicts = {(verdict.object_name, verdict.metric): verdict for verdict in view.verdicts}
        for name, metric, value in _numbers(view):
            verdict = verdicts.get((name, metric))
            limits = ("", "", "") if verdict is None else _limits(verdict)
            writer.writerow([*start, *sides, name or "", metric, repr(float(value)), *limits])
    return out.getvalue()


def _numbers(view: AuditView) -> Iterator[tuple[str | None, str, float]]:
    for metric, value in view.metrics.items():
        yield None, metric, value
    for name, numbers in view.objects.items():
        for metric, value in numbers.items():
            yield name, f"objects.{metric}", value


def _limits(verdict: Verdict) -> tuple[str, str, str]:
    ends = ["" if end is None else repr(float(end)) for end in (verdict.min, verdict.max)]
    return ends[0], ends[1], "pass" if verdict.passed else "fail"


def _view_json(results: AuditResults, view: AuditView) -> dict[str, Any]:
    return {
        "scene_id": view.scene_id,
        "episode": view.episode,
        "frame": view.frame,
        "camera": view.camera,
        "reference": view.reference,
        "candidate": view.candidate,
        "size": [view.width, view.height],
        "passed": not results.failed(view),
        "metrics": _plain(view.metrics),
        "failures": [
            {
                "metric": verdict.metric,
                "object": verdict.object_name,
                "value": _number(verdict.value),
                "min": verdict.min,
                "max": verdict.max,
            }
            for verdict in view.failures
        ],
        "findings": [
            {
                "kind": finding.kind,
                "subject": finding.subject,
                "size": _number(finding.size),
                "unit": finding.unit,
                "sentence": finding.sentence,
            }
            for finding in view.findings
        ],
        "objects": {name: _plain(numbers) for name, numbers in view.objects.items()},
        "notes": list(view.notes),
    }


def _caveats_json(caveats: SceneCaveats) -> dict[str, Any]:
    return {
        "scene_id": caveats.scene_id,
        "objects": _lists(caveats.objects.items()),
        "families": _lists(caveats.families.items()),
        "scene": list(caveats.scene),
    }


def _lists(items: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, list[str]]:
    return {name: list(lines) for name, lines in items}


def _plain(numbers: Mapping[str, float]) -> dict[str, float | str]:
    return {name: _number(value) for name, value in numbers.items()}


def _number(value: float) -> float | str:
    number = float(value)
    return number if math.isfinite(number) else str(number)
