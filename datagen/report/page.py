"""The page `report.html`: one file that opens from disk and asks no network for anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from rich.console import Console

from datagen.report.cards import (
    SHEET_VIEWS,
    flagged_rows,
    objects_of_interest,
    sheet_cards,
)
from datagen.report.charts import Chart, bar_chart
from datagen.report.colors import depth_stops, hex_color, label_color
from datagen.report.shards import RunShards
from datagen.report.statistics import (
    BRIGHTNESS_BINS,
    MEASURED_ROWS,
    RunStatistics,
    count_rows,
    statistics_of,
)
from datagen.report.tally import RunTally
from datagen.report.template import content_hash, inline_asset, page_environment
from datagen.report.terminal import print_statistics, unfinished_line
from writers import (
    DRAFT_NAME,
    MANIFEST_NAME,
    Manifest,
    ReadError,
    WriteError,
    write_atomically,
)

PAGE_NAME = "report.html"
"""File name of the page in a run folder."""

FLAG_MEANINGS: Mapping[str, str] = {
    "dark": "mean brightness of the shown pixels below 10 of 255",
    "blown": "half or more of the shown pixels are pure white",
    "unusual_exposure": "the exposure of the scene lies outside 0.1 to 10",
    "objects_overlap": "two objects overlap by more than 5 mm in the state as authored",
    "object_out_of_view": "an object of interest has no visible pixel",
    "object_pose_exhausted": "no free place was found for an object; it kept its pose",
    "object_pose_unsupported": "nothing was found under an object; it kept its pose",
}
"""What the known flags mean, in one line."""


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A number of a label map."""

    number: int
    name: str
    class_name: str
    color: str


@dataclass(frozen=True, slots=True)
class SceneFacts:
    """What the page says of a scene."""

    scene_id: str
    source: str
    language: str
    objects_of_interest: tuple[str, ...]
    notes: tuple[tuple[str, tuple[str, ...]], ...]
    """Caveats, approximated and left out elements, as far as there are any."""
    counts: tuple[tuple[str, str, str], ...]
    """Kind of element, how many the source has, how many the stage has."""
    legend: tuple[LegendEntry, ...]
    """Instances of the scene."""


def inspect(run_folder: Path, console: Console | None = None, page: Path | None = None) -> None:
    """Print what a run holds, and write its page.

    Of a run that is not finished, the shards that are there and whole are shown.

    Args:
        run_folder: Folder of the run.
        console: Where to print; standard output by default.
        page: File of the page; by default `report.html` in the run folder, if that may be written.

    Raises:
        ReadError: There is no such folder, the run has no shard yet, or a file of it is broken or
            was changed since.
        WriteError: The page cannot be written to the file that was named.
    """
    if not run_folder.is_dir():
        raise ReadError(f"{run_folder}: there is no such folder; name the folder of a run.")
    finished = not (run_folder / DRAFT_NAME).exists() or (run_folder / MANIFEST_NAME).exists()
    shards = RunShards.open(run_folder) if finished else RunShards.open_unfinished(run_folder)
    if finished:
        shards.verify()
    tally = count_rows(shards)
    statistics = statistics_of(shards, tally)
    print_statistics(run_folder, shards.manifest, statistics, console)
    said = _page_line(run_folder, shards, tally, statistics, page)
    (console or Console()).print(said, markup=False, highlight=False, soft_wrap=True)


def _page_line(
    folder: Path, shards: RunShards, tally: RunTally, statistics: RunStatistics, page: Path | None
) -> str:
    if page is not None:
        write_atomically(page, _page(folder, shards, tally, statistics).encode())
        return f"Page: {page}"
    try:
        return f"Page: {_write(folder, shards, tally, statistics)}"
    except WriteError as error:
        return f"No page was written: {error} Name a file with --page."


def write_report(run_folder: Path) -> Path:
    """Write the page of a finished run and give its path.

    The page shows at most `SHEET_VIEWS` views, evenly chosen, and the numbers of all rows; the
    same run gives the same page.

    Raises:
        ReadError: The run is not finished, or a file of it is broken.
        WriteError: The page cannot be written.
    """
    shards = RunShards.open(run_folder)
    tally = count_rows(shards)
    return _write(run_folder, shards, tally, statistics_of(shards, tally))


def _write(folder: Path, shards: RunShards, tally: RunTally, statistics: RunStatistics) -> Path:
    path = folder / PAGE_NAME
    write_atomically(path, _page(folder, shards, tally, statistics).encode())
    return path


