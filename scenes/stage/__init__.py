"""What a finished scene is, and all that reads it."""
