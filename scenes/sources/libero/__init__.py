"""LIBERO tasks as scenes."""
