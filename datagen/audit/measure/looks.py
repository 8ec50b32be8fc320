"""How a view looks through two backends: lights, diffuse colour and the picture itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datagen.audit.diagnose.findings import Comparison, Finding
from datagen.audit.diagnose.looks.brightness import diagnose_brightness
from datagen.audit.diagnose.looks.light_findings import diagnose_lights
from datagen.audit.diagnose.looks.picture_findings import Looks, diagnose_picture
from datagen.audit.diagnose.looks.texture_findings import diagnose_textures
from datagen.audit.measure.albedo import albedo_metrics, candidate_albedo, display_albedo
from datagen.audit.measure.flip import flip_map
from datagen.audit.measure.light_import import light_import
from datagen.audit.measure.similarity import (
    display,
    histogram_distance,
    hue_shift,
    interior,
    luminance_ratio,
    psnr,
    ssim_map,
)
from datagen.audit.measure.transparency import transparent_pixels
from datagen.audit.view import ViewPair
from datagen.backends import Buffers
from datagen.shading.formula import luminance

_OBJECT_PIXELS_MIN = 50
_AGREEMENT_MIN = 0.8
_FAR = np.log(1.33)
"""Logarithm of a ratio of brightness from which an object is named."""
_NAMED = 4
_LIT = 0.1
"""Mean luma in the reference below which an object's ratio of brightness is not given."""


def compare_looks(pair: ViewPair, fine: Buffers | None = None) -> Comparison:
    """Compare the colours of a view.

    Args:
        pair: The view.
        fine: Passes part, position, normal and albedo of the candidate at a multiple of the
            picture's size, for pictures as smooth as the reference's. Without them the albedo is
            that of pixel centres and edges take no part in the light check.
    """
    metrics: dict[str, float] = {}
    objects: dict[str, dict[str, float]] = {}
    maps: dict[str, NDArray[Any]] = {}
    findings: list[Finding] = []
    notes: list[str] = []
    blended = transparent_pixels(pair)
    looks = _looks(pair, fine, blended)
    seen = _seen(pair) if blended is None else _seen(pair) & ~blended
    aligned = bool(looks.same.mean() >= _AGREEMENT_MIN * seen.mean() > 0)
    light = light_import(pair, fine, blended) if aligned else None
    if light is not None:
        metrics |= light.metrics
        maps["light_formula"] = _bytes(light.formula)
        maps["light_difference"] = light.difference
        notes.extend(light.notes)
        ratio = light.metrics.get("light.luminance_ratio")
        if not light.agrees:
            findings.extend(diagnose_lights(pair, light.scales, ratio))
    if looks.albedo is not None:
        found, by_object = albedo_metrics(pair, *looks.albedo, blended)
        metrics |= found
        objects |= by_object
        maps["albedo_reference"], maps["albedo_candidate"] = map(_bytes, looks.albedo)
    if blended is not None:
        notes.append(
            f"Lights and diffuse colours leave out {blended.mean():.1%} of the pixels: MuJoCo "
            "shows there what is behind a transparent part."
        )
    if looks.rgb is not None:
        metrics |= _picture_metrics(*looks.rgb)
        for name, numbers in _object_colors(pair, looks).items():
            objects[name] = objects.get(name, {}) | numbers
        notes.extend(_brightest_objects(pair, objects))
        maps["rgb_reference"], maps["rgb_candidate"] = map(_bytes, looks.rgb)
        maps["rgb_difference"] = _bytes(np.abs(looks.rgb[1] - looks.rgb[0]))
        maps["flip"] = flip_map(*looks.rgb)
        metrics["rgb.flip"] = float(maps["flip"].mean())
        hues = [numbers["hue_deg"] for numbers in objects.values() if "hue_deg" in numbers]
        if hues:
            metrics["rgb.hue_deg"] = float(np.median(hues))
    if aligned:
        textures = diagnose_textures(pair, looks)
        clean = _without(pair, looks, textures)
        wrong = diagnose_picture(pair, clean)
        findings.extend((*wrong, *textures))
        if looks.rgb is not None and not wrong:
            brightness = diagnose_brightness(pair, looks.rgb, clean.same, light)
            findings.extend(brightness.findings)
            notes.extend(brightness.notes)
    else:
        notes.append(
            "The two sides show different parts on most pixels, so colours, textures and lights "
            "are not diagnosed."
        )
    return Comparison(metrics, objects, maps, tuple(findings), tuple(notes))


