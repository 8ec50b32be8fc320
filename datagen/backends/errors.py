"""What can go wrong while a sample is rendered."""

from __future__ import annotations


class BackendError(Exception):
    """A renderer cannot do what was asked; the message is one sentence for the user."""

    exit_code = 4
    """Exit code of a command that it ends."""
