"""A foreign USD stage opened, checked and walked."""
