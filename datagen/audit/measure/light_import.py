"""Are the lights right? MuJoCo's own formula on the candidate's geometry, against its picture.

Bounce light and shadows, which a path tracer adds, play no role here: what differs is a light, a
material's base colour or a normal. The texture is taken from the reference's albedo where it has
one, so that its filter is not mistaken for light.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from pxr import UsdGeom
from scipy.ndimage import binary_dilation

from datagen.audit.config import LOOKS_LIMITS
from datagen.audit.diagnose.looks.light_fit import LightScale, fit_scales
from datagen.audit.measure.flip import flip_map
from datagen.audit.measure.similarity import display, interior, luminance_ratio, psnr, ssim_map
from datagen.audit.view import ViewPair
from datagen.backends import Buffers
from datagen.backends.registry import backend_entry
from datagen.shading.boxes import box_sizes
from datagen.shading.formula import Shading, shade
from scenes import Pinhole, Scene
from scenes.stage.looks import read_looks

_PIXELS_MIN = 200
_CREASE = 0.2
"""Change of a normal's coordinate within a pixel that makes an edge."""
_SHADOW = 0.02
"""Least light that a shadow takes away, display values."""
_SHADOW_LEFT = 0.3
"""Part of the error that may be left without the light."""
_SHADOW_SHARE = 0.4
"""Largest part of what a light reaches that may lie in its shadow."""
_mirrors: WeakKeyDictionary[Scene, frozenset[int]] = WeakKeyDictionary()


@dataclass(frozen=True)
class LightImport:
    """What MuJoCo's formula says of a view."""

    metrics: dict[str, float]
    formula: NDArray[np.float32]
    """Display picture in [0, 1] by the formula, [h, w, 3]."""
    difference: NDArray[np.float32]
    """Largest difference of a channel to MuJoCo's picture, 0 where not compared, [h, w]."""
    scales: tuple[LightScale, ...]
    notes: tuple[str, ...]
    shine: NDArray[np.float32]
    """Highlights by MuJoCo's formula as they stand in its picture, [h, w, 3]."""
    compared: NDArray[np.bool_]
    """Pixels that the check compares, [h, w]."""

    @property
    def agrees(self) -> bool:
        """Whether the lights pass the check at its usual limits."""
        limits = [(name, LOOKS_LIMITS[name]) for name in self.metrics if name in LOOKS_LIMITS]
        return all(limit.allow(self.metrics[name]) for name, limit in limits)


def light_import(
    pair: ViewPair, fine: Buffers | None, blended: NDArray[np.bool_] | None = None
) -> LightImport | None:
    """Check the lights of a view; None where this cannot be done.

    Args:
        pair: The view; the reference is MuJoCo's.
        fine: Passes part, position and normal of the candidate at a multiple of the picture's
            size. With them edges are compared too; else only pixels within one part are.
        blended: Pixels that are left out, [h, w].
    """
    reference, candidate = pair.reference.buffers, pair.candidate.buffers
    parts = candidate.part
    needed = (reference.rgb, reference.part, parts, candidate.position, candidate.normal)
    as_mujoco = backend_entry(pair.reference.backend).shows_as_mujoco
    if not as_mujoco or any(buffer is None for buffer in needed):
        return None
    albedo = candidate.albedo if reference.albedo is None else reference.albedo
    if albedo is None:
        return None
    assert reference.rgb is not None and reference.part is not None and parts is not None
    mirrors = _mirror_parts(pair.scene)
    same = (parts == reference.part) & (parts > 0) & ~np.isin(parts, list(mirrors))
    if blended is not None:
        same &= ~blended
    inside = same & interior(parts) & interior(reference.part)
    compared = inside if fine is None else same
    if np.count_nonzero(compared) < _PIXELS_MIN:
        return None
    view = pair.candidate.labels.camera
    shading = shade(pair.scene, candidate, view)
    picture = display(reference.rgb)
    formula = shading.picture(albedo)
    shadows = _shadows(shading, albedo, picture, compared, candidate.shadowed)
    compared &= ~shadows
    inside &= ~shadows
    if fine is not None:
        # On one surface light is smooth: only edges need more than the pixel's centre.
        borders = compared & (~inside | _creased(fine, parts.shape[0]))
        smooth = _reduced(pair.scene, fine, view, albedo, borders)
        formula = np.where(borders[..., None], smooth, formula)
    formula = np.where(compared[..., None], formula, picture)
    ratio = luminance_ratio(picture, formula, compared)
    metrics = {
        "light.psnr": psnr(picture, formula, compared),
        "light.ssim": float(ssim_map(picture, formula)[compared].mean()),
        "light.flip": float(flip_map(picture, formula)[compared].mean()),
    }
    if ratio is not None:
        metrics["light.luminance_ratio"] = ratio
    return LightImport(
        metrics,
        formula.astype(np.float32),
        np.abs(formula - picture).max(axis=2).astype(np.float32),
        fit_scales(shading, albedo, picture, inside),
        _notes(parts, mirrors, compared, shadows),
        np.clip(shading.shine * shading.texture(albedo), 0.0, 1.0).astype(np.float32),
        compared,
    )


