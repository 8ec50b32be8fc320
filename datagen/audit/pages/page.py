"""The page `audit.html`: one file that opens from disk and asks no network for anything.

Views that fail, the worst first, are shown in full size up to a number; all others are thumbnails,
so that 500 views make a page of some 15 MB. Every number of every view is in the table.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from datagen.audit.pages.pictures import CANDIDATE, DIFFERENCE, REFERENCE
from datagen.audit.pages.tables import (
    Cell,
    Column,
    ObjectLine,
    columns_of,
    failing_metrics,
    families,
    family_caveats,
    finding_groups,
    object_table,
    view_cells,
)
from datagen.audit.pages.wording import failure_text, finding_text, picture_text
from datagen.audit.results import AuditResults, AuditView, Picture
from datagen.report.embedding import data_address, photo
from datagen.report.template import content_hash, inline_asset, page_environment
from writers import write_atomically

PAGE_NAME = "audit.html"
"""File name of the page."""
THUMBNAIL_SIDE = 96
"""Largest side of a thumbnail [px]."""
_SMALL = (REFERENCE, CANDIDATE, "flip", DIFFERENCE)
"""Pictures that a view in small is shown by, the first that there are."""
_SMALL_COUNT = 3
_KINDS = {
    "backends": "renderers against each other",
    "run": "rows of a run, made again",
    "baseline": "now against a baseline",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture on the page."""

    name: str
    caption: str
    address: str
    """The picture itself, as a data address."""
    drawn: bool
    """Whether it is a map, whose pixels are to be told apart."""


@dataclass(frozen=True, slots=True)
class ViewBlock:
    """A view on the page."""

    anchor: str
    view: AuditView
    failed: bool
    failing: str
    """Metrics that it fails, with spaces between."""
    cells: tuple[Cell, ...]
    failures: tuple[str, ...]
    findings: tuple[str, ...]
    full: bool
    figures: tuple[Figure, ...]
    object_columns: tuple[str, ...]
    objects: tuple[ObjectLine, ...]
    caveats: tuple[tuple[str, str], ...]
    """What a caveat touches, and the caveat."""


def write_page(results: AuditResults, folder: Path) -> Path:
    """Write the page of an audit and give its path; the same results give the same page.

    Raises:
        WriteError: The folder cannot be written.
    """
    path = folder / PAGE_NAME
    write_atomically(path, page_text(results).encode())
    return path


def page_text(results: AuditResults) -> str:
    """Give the page of an audit."""
    environment = page_environment("datagen.audit.pages")
    base = inline_asset(page_environment("datagen.report"), "report.css")
    style = base + inline_asset(environment, "audit.css")
    script = inline_asset(environment, "audit.js")
    columns = columns_of(results)
    blocks = _blocks(results, columns)
    environment.filters["finding"] = finding_text
    return environment.get_template("audit.html").render(
        results=results,
        kind=_KINDS[results.kind],
        columns=columns,
        families=families(columns),
        blocks=blocks,
        ordered=sorted(blocks, key=lambda block: (not block.full, not block.failed)),
        groups=finding_groups(results),
        scenes=_unique(view.scene_id for view in results.views),
        cameras=_unique(view.camera for view in results.views),
        candidates=_unique(view.candidate for view in results.views),
        failing=_failing_counts(blocks),
        style=style,
        script=script,
        style_hash=content_hash(style),
        script_hash=content_hash(script),
    )


def _blocks(results: AuditResults, columns: Sequence[Column]) -> list[ViewBlock]:
    order = sorted(range(len(results.views)), key=lambda place: _rank(results, place))
    full = set(order[: results.full_views])
    return [
        _block(results, columns, place, view, place in full)
        for place, view in enumerate(results.views)
    ]


def _rank(results: AuditResults, place: int) -> tuple[bool, float, int]:
    view = results.views[place]
    worst = max((verdict.excess for verdict in view.failures), default=0.0)
    return not results.failed(view), -worst, place


def _block(
    results: AuditResults, columns: Sequence[Column], place: int, view: AuditView, full: bool
) -> ViewBlock:
    caveats = results.caveats_of(view.scene_id)
    names, objects = object_table(view, caveats) if full else ([], [])
    return ViewBlock(
        anchor=f"view-{place}",
        view=view,
        failed=results.failed(view),
        failing=" ".join(failing_metrics(view)),
        cells=view_cells(columns, view, caveats),
        failures=tuple(failure_text(verdict) for verdict in view.failures),
        findings=tuple(finding_text(finding) for finding in view.findings),
        full=full,
        figures=tuple(_full_figures(view) if full else _small_figures(view)),
        object_columns=tuple(names),
        objects=tuple(objects),
        caveats=tuple(family_caveats(caveats)),
    )


def _full_figures(view: AuditView) -> list[Figure]:
    return [
        _figure(view, name, picture, data_address(picture.webp))
        for name, picture in view.pictures.items()
    ]


def _small_figures(view: AuditView) -> list[Figure]:
    chosen = [name for name in _SMALL if name in view.pictures][:_SMALL_COUNT]
    return [
        _figure(view, name, view.pictures[name], _thumbnail(view.pictures[name])) for name in chosen
    ]


def _figure(view: AuditView, name: str, picture: Picture, address: str) -> Figure:
    sides = (view.reference, view.candidate)
    if view.reference == view.candidate:
        sides = (f"{view.reference} then", f"{view.candidate} now")
    caption = picture_text(name, *sides)
    if picture.greatest is not None:
        caption += f", 0 to {picture.greatest:.3g}"
    return Figure(name, caption, address, name not in (REFERENCE, CANDIDATE, DIFFERENCE))


def _thumbnail(picture: Picture) -> str:
    with Image.open(io.BytesIO(picture.webp)) as image:
        return data_address(photo(np.asarray(image.convert("RGB")), THUMBNAIL_SIDE))


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _failing_counts(blocks: Sequence[ViewBlock]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for block in blocks:
        for metric in block.failing.split():
            counts[metric] = counts.get(metric, 0) + 1
    return dict(sorted(counts.items()))
