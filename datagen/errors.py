"""What can go wrong in a command, and the exit code it ends with."""

from __future__ import annotations


class DatagenError(Exception):
    """A command cannot go on; the message is one sentence for the user."""

    exit_code = 4
    """Exit code of the command: the run failed."""


class ConfigError(DatagenError):
    """A command line or a config is wrong; one line per problem."""

    exit_code = 2
