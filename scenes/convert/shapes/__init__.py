"""Shapes of a compiled model as triangle meshes."""