def _page(folder: Path, shards: RunShards, tally: RunTally, statistics: RunStatistics) -> str:
    environment = page_environment("datagen.report")
    filters: dict[str, Callable[..., str]] = {
        "number": _number,
        "metres": _metres,
        "counted": _counted,
    }
    environment.filters.update(filters)
    style, script = (inline_asset(environment, name) for name in ("report.css", "report.js"))
    manifest = shards.manifest
    return environment.get_template("report.html").render(
        title=folder.resolve().name,
        manifest=manifest,
        unfinished=unfinished_line(manifest),
        statistics=statistics,
        cards=sheet_cards(shards, tally),
        flagged=flagged_rows(shards, statistics.flagged),
        flag_meanings=FLAG_MEANINGS,
        scenes=[_scene(shards, scene_id) for scene_id in _scene_ids(manifest, tally)],
        refused=manifest.refused,
        class_colors={entry.name: hex_color(label_color(entry.id)) for entry in manifest.classes},
        box_chart=_box_chart(statistics),
        brightness_chart=_brightness_chart(statistics),
        depth_stops=depth_stops(),
        size_mb=sum(shard.bytes for shard in manifest.shards) / 1e6,
        config=yaml.safe_dump(manifest.config, sort_keys=False, allow_unicode=True),
        backends={name: _plain(value) for name, value in manifest.backends.items()},
        most_measured=MEASURED_ROWS,
        most_views=SHEET_VIEWS,
        style=style,
        script=script,
        style_hash=content_hash(style),
        script_hash=content_hash(script),
    )


def _scene_ids(manifest: Manifest, tally: RunTally) -> list[str]:
    return list(dict.fromkeys([*manifest.scenes, *(scene_id for scene_id, _, _ in tally.views)]))


def _scene(shards: RunShards, scene_id: str) -> SceneFacts:
    record = _mapping(shards.manifest.scenes.get(scene_id))
    report = _mapping(record.get("report")) or record
    given, kept = _mapping(report.get("counts_in")), _mapping(report.get("counts_out"))
    lists = (("caveats", "Caveats"), ("approximated", "Approximated"), ("left_out", "Left out"))
    notes = [(title, _lines(report.get(key))) for key, title in lists]
    return SceneFacts(
        scene_id=scene_id,
        source=str(record.get("source") or ""),
        language=str(record.get("language") or ""),
        objects_of_interest=tuple(objects_of_interest(shards, scene_id)),
        notes=tuple((title, lines) for title, lines in notes if lines),
        counts=tuple(
            (kind, str(given.get(kind, "")), str(kept.get(kind, "")))
            for kind in dict.fromkeys([*given, *kept])
        ),
        legend=tuple(
            LegendEntry(
                number=entry.id,
                name=entry.name,
                class_name=str((entry.model_extra or {}).get("class", "")),
                color=hex_color(label_color(entry.id)),
            )
            for entry in shards.manifest.instances
            if entry.scene_id in (None, scene_id)
        ),
    )


def _mapping(value: object) -> Mapping[str, object]:
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else {}


def _lines(value: object) -> tuple[str, ...]:
    return tuple(str(line) for line in value) if isinstance(value, list) else ()


def _plain(value: object) -> list[tuple[str, str]]:
    return [
        (key, each if isinstance(each, str) else json.dumps(each))
        for key, each in _mapping(value).items()
    ]


def _box_chart(statistics: RunStatistics) -> Chart:
    rows = statistics.boxes_per_view
    fewest = next((count for count, number in enumerate(rows) if number), 0)
    names = [_counted(count, "box") for count in range(fewest, len(rows))]
    return bar_chart(rows[fewest:], names, (str(fewest), str(max(len(rows) - 1, 0))))


def _brightness_chart(statistics: RunStatistics) -> Chart | None:
    if statistics.brightness is None:
        return None
    step = 256 // BRIGHTNESS_BINS
    names = [f"brightness {i * step} to {(i + 1) * step - 1}" for i in range(BRIGHTNESS_BINS)]
    return bar_chart(statistics.brightness.histogram, names, ("0", "255"))


def _number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f")
    return f"{value:.1f}"


def _metres(value: float) -> str:
    if value < 0.1:
        return f"{value:.2g}"
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _counted(count: int, noun: str) -> str:
    plural = noun + ("es" if noun.endswith(("s", "x")) else "s")
    return f"{_number(count)} {noun if count == 1 else plural}"
