"""Folders that many processes share and that are whole or not there."""
