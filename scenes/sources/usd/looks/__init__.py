"""Materials of a foreign USD stage."""
