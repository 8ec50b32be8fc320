"""Faults of looks, planted into path-traced views of LIBERO."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from bench.planted import Row
from datagen.audit.diagnose.findings import Comparison, Finding
from datagen.audit.diagnose.looks.textures import texture_coordinates, texture_file, turned_colors
from datagen.audit.measure.looks import compare_looks
from datagen.audit.measure.registration import compare_registration
from datagen.audit.view import AUDIT_PASSES, Side, ViewPair
from scenes import SampleLayer, srgb_decode, srgb_encode
from scenes.stage.lights import read_lights

Linear = NDArray[np.floating]
_OBJECT_PIXELS_MIN = 400


@dataclass(frozen=True)
class LooksFault:
    """A fault and how to plant it.

    `plant` returns the faulty view and the subject that must be named, or None where the view has
    nothing to plant it into. A fault of the stage changes the sample, which is shown afterwards.
    """

    name: str
    kind: str
    sizes: tuple[float, ...]
    """From the largest to the smallest."""
    unit: str
    plant: Callable[[ViewPair, SampleLayer, float], tuple[ViewPair, str] | None]
    compare: Callable[[ViewPair], Comparison] = compare_looks


def with_candidate(pair: ViewPair, **buffers: Any) -> ViewPair:
    """Replace buffers of the candidate."""
    return replace(
        pair,
        candidate=replace(pair.candidate, buffers=replace(pair.candidate.buffers, **buffers)),
    )


def tone(pair: ViewPair, sample: SampleLayer, exponent: float) -> tuple[ViewPair, str]:
    """Pass the candidate's picture through a power curve."""
    rgb = _rgb(pair) ** exponent
    return with_candidate(pair, rgb=_bytes(rgb)), "picture"


def encoded_twice(pair: ViewPair, sample: SampleLayer, times: float) -> tuple[ViewPair, str]:
    return tone(pair, sample, 1.0 / times)


def raw_albedo(pair: ViewPair, sample: SampleLayer, exponent: float) -> tuple[ViewPair, str] | None:
    """Let the candidate take its textures for linear values, in albedo and picture."""
    albedo = pair.candidate.buffers.albedo
    if albedo is None:
        return None
    wrong = albedo.astype(np.float64) ** (1.0 / exponent)
    return _with_albedo(pair, wrong), "picture"


def swapped(pair: ViewPair, sample: SampleLayer, number: float) -> tuple[ViewPair, str]:
    """Permute the candidate's channels."""
    order = ([2, 1, 0], [1, 0, 2], [0, 2, 1], [1, 2, 0], [2, 0, 1])[int(number) - 1]
    buffers = pair.candidate.buffers
    albedo = None if buffers.albedo is None else buffers.albedo[..., order]
    assert buffers.rgb is not None
    return with_candidate(pair, rgb=buffers.rgb[..., order], albedo=albedo), "picture"


def brightness(pair: ViewPair, sample: SampleLayer, percent: float) -> tuple[ViewPair, str]:
    """Scale the candidate's light as a whole."""
    linear = srgb_decode(_rgb(pair)) * (1.0 + percent / 100.0)
    return with_candidate(pair, rgb=_bytes(np.clip(srgb_encode(linear), 0, 1))), "picture"


def other_lens(pair: ViewPair, sample: SampleLayer, percent: float) -> tuple[ViewPair, str]:
    """Show the candidate's picture, and not its labels, through another vertical focal length."""
    rgb = _rgb(pair)
    rows, columns = np.mgrid[0 : rgb.shape[0], 0 : rgb.shape[1]].astype(np.float64)
    middle = (rgb.shape[0] - 1) / 2
    at = [(rows - middle) / (1.0 + percent / 100.0) + middle, columns]
    shown = [map_coordinates(rgb[..., c], at, order=1, mode="nearest") for c in range(3)]
    subject = f"picture of {pair.candidate.backend}"
    return with_candidate(pair, rgb=_bytes(np.stack(shown, axis=2))), subject


def no_texture(pair: ViewPair, sample: SampleLayer, size: float) -> tuple[ViewPair, str] | None:
    """Paint the most colourful object in its mean colour."""
    mine = _textured_object(pair)
    if mine is None:
        return None
    name, mask, _ = mine
    albedo = np.array(pair.candidate.buffers.albedo, dtype=np.float64)
    albedo[mask] += size * (albedo[mask].mean(axis=0) - albedo[mask])
    return _with_albedo(pair, albedo), f"object {name}"


