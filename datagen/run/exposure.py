"""One exposure per scene, so that path-traced pictures are as bright as MuJoCo's."""

from __future__ import annotations

import contextlib
import json
from hashlib import blake2b
from pathlib import Path

import numpy as np

from datagen.backends import Backend, Pass, Size
from datagen.backends.registry import capabilities
from datagen.shading.formula import LUMA, luminance, mujoco_shading
from scenes import SampleLayer, Scene, pinhole, srgb_encode
from scenes.stage import attributes
from scenes.stage.looks import read_looks
from scenes.storage.temporary import temporary_file

EXPOSURE = f"/World.{attributes.EXPOSURE}"
EXPOSURE_RANGE = (0.1, 10.0)
"""Exposures that ordinary scenes have; LIBERO's lie between 0.9 and 1.5."""
UNUSUAL = "unusual_exposure"
"""Flag of path-traced views whose scene has another."""
_SIZE = Size(128, 128)
_PASSES: frozenset[Pass] = frozenset({"hdr", "part", "position", "normal", "albedo", "shadowed"})
_DECIMALS = 3


def scene_exposure(scene: Scene, backend: Backend, state: str) -> float:
    """Exposure at which the main camera's picture is as bright as MuJoCo's formula says.

    The formula is evaluated on the backend's own geometry, so no MuJoCo picture is needed. The
    value is kept in the scene folder, by everything that decides it.

    Args:
        scene: The scene.
        backend: A path tracer that has it open.
        state: State that is looked at.

    Returns:
        The exposure, rounded; 1 for a scene without a main camera or without light.
    """
    camera = scene.info.main_camera
    if camera is None:
        return 1.0
    key = blake2b(
        json.dumps([state, camera, backend.describe()], sort_keys=True).encode(), digest_size=8
    ).hexdigest()
    file = scene.folder / f"exposure-{key}.json"
    exposure = _kept(file)
    if exposure is None:
        exposure = _measured(scene, backend, state, camera)
        # A scene that may not be written is measured each time.
        with contextlib.suppress(OSError):
            temporary = temporary_file(file)
            temporary.write_bytes(_sealed(file.name, exposure))
            temporary.replace(file)
    return exposure


def _kept(file: Path) -> float | None:
    """Exposure in a file; None where there is none, or a damaged one."""
    try:
        data = file.read_bytes()
        exposure = float(json.loads(data)["exposure"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return exposure if data == _sealed(file.name, exposure) else None


def _sealed(name: str, exposure: float) -> bytes:
    seal = blake2b(f"{name} {exposure!r}".encode(), digest_size=16).hexdigest()
    return json.dumps({"exposure": exposure, "seal": seal}).encode()


def exposure_flags(exposure: float | None, backend: str) -> tuple[str, ...]:
    """Flags of the views that a backend renders in a scene of some exposure.

    Args:
        exposure: The exposure, None where nothing traces paths.
        backend: Name of the backend; one without radiance takes no exposure.
    """
    low, high = EXPOSURE_RANGE
    if exposure is None or "hdr" not in capabilities()[backend] or low <= exposure <= high:
        return ()
    return (UNUSUAL,)


def _measured(scene: Scene, backend: Backend, state: str, camera: str) -> float:
    sample = SampleLayer(scene, state)
    sample.set(EXPOSURE, 1.0)
    backend.apply(sample)
    passes = _PASSES & capabilities()[backend.name]
    buffers = backend.render(camera, _SIZE, passes)
    assert buffers.hdr is not None and buffers.part is not None
    wanted = mujoco_shading(scene, buffers, pinhole(scene, camera, *_SIZE), both_sides=True)
    # The formula knows nothing of what is seen through a transparent part.
    parts = scene.info.parts
    looks = read_looks(scene, [part.path for part in parts])
    clear = [part.part for part, look in zip(parts, looks, strict=True) if look.least_opacity < 1.0]
    seen = (buffers.part > 0) & ~np.isin(buffers.part, clear)
    if not seen.any():
        seen = buffers.part > 0
    target = luminance(np.where(seen[..., None], wanted, 0.0))
    hdr = np.where(seen[..., None], buffers.hdr, 0.0).astype(np.float64)
    if target <= 0.0 or not np.any(hdr @ LUMA > 0):
        return 1.0
    low, high = 1e-3, 1e3
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        if luminance(np.clip(srgb_encode(hdr * middle), 0.0, 1.0)) < target:
            low = middle
        else:
            high = middle
    return round(low, _DECIMALS)
