"""URDF models as scenes."""