def turned_texture(turn: int) -> Callable[..., tuple[ViewPair, str] | None]:
    """Lay the texture of an object another way."""

    def plant(pair: ViewPair, sample: SampleLayer, size: float) -> tuple[ViewPair, str] | None:
        mine = _textured_object(pair)
        if mine is None:
            return None
        name, mask, path = mine
        position = pair.candidate.buffers.position
        assert position is not None
        (pose,) = pair.scene.world_transforms([path])
        points = (position[mask].astype(np.float64) - pose[:3, 3]) @ pose[:3, :3]
        st, _ = texture_coordinates(pair.scene.triangles(path), points)
        file = texture_file(pair.scene, path)
        assert file is not None
        albedo = np.array(pair.candidate.buffers.albedo, dtype=np.float64)
        albedo[mask] = srgb_decode(turned_colors(file, st)[turn, 0])
        return _with_albedo(pair, albedo), f"object {name}"

    return plant


def light(factor: Callable[[float], float]) -> Callable[..., tuple[ViewPair, str] | None]:
    """Change the strength of the light that the view shows most of, in the stage alone."""

    def plant(pair: ViewPair, sample: SampleLayer, size: float) -> tuple[ViewPair, str] | None:
        if not pair.scene.info.lights:
            return None
        first = read_lights(pair.scene)[0]
        # MuJoCo's diffuse is a display value, intensity is linear.
        wanted = srgb_decode(srgb_encode(first.color) * factor(size))
        strength = float(first.unit_intensity * wanted.max() / first.color.max())
        sample.set(f"{first.path}.inputs:intensity", strength)
        return pair, f"light {first.name}"

    return plant


def light_off(pair: ViewPair, sample: SampleLayer, size: float) -> tuple[ViewPair, str] | None:
    """Switch the first light of the stage off."""
    if not pair.scene.info.lights:
        return None
    info = pair.scene.info.lights[0]
    sample.set(f"{info.path}.visibility", "invisible")
    return pair, f"light {info.name}"


FAULTS = (
    LooksFault("decoded again", "double_gamma", (2.2,), "", tone),
    LooksFault("encoded again", "double_gamma", (2.2,), "", encoded_twice),
    LooksFault("raw textures", "double_gamma", (2.2,), "", raw_albedo),
    LooksFault("tone curve down", "gamma", (1.5, 1.4, 1.3), "", tone),
    LooksFault("tone curve up", "gamma", (1.5, 1.4, 1.3), "", encoded_twice),
    LooksFault("raw textures", "gamma", (1.4, 1.2), "", raw_albedo),
    LooksFault("channels", "channels_swapped", (1, 4), "", swapped),
    LooksFault("exposure up", "exposure", (60, 40, 30), "%", brightness),
    LooksFault("exposure down", "exposure", (-40, -30, -20), "%", brightness),
    LooksFault(
        "another lens",
        "picture_registration",
        (100, 30, 10, 5, 2),
        "%",
        other_lens,
        compare_registration,
    ),
    LooksFault("texture lost", "texture_missing", (1.0, 0.8, 0.7), "", no_texture),
    LooksFault("v flipped", "texture_flipped", (1,), "", turned_texture(1)),
    LooksFault("u flipped", "texture_flipped", (1,), "", turned_texture(2)),
    LooksFault("turned", "texture_flipped", (1,), "", turned_texture(3)),
    LooksFault("transposed", "texture_flipped", (1,), "", turned_texture(4)),
    LooksFault("light up", "light_intensity", (20, 10, 8), "%", light(lambda p: 1 + p / 100)),
    LooksFault("light down", "light_intensity", (-20, -10, -8), "%", light(lambda p: 1 + p / 100)),
    LooksFault("light doubled", "light_intensity", (2,), "x", light(lambda p: p)),
    LooksFault("light off", "light_missing", (1,), "", light_off),
)


def named(findings: tuple[Finding, ...], kind: str, subject: str) -> bool:
    """Tell whether a fault was named with its subject."""
    return any(each.kind == kind and each.subject == subject for each in findings)


