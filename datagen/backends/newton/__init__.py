"""Newton's camera."""
