"""What a lens and a sensor do after rendering: buffers in, buffers out, labels along."""

from datagen.post.base import Post, identity

__all__ = ["Post", "identity"]
