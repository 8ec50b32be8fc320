"""What can go wrong while a scene is made or opened."""

from __future__ import annotations


class SceneError(Exception):
    """A scene was refused or could not be made; the message is one sentence for the user."""


class StorageError(SceneError):
    """A scene could not be written: the disk is full, or the folder may not be written to."""


class AssetError(SceneError):
    """A mesh, a texture or another file that a scene needs is missing or not usable."""


class MissingExtraError(SceneError):
    """An optional dependency is not installed; the message holds the pip command."""
