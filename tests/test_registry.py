from __future__ import annotations

import subprocess
import sys

import pytest

from datagen.backends.errors import BackendError
from datagen.backends.registry import capabilities, open_backend


def test_capabilities_are_those_of_the_classes() -> None:
    from datagen.backends.mujoco.backend import MUJOCO_PASSES

    assert capabilities()["mujoco"] == MUJOCO_PASSES
    assert {"rgb", "hdr", "normal"} <= capabilities()["mitsuba"]


def test_a_backend_is_made_by_name_with_its_options() -> None:
    backend = open_backend("mujoco", {"colorspace": "display", "samples": 0})
    assert backend.name == "mujoco"
    backend.close()


def test_an_unknown_backend_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(BackendError, match=r"Known: .*mujoco.*Did you mean 'mujoco'"):
        open_backend("mujocco")


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(BackendError, match=r"'colourspace'.*Did you mean 'colorspace'"):
        open_backend("mujoco", {"colourspace": "display"})


def test_listing_backends_imports_no_renderer() -> None:
    code = (
        "import sys; from datagen.backends.registry import capabilities; capabilities(); "
        "print([m for m in ('mitsuba', 'drjit', 'OpenGL') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
