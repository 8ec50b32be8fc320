"""What a lens and a sensor do after rendering: buffers in, buffers out, labels along."""

from datagen.post.base import Post, after_rendering

__all__ = ["Post", "after_rendering"]
