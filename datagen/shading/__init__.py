"""MuJoCo's lighting formula on buffers."""
