"""Where things stand in a sample: boxes, what carries what, and where else there is room."""
