"""Likely causes of what differs."""