def _looks(pair: ViewPair, fine: Buffers | None, blended: NDArray[np.bool_] | None) -> Looks:
    first, second = pair.reference.buffers, pair.candidate.buffers
    size = (pair.size[1], pair.size[0])
    same = inside = np.zeros(size, dtype=np.bool_)
    if first.part is not None and second.part is not None:
        same = (first.part == second.part) & (first.part > 0)
        if blended is not None:
            same &= ~blended
        inside = same & interior(first.part) & interior(second.part)
    rgb = albedo = None
    if first.rgb is not None and second.rgb is not None:
        rgb = (display(first.rgb), display(second.rgb))
    shown = candidate_albedo(pair, fine)
    if first.albedo is not None and shown is not None:
        albedo = (display_albedo(first.albedo), shown)
    return Looks(same, inside, rgb, albedo)


def _without(pair: ViewPair, looks: Looks, findings: list[Finding]) -> Looks:
    """Leave out objects whose texture is wrong: they say nothing about all colours."""
    subjects = {finding.subject for finding in findings}
    wrong = [each.instance for each in pair.scene.info.objects if f"object {each.name}" in subjects]
    right = ~np.isin(pair.reference.labels.instance, wrong)
    return replace(looks, same=looks.same & right, inside=looks.inside & right)


def _seen(pair: ViewPair) -> NDArray[np.bool_]:
    part = pair.reference.buffers.part
    return np.zeros((1, 1), dtype=np.bool_) if part is None else part > 0


def _picture_metrics(
    reference: NDArray[np.float32], candidate: NDArray[np.float32]
) -> dict[str, float]:
    metrics = {
        "rgb.psnr": psnr(reference, candidate),
        "rgb.ssim": float(ssim_map(reference, candidate).mean()),
        "rgb.histogram": histogram_distance(reference, candidate),
    }
    ratio = luminance_ratio(reference, candidate)
    return metrics if ratio is None else metrics | {"rgb.luminance_ratio": ratio}


def _object_colors(pair: ViewPair, looks: Looks) -> dict[str, dict[str, float]]:
    assert looks.rgb is not None
    instances = pair.reference.labels.instance
    found: dict[str, dict[str, float]] = {}
    for each in pair.scene.info.objects:
        mine = looks.same & (instances == each.instance)
        if np.count_nonzero(mine) < _OBJECT_PIXELS_MIN:
            continue
        numbers = {
            "luminance_ratio": luminance_ratio(*looks.rgb, mine)
            if _lit(looks.rgb[0], mine)
            else None,
            "hue_deg": hue_shift(*(picture[mine] for picture in looks.rgb)),
        }
        found[each.name] = {key: value for key, value in numbers.items() if value is not None}
    return found


def _lit(picture: NDArray[np.float32], mine: NDArray[np.bool_]) -> bool:
    """Tell whether an object is light enough for a ratio of brightness to say something."""
    return luminance(picture[mine]) >= _LIT


def _brightest_objects(
    pair: ViewPair, objects: Mapping[str, Mapping[str, float]]
) -> tuple[str, ...]:
    """Name the objects whose brightness differs most, which the mean of the picture may hide."""
    ratios = {
        name: each["luminance_ratio"] for name, each in objects.items() if "luminance_ratio" in each
    }
    far = [name for name, ratio in ratios.items() if ratio > 0 and abs(np.log(ratio)) > _FAR]
    far.sort(key=lambda name: -abs(np.log(ratios[name])))
    if not far:
        return ()
    named = ", ".join(f"{name} {ratios[name]:.2f} times as bright" for name in far[:_NAMED])
    return (f"{pair.candidate.backend} shows {named} as {pair.reference.backend}.",)


def _bytes(picture: NDArray[np.floating]) -> NDArray[np.uint8]:
    return (np.clip(picture, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)
