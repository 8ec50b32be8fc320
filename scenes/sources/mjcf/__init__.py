"""MuJoCo XML files as scenes."""
