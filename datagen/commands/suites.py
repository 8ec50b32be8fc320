"""`datagen scenes`: LIBERO's suites, and the tasks of one."""

from __future__ import annotations

from datagen.configuration.errors import unknown_name
from datagen.errors import ConfigError
from scenes import libero_suites, libero_tasks


def list_suites(suite: str | None) -> list[str]:
    """List the installed suites, or the tasks of one with their language, line by line.

    Raises:
        ConfigError: There is no such suite.
        scenes.MissingExtraError: LIBERO is not installed.
    """
    suites = {info.name: info.task_count for info in libero_suites()}
    if suite is None:
        return [
            f"{name:<24} {count:>3} task{'' if count == 1 else 's'}"
            for name, count in suites.items()
        ]
    if suite not in suites:
        raise ConfigError(unknown_name("suite", suite, suites))
    return [f"{task.index:>3}  {task.name}  {task.language!r}" for task in libero_tasks(suite)]
