"""Causes of what differs in colours, textures and lights."""
