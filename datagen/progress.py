"""What a person sees of a run: a bar with the time left, and the closing summary."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

_LINE_SECONDS = 10.0


class RunProgress(Protocol):
    """Where a run says how far it is."""

    def stage(self, text: str) -> None:
        """Say what is being done now, such as "building 3 scenes"."""
        ...

    def begin(self, views: int, made_before: int, workers: int = 1) -> None:
        """State how many views the plan has, how many there are already, and how many workers."""
        ...

    def advance(self, views: int) -> None:
        """Count views that are done."""
        ...


class SilentProgress:
    """Shows nothing."""

    def stage(self, text: str) -> None:
        """Show nothing."""

    def begin(self, views: int, made_before: int, workers: int = 1) -> None:
        """Show nothing."""

    def advance(self, views: int) -> None:
        """Show nothing."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How far a run is."""

    views: int
    """Views of the plan."""
    made_before: int
    """Views that an earlier run made."""
    made: int
    """Views that this run has made so far."""
    timed: int
    """Of these, the views that the pace is taken from: those after the first ones, which also
    open a scene and compile kernels."""
    seconds: float
    """Time that the timed views took [s]."""
    since: float = 0.0
    """Time since the last of them [s]."""

    @property
    def done(self) -> int:
        """Views that exist."""
        return self.made_before + self.made

    @property
    def seconds_left(self) -> float | None:
        """Time to the end at the pace so far [s]; None before a view is timed."""
        if not self.timed:
            return None
        left = self.seconds / self.timed * (self.views - self.done)
        return max(left - self.since, 0.0)


class TerminalProgress:
    """A bar on stderr; where that is no terminal, a line now and then.

    Use it as a context manager.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, highlight=False)
        self._views = self._made_before = self._made = 0
        self._workers = 1
        self._untimed = 0
        self._timed_from = self._last_view = self._last_line = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("views"),
            TimeElapsedColumn(),
            _TimeLeftColumn(self),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self._bar.stop()

    @property
    def pace(self) -> Pace:
        """How far the run is."""
        return Pace(
            self._views,
            self._made_before,
            self._made,
            timed=max(self._made - self._untimed, 0) if self._untimed else 0,
            seconds=self._last_view - self._timed_from,
            since=time.monotonic() - self._last_view,
        )

    def stage(self, text: str) -> None:
        """Say what is being done now."""
        self._bar.update(self._task, description=text)
        if not self.console.is_terminal:
            self.console.print(text, markup=False)

    def begin(self, views: int, made_before: int, workers: int = 1) -> None:
        """State how many views the plan has, how many there are already, and how many workers."""
        self._views, self._made_before, self._made = views, made_before, 0
        self._workers, self._untimed = workers, 0
        self._timed_from = self._last_view = self._last_line = time.monotonic()
        self._bar.update(self._task, total=views, completed=made_before)

    def advance(self, views: int) -> None:
        """Count views that are done."""
        self._made += views
        self._bar.update(self._task, completed=self._made_before + self._made)
        now = self._last_view = time.monotonic()
        # Every worker's first view takes longer: it opens the scene and compiles kernels.
        if not self._untimed and self._made >= self._workers:
            self._untimed, self._timed_from = self._made, now
        if not self.console.is_terminal and now - self._last_line >= _LINE_SECONDS:
            self._last_line = now
            pace = self.pace
            self.console.print(f"{pace.done}/{pace.views} views, {time_left(pace)}", markup=False)


class _TimeLeftColumn(ProgressColumn):
    def __init__(self, progress: TerminalProgress) -> None:
        super().__init__()
        self._progress = progress

    def render(self, task: Task) -> Text:
        return Text(time_left(self._progress.pace) if task.total else "")


def time_left(pace: Pace) -> str:
    """Say how much time is left, such as `about 2 min 5 s left`."""
    left = pace.seconds_left
    return "time left not known yet" if left is None else f"about {duration(left)} left"


def counted(count: int, noun: str) -> str:
    """Write a number of things: `1 row`, `2 rows`, `3 boxes`."""
    plural = noun + ("es" if noun.endswith(("s", "x", "ch")) else "s")
    return f"{count} {noun if count == 1 else plural}"


def duration(seconds: float) -> str:
    """Write a time as a person says it: `4.2 s`, `2 min 5 s`, `3 h 12 min`."""
    if seconds < 59.95:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run came to."""

    output: Path
    """Run folder."""
    rows: int
    """Rows of the whole run."""
    rows_made: int
    """Rows made by this call; the others were there before."""
    seconds: float
    """Time of this call [s]."""
    flagged: dict[str, int]
    """Rows by flag, rows without a flag left out."""
    rows_flagged: int
    """Rows with at least one flag."""
    page: Path | None
    """Report for a browser."""
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why scenes were refused, by scene id."""
    notes: tuple[str, ...] = ()
    """What scenes left out, a line each."""
    damaged: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why shards that were there were made again, by name."""

    def lines(self) -> list[str]:
        """Write the summary, a line each."""
        rate = self.rows_made / self.seconds if self.seconds > 0 else 0.0
        before = self.rows - self.rows_made
        made = f"{counted(self.rows, 'row')} in {duration(self.seconds)}"
        if not self.rows_made:
            made = f"{counted(self.rows, 'row')}, all there already"
        elif before:
            made = (
                f"{counted(self.rows, 'row')}: {before} there already, {self.rows_made} made in "
                + duration(self.seconds)
            )
        pace = f" ({rate:.2f} rows/s)" if self.rows_made else ""
        kinds = ", ".join(f"{count} {flag}" for flag, count in sorted(self.flagged.items()))
        flags = f"{counted(self.rows_flagged, 'row')} flagged" + (f": {kinds}" if kinds else "")
        lines = [made + pace, flags, f"Parquet: {self.output / 'data'}"]
        lines += [f"Made again: {name}: {why}" for name, why in self.damaged.items()]
        if self.page:
            lines.append(f"Page: {self.page}")
        return [*lines, *self.notes, *refusal_lines(self.refused)]


def refusal_lines(refused: Mapping[str, str]) -> list[str]:
    """Say which scenes were refused and why, a line each; nothing where none was."""
    if not refused:
        return []
    return [
        f"{counted(len(refused), 'scene')} refused, without rows:",
        *(f"  {scene_id}: {why}" for scene_id, why in refused.items()),
    ]
