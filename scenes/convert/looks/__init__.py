"""Materials, textures and the sky of a compiled model."""
