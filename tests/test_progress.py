from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from rich.console import Console

from datagen.progress import Pace, Summary, TerminalProgress, counted, duration, time_left


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (4.21, "4.2 s"),
        (9.96, "10 s"),
        (59.9, "60 s"),
        (59.96, "1 min 0 s"),
        (125, "2 min 5 s"),
        (3599.7, "1 h 0 min"),
        (11520, "3 h 12 min"),
    ],
)
def test_duration_is_written_as_a_person_says_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_time_left_follows_the_pace_of_this_call_alone() -> None:
    # 30 of 48 were there before; of 7 made now the last 6 took 12 s, so the last 11 take 22 s.
    pace = Pace(views=48, made_before=30, made=7, timed=6, seconds=12.0)
    assert pace.seconds_left == pytest.approx(22.0)
    assert time_left(pace) == "about 22 s left"
    assert time_left(Pace(48, 30, 1, 0, 0.0)) == "time left not known yet"


@pytest.mark.parametrize("workers", [1, 2])
def test_time_left_leaves_out_each_worker_s_first_view(
    monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    progress = TerminalProgress(Console(file=io.StringIO()))
    progress.begin(100, 0, workers)
    told: list[float | None] = []
    for made in range(1, 11):
        # Opening and compiling take 30 s for all workers at once; every view then takes 2 s.
        clock[0] = 30.0 + 2.0 * max(made - workers, 0)
        progress.advance(1)
        told.append(progress.pace.seconds_left)
    assert told[:workers] == [None] * workers
    assert told[workers:] == [2.0 * (100 - made) for made in range(workers + 1, 11)]


def test_bar_shows_counts_stage_and_time_left_on_a_terminal() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100)
    with TerminalProgress(console) as progress:
        progress.stage("rendering [fast]")
        progress.begin(48, 8)
        progress.advance(4)
        progress._bar.refresh()  # pyright: ignore[reportPrivateUsage]
    shown = stream.getvalue()
    assert "12/48" in shown
    assert "left" in shown
    assert progress.pace.done == 12


def test_without_a_terminal_stages_are_lines_and_no_bar_is_drawn() -> None:
    stream = io.StringIO()
    with TerminalProgress(Console(file=stream, width=100)) as progress:
        progress.stage("building 3 scenes")
        progress.begin(48, 0)
        progress._last_line -= 60  # pyright: ignore[reportPrivateUsage]
        progress.advance(1)
        progress._last_line -= 60  # pyright: ignore[reportPrivateUsage]
        progress.advance(11)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "building 3 scenes"
    assert lines[1] == "1/48 views, time left not known yet"
    assert lines[2].startswith("12/48 views, about ")
    assert len(lines) == 3


def test_summary_tells_rows_time_rate_flags_and_the_page() -> None:
    summary = Summary(
        output=Path("out/a"),
        rows=48,
        rows_made=48,
        seconds=96.0,
        flagged={"dark": 2, "blown": 1},
        rows_flagged=2,
        page=Path("out/a/report.html"),
    )
    assert summary.lines() == [
        "48 rows in 1 min 36 s (0.50 rows/s)",
        "2 rows flagged: 1 blown, 2 dark",
        "Parquet: out/a/data",
        "Page: out/a/report.html",
    ]


def test_summary_of_a_resumed_run_does_not_count_old_rows_into_the_rate() -> None:
    def first_line(made: int) -> str:
        return Summary(Path("o"), 48, made, 12.0, {}, 0, None).lines()[0]

    assert first_line(24) == "48 rows: 24 there already, 24 made in 12 s (2.00 rows/s)"
    assert first_line(0) == "48 rows, all there already"


def test_one_of_a_thing_is_told_in_the_singular() -> None:
    summary = Summary(Path("o"), 1, 1, 2.0, {"dark": 1}, 1, None, {"a": "why"})
    assert summary.lines()[:2] == ["1 row in 2.0 s (0.50 rows/s)", "1 row flagged: 1 dark"]
    assert "1 scene refused, without rows:" in summary.lines()
    assert [counted(n, "box") for n in (0, 1, 2)] == ["0 boxes", "1 box", "2 boxes"]
