"""Labelled, path-traced, reproducible image datasets for robot policies."""

__version__ = "0.1.0"