def planted_rows(views: Iterator[tuple[ViewPair, SampleLayer]]) -> tuple[list[Row], list[str]]:
    """Plant every fault into every view.

    Returns:
        What was named, and the findings on the clean views.
    """
    rows: dict[tuple[str, str], Row] = {}
    false_alarms: list[str] = []
    for pair, clean in views:
        pair.scene.show(clean)
        findings = (*compare_looks(pair).findings, *compare_registration(pair).findings)
        false_alarms += [f"{pair.key}: {each.kind} {each.subject}" for each in findings]
        for fault in FAULTS:
            row = rows.setdefault((fault.kind, fault.name), Row(fault.kind, fault.name, fault.unit))
            for size in fault.sizes:
                sample = SampleLayer(pair.scene, clean.state.name)
                planted = fault.plant(pair, sample, size)
                if planted is None:
                    continue
                faulty, subject = planted
                pair.scene.show(sample)
                findings = fault.compare(faulty).findings
                pair.scene.show(clean)
                right = [
                    each for each in findings if (each.kind, each.subject) == (fault.kind, subject)
                ]
                row.add(size, bool(right), len(findings) - len(right))
    return list(rows.values()), false_alarms


def libero_views(count: int) -> Iterator[tuple[ViewPair, SampleLayer]]:
    """Render clean views of LIBERO's spatial and object suites."""
    from datagen.backends import Size
    from datagen.backends.registry import capabilities, open_backend
    from datagen.labels import Labeler
    from datagen.run.exposure import EXPOSURE, scene_exposure
    from scenes import libero_bundle, libero_scene

    cache = Path.home() / ".cache" / "datagen"
    options = {
        "mujoco": {"colorspace": "display"},
        "mitsuba": {"cull_back_faces": True, "spp": 16},
    }
    backends = {name: open_backend(name, each) for name, each in options.items()}
    for number in range((count + 1) // 2):
        suite = ("libero_spatial", "libero_object")[number % 2]
        bundle = libero_bundle(suite, number // 2, cache=cache)
        scene, states = libero_scene(bundle, [0], "settled", cache)
        classes = {
            label: n for n, label in enumerate(sorted({o.label for o in scene.info.objects}), 1)
        }
        labeler = Labeler(scene, classes)
        sample = SampleLayer(scene, states[0])
        for backend in backends.values():
            backend.open(scene)
        sample.set(EXPOSURE, scene_exposure(scene, backends["mitsuba"], states[0]))
        for camera in ("agentview", "robot0_eye_in_hand")[: count - 2 * number]:
            size, sides = Size(256, 256), []
            for name, backend in backends.items():
                backend.apply(sample)
                passes = capabilities()[name].intersection(AUDIT_PASSES)
                buffers = backend.render(camera, size, passes)
                sides.append(Side(name, buffers, labeler.labels(sample, camera, size, buffers)))
            yield ViewPair(scene, scene.info.scene_id, 0, 0, camera, size, *sides), sample


def _rgb(pair: ViewPair) -> NDArray[np.float64]:
    assert pair.candidate.buffers.rgb is not None
    return pair.candidate.buffers.rgb / 255.0


def _bytes(rgb: Linear) -> NDArray[np.uint8]:
    return (rgb * 255.0 + 0.5).astype(np.uint8)


def _with_albedo(pair: ViewPair, albedo: Linear) -> ViewPair:
    """Another diffuse colour, with the light on it as it was."""
    before = np.maximum(np.asarray(pair.candidate.buffers.albedo, dtype=np.float64), 1e-3)
    light = np.where(albedo == before, 1.0, np.maximum(albedo, 1e-3) / before)
    linear = srgb_decode(_rgb(pair)) * light
    rgb = _bytes(np.clip(srgb_encode(linear), 0.0, 1.0))
    return with_candidate(pair, rgb=rgb, albedo=albedo.astype(np.float32))


def _textured_object(pair: ViewPair) -> tuple[str, NDArray[np.bool_], str] | None:
    """Name, pixels and part path of the object, neither room nor robot, with the most contrast."""
    buffers = pair.candidate.buffers
    assert buffers.part is not None and buffers.albedo is not None
    best, found = 0.0, None
    names = {each.instance: each for each in pair.scene.info.objects}
    for part in pair.scene.info.parts:
        mask = buffers.part == part.part
        owner = names[part.instance]
        if owner.kind != "object" or mask.sum() < _OBJECT_PIXELS_MIN:
            continue
        if texture_file(pair.scene, part.path) is None:
            continue
        contrast = float(srgb_encode(buffers.albedo[mask].astype(np.float64)).std(axis=0).sum())
        if contrast > best:
            best, found = contrast, (owner.name, mask, part.path)
    return found
