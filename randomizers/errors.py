"""What can go wrong while samples are drawn."""

from __future__ import annotations


class RandomizerError(Exception):
    """A randomizer does not fit the scene; the message is one sentence for the user."""

    exit_code = 2
    """Exit code of a command that it ends."""


class UnknownKindError(RandomizerError):
    """No randomizer is of the kind that a config or a recipe names."""