def _shadows(
    shading: Shading,
    albedo: NDArray[np.float32],
    picture: NDArray[np.float32],
    compared: NDArray[np.bool_],
    shadowed: NDArray[np.bool_] | None,
) -> NDArray[np.bool_]:
    """Pixels that lie in a shadow which MuJoCo draws, with their neighbours, [h, w].

    There the picture lacks a light that casts shadows and that something stands before, or all of
    these. Without the pass that tells what stands before a light, one alone is looked for, and no
    shadow but the light is the cause where it lacks much of its reach.
    """
    found = np.zeros(compared.shape, dtype=np.bool_)
    texture = shading.texture(albedo)
    shines = [light.shines for light in shading.lights]
    whole = shading.terms[shines].sum(axis=0) + shading.emitted
    shown = np.clip(whole, 0.0, 1.0) * texture
    error = np.abs(shown - picture).max(axis=2)
    casting = [k for k, light in enumerate(shading.lights) if light.shines and light.casts_shadow]
    lacking = shading.terms[casting]
    if shadowed is not None:
        # The headlight comes first; MuJoCo's shadows end a few pixels beside the true ones.
        behind = np.array([_widened(shadowed[..., k - 1]) for k in casting])
        lacking = lacking * behind.reshape(len(casting), *compared.shape, 1)
        lacking = [*lacking, lacking.sum(axis=0)]
    for term in lacking:
        without = np.clip(whole - term, 0.0, 1.0) * texture
        left = np.abs(without - picture).max(axis=2)
        reached = compared & (np.abs(shown - without).max(axis=2) > _SHADOW)
        dark = reached & (error > _SHADOW) & (left < _SHADOW_LEFT * error)
        if shadowed is None and (
            np.count_nonzero(dark) > _SHADOW_SHARE * np.count_nonzero(reached)
        ):
            continue
        found |= _widened(dark)
    return found


def _widened(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.asarray(binary_dilation(mask, np.ones((5, 5))), dtype=np.bool_)


def _reduced(
    scene: Scene,
    fine: Buffers,
    view: Pinhole,
    albedo: NDArray[np.float32],
    where: NDArray[np.bool_],
) -> NDArray[np.float32]:
    """Mean of the formula over each pixel that is asked for, [h, w, 3], nothing elsewhere."""
    assert fine.part is not None
    times = fine.part.shape[0] // view.height
    wanted = where.repeat(times, axis=0).repeat(times, axis=1)
    fine = replace(fine, part=np.where(wanted, fine.part, 0))
    lens = np.diag([times, times, 1.0]) @ view.K
    large = replace(view, K=lens, width=view.width * times, height=view.height * times)
    textures = albedo.repeat(times, axis=0).repeat(times, axis=1)
    shown = shade(scene, fine, large).picture(textures)
    return shown.reshape(view.height, times, view.width, times, 3).mean(axis=(1, 3))


def _creased(fine: Buffers, height: int) -> NDArray[np.bool_]:
    """Pixels that hold an edge of a part's own surface, where its normal turns at once, [h, w]."""
    assert fine.normal is not None
    times = fine.normal.shape[0] // height
    rows = fine.normal.reshape(height, times, -1, times, 3)
    return np.ptp(rows, axis=(1, 3)).max(axis=2) > _CREASE


def _mirror_parts(scene: Scene) -> frozenset[int]:
    """Numbers of parts that MuJoCo draws with a mirror picture of the scene in them."""
    if scene not in _mirrors:
        _mirrors[scene] = _find_mirrors(scene)
    return _mirrors[scene]


def _find_mirrors(scene: Scene) -> frozenset[int]:
    """Planes and boxes with reflectance."""
    flat = {
        part.part
        for part in scene.info.parts
        if UsdGeom.Mesh(scene.stage.GetPrimAtPath(part.path)).GetDoubleSidedAttr().Get()
    }
    shapes = {*box_sizes(scene), *flat}
    looks = read_looks(scene, [part.path for part in scene.info.parts])
    return frozenset(
        part.part
        for part, look in zip(scene.info.parts, looks, strict=True)
        if part.part in shapes and look.mirror > 0
    )


def _notes(
    parts: NDArray[np.int32],
    mirrors: frozenset[int],
    compared: NDArray[np.bool_],
    shadows: NDArray[np.bool_],
) -> tuple[str, ...]:
    notes: list[str] = []
    mirrored = float(np.isin(parts, list(mirrors)).mean())
    if mirrored > 0:
        notes.append(
            f"Light import leaves out {mirrored:.1%} of the pixels: MuJoCo shows a mirror picture "
            "of the scene there."
        )
    if shadows.any():
        notes.append(
            f"Light import leaves out {shadows.mean():.1%} of the pixels: MuJoCo draws shadows "
            "there."
        )
    if compared.mean() < 0.5:
        notes.append(f"Light import compares only {compared.mean():.0%} of the pixels.")
    return tuple(notes)
