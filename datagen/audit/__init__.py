"""The parity audit: one sample through two renderers, compared pixel by pixel.

Its modules are imported one by one, so that the command line starts without any renderer.
"""
