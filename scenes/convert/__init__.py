"""A compiled model made into a stage, step by step."""
