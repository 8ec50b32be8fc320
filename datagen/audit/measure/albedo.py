"""Diffuse colour: MuJoCo's unlit picture against the candidate's albedo."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from datagen.audit.measure.similarity import interior, psnr
from datagen.audit.measure.texture_filter import filtered_albedo
from datagen.audit.view import ViewPair
from datagen.backends import Buffers
from datagen.backends.registry import backend_entry
from scenes import srgb_encode

_OBJECT_PIXELS_MIN = 50


def display_albedo(albedo: NDArray[np.float32]) -> NDArray[np.float32]:
    """Display values of a linear diffuse colour, [h, w, 3]."""
    return np.clip(srgb_encode(albedo.astype(np.float64)), 0.0, 1.0).astype(np.float32)


def candidate_albedo(pair: ViewPair, fine: Buffers | None) -> NDArray[np.float32] | None:
    """Display albedo of the candidate, from many samples of each pixel where there are such."""
    albedo = pair.candidate.buffers.albedo
    if albedo is None or fine is None or fine.albedo is None:
        return None if albedo is None else display_albedo(albedo)
    height, width = albedo.shape[:2]
    times = fine.albedo.shape[0] // height
    shown = display_albedo(fine.albedo)
    return shown.reshape(height, times, width, times, 3).mean(axis=(1, 3))


def albedo_metrics(
    pair: ViewPair,
    reference: NDArray[np.float32],
    candidate: NDArray[np.float32],
    blended: NDArray[np.bool_] | None = None,
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Numbers of a view, and by object, from display albedos, [h, w, 3].

    Args:
        pair: The view.
        reference: The reference's albedo.
        candidate: The candidate's albedo.
        blended: Pixels that are left out, [h, w].
    """
    clear = np.ones(reference.shape[:2], dtype=np.bool_) if blended is None else ~blended
    metrics = {"albedo.psnr": psnr(reference, candidate, clear)}
    first, second = pair.reference.buffers.part, pair.candidate.buffers.part
    if first is None or second is None:
        return metrics, {}
    inside = clear & (first == second) & interior(first) & interior(second)
    if inside.any():
        metrics["albedo.interior_psnr"] = psnr(reference, candidate, inside)
        filtered = filtered_albedo(pair.scene, pair.candidate.buffers)
        if filtered is not None and backend_entry(pair.reference.backend).shows_as_mujoco:
            smooth = inside & filtered.smooth
            if smooth.any():
                metrics["albedo.filtered_psnr"] = psnr(reference, filtered.colors, smooth)
    objects: dict[str, dict[str, float]] = {}
    same = clear & (first == second) & (first > 0)
    instances = pair.reference.labels.instance
    for each in pair.scene.info.objects:
        mine = same & (instances == each.instance)
        if np.count_nonzero(mine) >= _OBJECT_PIXELS_MIN:
            objects[each.name] = {"albedo_psnr": psnr(reference, candidate, mine)}
    return metrics, objects
