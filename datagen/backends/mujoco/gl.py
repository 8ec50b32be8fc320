"""An OpenGL context without a screen, by whichever library works here."""

from __future__ import annotations

import atexit
import importlib
import os
import platform
import subprocess
import sys
import weakref
from functools import cache
from types import TracebackType
from typing import Any, Literal, Self, cast

from datagen.backends.errors import BackendError

GlPlatform = Literal["egl", "osmesa", "glfw"]

_DEBIAN_PACKAGES = "`apt install libegl1 libgl1-mesa-dri` or `apt install libosmesa6`"
_PLATFORMS: dict[str, GlPlatform] = {
    "egl": "egl",
    "osmesa": "osmesa",
    "glfw": "glfw",
    "glx": "glfw",
}
_PACKAGES: dict[GlPlatform, str] = {
    "egl": "on Debian and Ubuntu `apt install libegl1 libgl1-mesa-dri` mends this",
    "osmesa": "on Debian and Ubuntu `apt install libosmesa6` mends this",
    "glfw": "it needs a screen",
}
_PROBE = """
import importlib, sys
import mujoco
context = importlib.import_module("mujoco." + sys.argv[1]).GLContext(16, 16)
context.make_current()
drawing = mujoco.MjrContext(mujoco.MjModel.from_xml_string("<mujoco/>"), 150)
from OpenGL import GL
print(GL.glGetString(GL.GL_RENDERER).decode())
drawing.free()
context.free()
"""
_PROBE_SECONDS = 120

_open_contexts: weakref.WeakSet[GlContext] = weakref.WeakSet()
_first_process: int | None = None


@cache
def choose_gl() -> tuple[GlPlatform, str]:
    """Platform that works here and the name of its renderer, such as `llvmpipe (...)`.

    `MUJOCO_GL`, else `PYOPENGL_PLATFORM`, decides where the user has set it; else EGL is tried,
    then OSMesa. Each is tried in a process of its own, because a broken driver may abort it.

    Raises:
        BackendError: None works.
    """
    failures: list[str] = []
    variable, candidates = _candidates()
    for name in candidates:
        renderer, failure = _probe(name)
        if renderer is not None:
            return name, renderer
        failures.append(f"{name}: {failure}")
    if variable:
        raise BackendError(
            f"backend mujoco: {variable}={os.environ[variable]!r}, but this OpenGL library does "
            f"not work here ({failures[0]}); {_PACKAGES[candidates[0]]}, or unset {variable}."
        )
    raise BackendError(
        f"backend mujoco: no OpenGL library works here ({'; '.join(failures)}); "
        f"on Debian and Ubuntu {_DEBIAN_PACKAGES} mends this."
    )


def _candidates() -> tuple[str, tuple[GlPlatform, ...]]:
    """The variable that decides, empty where none does, and the platforms to try."""
    for variable in ("MUJOCO_GL", "PYOPENGL_PLATFORM"):
        value = os.environ.get(variable, "").lower().strip()
        if not value:
            continue
        if value not in _PLATFORMS:
            raise BackendError(
                f"backend mujoco: {variable}={value!r} leaves no OpenGL; unset it, or use one of "
                f"{', '.join(_PLATFORMS)}."
            )
        return variable, (_PLATFORMS[value],)
    return "", ("egl", "osmesa") if platform.system() == "Linux" else ("glfw",)


def _probe(name: GlPlatform) -> tuple[str | None, str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYOPENGL_PLATFORM"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, name],
            env=environment | {"MUJOCO_GL": name},
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer within {_PROBE_SECONDS} s"
    if done.returncode == 0:
        return done.stdout.strip(), ""
    if done.returncode < 0:
        return None, f"killed by signal {-done.returncode}"
    # The traceback's last unindented line is the error; what follows comes from clean-up.
    lines = done.stderr.split("Exception ignored")[0].strip().splitlines()
    return None, lines[-1].split(". ")[0] if lines else f"exit code {done.returncode}"


class GlContext:
    """An OpenGL context, current only inside its `with` block.

    So any thread may use it next, and other OpenGL users of the process are left alone.
    """

    def __init__(self) -> None:
        global _first_process
        self.platform: GlPlatform
        self.platform, self.renderer = choose_gl()
        if _first_process is None:
            _first_process = os.getpid()
        _refuse_fork()
        try:
            module = importlib.import_module(f"mujoco.{self.platform}")
            self._context: Any = module.GLContext(16, 16)
        except (ImportError, AttributeError, RuntimeError) as error:
            raise BackendError(
                f"backend mujoco: no {self.platform} context: {error}; another OpenGL platform "
                "may be in use in this process."
            ) from error
        if not _open_contexts:
            # Exit functions run last in, first out: this one before EGL's own shutdown.
            atexit.unregister(_free_all)
            atexit.register(_free_all)
        _open_contexts.add(self)

    def __enter__(self) -> Self:
        _refuse_fork()
        self._context.make_current()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _release(self.platform)

    def free(self) -> None:
        """Give the context back."""
        if self._context is not None:
            self._context.free()
            self._context = None
        _open_contexts.discard(self)


def _refuse_fork() -> None:
    if _first_process != os.getpid():
        # The driver's threads do not survive a fork: drawing would hang.
        raise BackendError(
            "backend mujoco: this process was forked from one that had already rendered; start "
            "worker processes by spawn, or before the first picture."
        )


def _free_all() -> None:
    for context in list(_open_contexts):
        context.free()


def _release(name: GlPlatform) -> None:
    match name:
        case "egl":
            egl = cast(Any, importlib.import_module("mujoco.egl"))
            calls = egl.EGL
            none = calls.EGL_NO_SURFACE
            calls.eglMakeCurrent(egl.EGL_DISPLAY, none, none, calls.EGL_NO_CONTEXT)
        case "osmesa":
            osmesa = cast(Any, importlib.import_module("OpenGL.osmesa"))
            osmesa.OSMesaMakeCurrent(None, None, 0, 0, 0)
        case "glfw":
            glfw = cast(Any, importlib.import_module("glfw"))
            glfw.make_context_current(None)
