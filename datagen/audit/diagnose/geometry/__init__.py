"""Causes of what differs in shape, place and camera."""
