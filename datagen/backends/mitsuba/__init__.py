"""Mitsuba: path tracing on CPU or GPU."""
