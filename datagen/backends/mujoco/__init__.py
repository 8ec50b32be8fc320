"""MuJoCo's own renderer."""
