"""Errors of the writers package; each message is one sentence a person can act on."""


class WriteError(Exception):
    """A file of a run could not be written, or a row does not fit the declared schema."""

    exit_code = 4
    """Exit code of a command that it ends."""

    def __str__(self) -> str:
        """Give the message in one line; what is no letter, as in a library's words, is escaped."""
        words = " ".join(super().__str__().split())
        return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)


class ReadError(WriteError):
    """A file of a run is missing, broken, or not what the schema or the manifest says."""


class PlanError(WriteError):
    """The output folder belongs to a run with another plan."""

    exit_code = 2
