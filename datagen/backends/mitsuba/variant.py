"""Choice of Mitsuba's variant: what this machine can run, found without risking this process."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Literal

from datagen.backends.errors import BackendError
from datagen.backends.mitsuba.config import MitsubaConfig
from datagen.backends.settings import BackendSettings

Variant = Literal["auto", "llvm", "scalar", "cuda"]

_NAMES = {"llvm": "llvm_ad_rgb", "scalar": "scalar_rgb", "cuda": "cuda_ad_rgb"}
_PREFERENCE = ("cuda", "llvm", "scalar")
_PROBE = """
import sys, mitsuba as mi
mi.set_variant(sys.argv[1])
box = mi.load_dict({'type': 'scene', 'box': {'type': 'cube'}, 'sky': {'type': 'constant'},
                    'integrator': {'type': 'path'}, 'sensor': {'type': 'perspective',
                    'film': {'type': 'hdrfilm', 'width': 4, 'height': 4}}})
assert float(mi.TensorXf(mi.render(box, spp=1)).array[0]) >= 0
"""


def load_mitsuba(variant: Variant, threads: int | None = None) -> ModuleType:
    """Import Mitsuba in a variant that works here.

    Args:
        variant: `auto` takes CUDA where a driver has ray tracing, else LLVM, else scalar.
        threads: Threads to render with; None takes all cores.

    Raises:
        BackendError: The variant asked for does not run here.
    """
    name = _NAMES[pick_variant(variant)]
    import mitsuba

    current = mitsuba.variant()
    if current is None:
        mitsuba.set_variant(name)
        # Values that are no picture, such as far positions, are no news for the terminal.
        mitsuba.set_log_level(mitsuba.LogLevel.Error)
    elif current != name:
        raise BackendError(f"mitsuba: this process runs {current} already, {name} was asked for.")
    if threads is not None:
        import drjit

        drjit.set_thread_count(threads)
    return mitsuba


@functools.cache
def pick_variant(variant: Variant) -> Literal["llvm", "scalar", "cuda"]:
    """Name the variant to use; `auto` tries them in a subprocess, where a crash does no harm.

    Raises:
        BackendError: The variant asked for does not run here.
    """
    _point_to_llvm()
    if variant == "auto":
        for name in _PREFERENCE:
            if _likely(name) and _runs(name) is None:
                return name
        raise BackendError(f"mitsuba: no variant runs here: {_runs('scalar')}")
    failure = _runs(variant)
    if failure is not None:
        raise BackendError(f"mitsuba: variant {variant!r} does not run here: {failure}")
    return variant


def llvm_library() -> Path | None:
    """LLVM library of the installed `karellen-llvm-core` package, if any."""
    library = Path(sys.prefix) / "lib" / "libLLVM.so"
    return library if library.is_file() else None


def _likely(name: str) -> bool:
    return name != "cuda" or Path("/proc/driver/nvidia").exists()


@functools.cache
def _runs(name: str) -> str | None:
    """Try a variant; None when it works, else the reason."""
    probe = subprocess.run(
        [sys.executable, "-c", _PROBE, _NAMES[name]],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    if probe.returncode == 0:
        return None
    lines = [line for line in probe.stderr.splitlines() if line.strip()]
    return lines[-1].strip() if lines else f"the process ended with {probe.returncode}."


def _point_to_llvm() -> None:
    library = llvm_library()
    if library is not None:
        os.environ.setdefault("DRJIT_LIBLLVM_PATH", str(library))


def prepare(settings: BackendSettings | None) -> dict[str, str]:
    """Find the variant that this machine runs, once for a run."""
    assert isinstance(settings, MitsubaConfig)
    return {"variant": pick_variant(settings.variant)}
