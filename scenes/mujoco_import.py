"""MuJoCo's first import, which a wrong wish for an OpenGL library must not end."""

from __future__ import annotations

import ctypes.util
import importlib
import os

_VARIABLE = "MUJOCO_GL"
_LIBRARIES = {"egl": "EGL", "osmesa": "OSMesa"}
_WITHOUT_LIBRARY = frozenset({"", "glfw", "glx", "enable", "enabled", "on", "true", "1"})


def import_mujoco() -> None:
    """Import MuJoCo, without OpenGL where `MUJOCO_GL` asks for what is not there.

    MuJoCo's import itself fails over such a value, though only drawing needs the library. The
    variable is left as it is: what draws reads it, and so do processes started from this one.
    """
    wish = os.environ.get(_VARIABLE)
    if wish is None or _is_there(wish.lower().strip()):
        importlib.import_module("mujoco")
        return
    os.environ[_VARIABLE] = "disable"
    try:
        importlib.import_module("mujoco")
    finally:
        os.environ[_VARIABLE] = wish


def _is_there(name: str) -> bool:
    if name in _WITHOUT_LIBRARY:
        return True
    other = os.environ.get("PYOPENGL_PLATFORM", "").lower()
    if name not in _LIBRARIES or other not in ("", name):
        return False
    return ctypes.util.find_library(_LIBRARIES[name]) is not None
