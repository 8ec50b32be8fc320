"""Commands of the command line that are no run."""
