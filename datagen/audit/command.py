"""What `datagen audit` does once its command line is read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from datagen.audit.pages.page import write_page
from datagen.audit.pages.terminal import summary_lines
from datagen.audit.results import AuditResults, write_results
from datagen.audit.run import audit, audit_against, audit_run
from datagen.configuration.config import load_config
from datagen.errors import ConfigError
from datagen.progress import TerminalProgress
from datagen.stopwatch import Stopwatch

FOLDER = "audit"
"""Folder of the files inside the run folder, where no other is named."""
_RENDERING = ("scene", "exposure", "apply", "rows made again")


def audit_command(
    config: Path | None,
    *,
    run: Path | None,
    rows: int | None,
    overrides: Sequence[str],
    output: Path | None,
    limit: int | None,
    save_baseline: Path | None,
    against: Path | None,
) -> tuple[AuditResults, list[str]]:
    """Audit what the command line names, write the files, and give what is to be printed.

    Raises:
        ConfigError: The options do not fit together.
    """
    _check(config, run, rows, limit, save_baseline, against)
    started = time.monotonic()
    watch = Stopwatch()
    with TerminalProgress() as progress:
        if run is not None:
            folder = output or run / FOLDER
            results = audit_run(run, rows or 20, progress, overrides=overrides, watch=watch)
        else:
            assert config is not None
            settings = load_config(config, overrides, {} if limit is None else {"limit": limit})
            folder = output or settings.output / FOLDER
            if against is not None:
                results = audit_against(settings, against, progress, watch=watch)
            else:
                results = audit(settings, progress, save_baseline=save_baseline, watch=watch)
        progress.stage("writing the page")
        json_path, csv_path = write_results(results, folder)
        files = {"Page": write_page(results, folder), "JSON": json_path, "CSV": csv_path}
    if save_baseline is not None:
        files["Baseline"] = save_baseline
    rendering = sum(
        seconds
        for stage, seconds in watch.seconds.items()
        if stage in _RENDERING or stage.startswith("render ")
    )
    return results, summary_lines(results, files, time.monotonic() - started, rendering)


def _check(
    config: Path | None,
    run: Path | None,
    rows: int | None,
    limit: int | None,
    save_baseline: Path | None,
    against: Path | None,
) -> None:
    if (config is None) == (run is None):
        raise ConfigError("audit: name either a config or, with --run, a run folder.")
    if rows is not None and run is None:
        raise ConfigError("audit: --rows goes with --run; with a config it is --limit.")
    if run is not None and (limit or save_baseline or against):
        raise ConfigError("audit: --limit, --save-baseline and --against go with a config.")
    if save_baseline is not None and against is not None:
        raise ConfigError("audit: --save-baseline and --against exclude each other.")
