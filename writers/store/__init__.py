"""The files of a run folder beside its shards: plan, journal, manifest and card."""
