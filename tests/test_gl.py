from __future__ import annotations

import pytest

from datagen.backends.errors import BackendError
from datagen.backends.mujoco import gl


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch):
    for variable in ("MUJOCO_GL", "PYOPENGL_PLATFORM"):
        monkeypatch.delenv(variable, raising=False)
    gl.choose_gl.cache_clear()
    yield
    gl.choose_gl.cache_clear()


@pytest.mark.usefixtures("unset")
def test_no_working_library_is_one_sentence_with_the_debian_packages(monkeypatch) -> None:
    monkeypatch.setattr(gl, "_PROBE", "import sys; sys.exit('no ' + sys.argv[1])")
    with pytest.raises(BackendError) as refused:
        gl.choose_gl()
    message = str(refused.value)
    assert "egl: no egl; osmesa: no osmesa" in message
    assert "libegl1 libgl1-mesa-dri" in message and "libosmesa6" in message
    assert "\n" not in message


@pytest.mark.usefixtures("unset")
def test_a_driver_that_aborts_is_passed_over_for_the_next(monkeypatch) -> None:
    probe = "import os, sys; os.abort() if sys.argv[1] == 'egl' else print('soft')"
    monkeypatch.setattr(gl, "_PROBE", probe)
    assert gl.choose_gl() == ("osmesa", "soft")


@pytest.mark.usefixtures("unset")
def test_a_driver_that_hangs_is_passed_over_for_the_next(monkeypatch) -> None:
    probe = "import sys, time; time.sleep(60 if sys.argv[1] == 'egl' else 0); print('soft')"
    monkeypatch.setattr(gl, "_PROBE", probe)
    monkeypatch.setattr(gl, "_PROBE_SECONDS", 2)
    assert gl.choose_gl() == ("osmesa", "soft")


@pytest.mark.usefixtures("unset")
def test_the_platform_the_user_names_is_the_only_one_tried(monkeypatch) -> None:
    probe = "import os, sys; print(sys.argv[1], os.environ['MUJOCO_GL'])"
    monkeypatch.setattr(gl, "_PROBE", probe)
    monkeypatch.setenv("MUJOCO_GL", "OSMesa")
    assert gl.choose_gl() == ("osmesa", "osmesa osmesa")
    gl.choose_gl.cache_clear()
    monkeypatch.setattr(gl, "_PROBE", "raise OSError('gone')")
    with pytest.raises(BackendError) as refused:
        gl.choose_gl()
    told = str(refused.value)
    assert "osmesa: OSError: gone" in told and "egl:" not in told
    assert "MUJOCO_GL='OSMesa'" in told and "libosmesa6" in told and "libegl1" not in told


@pytest.mark.usefixtures("unset")
def test_opengl_turned_off_by_the_user_is_refused_with_the_variable(monkeypatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "disable")
    with pytest.raises(BackendError, match=r"MUJOCO_GL='disable'.*egl, osmesa"):
        gl.choose_gl()


@pytest.mark.usefixtures("unset")
def test_the_choice_is_made_once_per_process(monkeypatch, tmp_path) -> None:
    log = tmp_path / "log"
    monkeypatch.setattr(gl, "_PROBE", f"open({str(log)!r}, 'a').write('x'); print('soft')")
    assert gl.choose_gl() == gl.choose_gl()
    assert log.read_text() == "x"


@pytest.mark.gl
def test_a_context_is_current_only_inside_its_block() -> None:
    context = gl.GlContext()
    from OpenGL import GL

    with context:
        assert GL.glGetString(GL.GL_RENDERER).decode() == context.renderer
    if context.platform == "egl":
        from mujoco.egl import EGL

        assert not EGL.eglGetCurrentContext()
    context.free()
