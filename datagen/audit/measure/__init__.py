"""Numbers of a pair of views."""
