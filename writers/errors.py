"""Errors of the writers package; each message is one sentence a person can act on."""


class WriteError(Exception):
    """A file of a run could not be written, or a row does not fit the declared schema."""


class ReadError(WriteError):
    """A file of a run is missing, broken, or not what the schema or the manifest says."""


class PlanError(WriteError):
    """The output folder belongs to a run with another plan."""
