"""From a config to a run folder."""
