"""Renderers behind one protocol."""

from datagen.backends.base import Backend, Buffers, Pass, Size

__all__ = ["Backend", "Buffers", "Pass", "Size"]
