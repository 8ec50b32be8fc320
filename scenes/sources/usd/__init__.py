"""USD stages of any origin as scenes."""
