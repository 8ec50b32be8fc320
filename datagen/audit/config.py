"""Settings of an audit: what is compared, and how large a difference may be."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from datagen.audit.measure.metrics import METRICS, family
from datagen.backends.names import BackendName
from datagen.backends.registry import backend_entry


class _Settings(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )


class Limits(_Settings):
    """Least and greatest value that is allowed; both ends are."""

    min: float | None = None
    """Least value allowed."""

    max: float | None = None
    """Greatest value allowed."""

    @model_validator(mode="after")
    def _says_something(self) -> Limits:
        if self.min is None and self.max is None:
            raise ValueError("needs min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is above max {self.max:g}")
        return self

    def allow(self, value: float) -> bool:
        """Tell whether a value is within the limits; what is not a number is not."""
        above = self.min is None or value >= self.min
        below = self.max is None or value <= self.max
        return value == value and above and below

    def __str__(self) -> str:
        """Write the limits as a person says them."""
        if self.min is None:
            return f"<= {self.max:g}"
        return f">= {self.min:g}" if self.max is None else f"{self.min:g} to {self.max:g}"


class Threshold(Limits):
    """Limits of a metric, and those of some cameras."""

    cameras: dict[str, Limits] = Field(default_factory=dict[str, Limits])
    """Own limits by camera name, where `*` stands for any letters; the first that fits counts."""

    backends: tuple[str, ...] = ("*",)
    """Backends that are held to it when compared with the reference; `*` stands for any letters,
    `path_tracers` for all that trace paths."""

    def limits(self, camera: str, backend: str) -> Limits | None:
        """Limits for a view, None where the backend is not held to this threshold."""
        if not any(_fits(backend, pattern) for pattern in self.backends):
            return None
        fitting = (own for name, own in self.cameras.items() if fnmatchcase(camera, name))
        return next(fitting, self)


def _fits(backend: str, pattern: str) -> bool:
    if pattern == PATH_TRACERS:
        return backend_entry(backend).traces_paths
    return fnmatchcase(backend, pattern)


Thresholds = dict[str, dict[str, Threshold | None]]
"""Thresholds by the two parts of a metric's name; None: not held to anything."""

_WRIST = "*eye_in_hand*"
PATH_TRACERS = "path_tracers"
"""Stands for all backends that trace paths, where a threshold names backends."""


def _thresholds(limits: Mapping[str, Threshold]) -> Thresholds:
    found: Thresholds = {}
    for metric, threshold in limits.items():
        found.setdefault(family(metric), {})[metric.partition(".")[2]] = threshold
    return found


GEOMETRY_LIMITS: Mapping[str, Threshold] = {
    "ids.agreement": Threshold(min=0.998),
    "ids.interior_misses": Threshold(max=0),
    "ids.explained": Threshold(min=0.99),
    "ids.unexplained": Threshold(max=10),
    "instance.agreement": Threshold(min=0.998),
    "semantic.agreement": Threshold(min=0.998),
    "iou.min": Threshold(min=0.9),
    "depth.median": Threshold(max=1e-6),
    "depth.p999": Threshold(max=1e-5),
    "depth.over_1mm": Threshold(max=0.001),
    "normal.mean_deg": Threshold(max=1.0),
    "box.max_corner_px": Threshold(max=2.0),
    "camera.k_px": Threshold(max=0.01),
    "camera.position_mm": Threshold(max=0.01),
    "camera.rotation_deg": Threshold(max=0.001),
    "labels.count_difference": Threshold(max=0),
    "labels.tight_box_px": Threshold(max=2.0),
    "labels.occlusion_difference": Threshold(max=0.05),
    "registration.px": Threshold(max=1.5),
    "registration.reference_px": Threshold(max=1.5),
}
"""Strict: two renderers that share no code reach these on every clean view."""

LOOKS_LIMITS: Mapping[str, Threshold] = {
    "light.luminance_ratio": Threshold(min=0.99, max=1.01),
    "light.psnr": Threshold(min=32.0),
    "light.ssim": Threshold(min=0.93),
    "light.flip": Threshold(max=0.05),
    "albedo.psnr": Threshold(min=29.0),
    "albedo.filtered_psnr": Threshold(min=40.0),
    "rgb.luminance_ratio": Threshold(
        min=0.95, max=1.05, cameras={_WRIST: Limits(min=0.9, max=1.13)}, backends=(PATH_TRACERS,)
    ),
    "rgb.ssim": Threshold(min=0.72, backends=(PATH_TRACERS,)),
    "rgb.flip": Threshold(max=0.29, cameras={_WRIST: Limits(max=0.5)}, backends=(PATH_TRACERS,)),
    "objects.luminance_ratio": Threshold(
        min=0.55, max=2.1, cameras={_WRIST: Limits(min=0.36, max=3.0)}, backends=(PATH_TRACERS,)
    ),
}
"""Albedo and light import are hard gates; a path-traced picture has bounce light and shadows that
MuJoCo's has not, so it is held to loose ones, looser yet for cameras close to things.

Loose ones are the worst of 52 views of LIBERO (26 tasks of five suites, agentview and wrist camera,
materials `mujoco`) with a margin: 0.02 of SSIM and FLIP, 0.03 of the luminance, 15 % of an object's
luminance, 0.5 dB of the whole albedo."""

SAME_LIMITS: Mapping[str, Threshold] = {
    "ids.agreement": Threshold(min=0.9999),
    "ids.interior_misses": Threshold(max=0),
    "instance.agreement": Threshold(min=0.9999),
    "semantic.agreement": Threshold(min=0.9999),
    "iou.min": Threshold(min=0.95),
    "depth.median": Threshold(max=1e-6),
    "depth.p999": Threshold(max=1e-5),
    "normal.mean_deg": Threshold(max=0.1),
    "box.max_corner_px": Threshold(max=1.0),
    "camera.k_px": Threshold(max=0.001),
    "camera.position_mm": Threshold(max=0.001),
    "camera.rotation_deg": Threshold(max=0.0001),
    "labels.count_difference": Threshold(max=0),
    "labels.tight_box_px": Threshold(max=1.0),
    "labels.occlusion_difference": Threshold(max=0.02),
    "albedo.psnr": Threshold(min=40.0),
    "rgb.luminance_ratio": Threshold(min=0.99, max=1.01),
    "rgb.ssim": Threshold(min=0.95),
    "rgb.flip": Threshold(max=0.05),
    "objects.luminance_ratio": Threshold(min=0.97, max=1.03),
}
"""One backend now and then: as before, but for noise that another version draws otherwise."""


class AuditConfig(_Settings):
    """What an audit compares and what it lets pass. Nothing here decides what rows hold."""

    backends: tuple[BackendName, ...] = Field(default=("mujoco", "mitsuba"), min_length=1)
    """Renderers; the first is the reference, the others are compared with it."""

    thresholds: Thresholds = Field(default_factory=Thresholds, validate_default=True)
    """Limits by metric, as `ids: {agreement: {min: 0.999}}`, in place of the default of that
    metric; `null` lifts it."""

    baseline: Thresholds = Field(default_factory=Thresholds, validate_default=True)
    """The same, for one backend now against itself in a baseline."""

    findings: Literal["fail", "note"] = "fail"
    """Whether a diagnosed cause fails the audit even if every metric is within its limits."""

    fine: Literal[1, 2, 4] = 2
    """Multiple of the size at which colours of the other backends are sampled for the albedo and
    light checks, as the reference smooths its pictures; 1: pixel centres only."""

    pictures: bool = True
    """Whether the other backends render the picture too; without it geometry, lights and diffuse
    colours are compared, in a fraction of the time."""

    full_views: int = Field(default=40, ge=0, le=500)
    """Most views that the page shows in full size, the worst first; the rest are thumbnails."""

    smallest_object: int = Field(default=50, ge=1)
    """Pixels that both sides must show of an object before it is held to limits of its own."""

    @field_validator("backends")
    @classmethod
    def _refuse_repeats(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) < len(value):
            raise ValueError("lists something twice")
        return value

    @field_validator("thresholds")
    @classmethod
    def _complete_thresholds(cls, value: Thresholds) -> Thresholds:
        return _completed(value, _thresholds({**GEOMETRY_LIMITS, **LOOKS_LIMITS}))

    @field_validator("baseline")
    @classmethod
    def _complete_baseline(cls, value: Thresholds) -> Thresholds:
        return _completed(value, _thresholds(SAME_LIMITS))


def flat(thresholds: Thresholds) -> dict[str, Threshold]:
    """Give thresholds by the whole name of their metric, in the order of `METRICS`."""
    found: dict[str, Threshold] = {}
    for metric in METRICS:
        threshold = thresholds.get(family(metric), {}).get(metric.partition(".")[2])
        if threshold is not None:
            found[metric] = threshold
    return found


def _completed(given: Thresholds, defaults: Thresholds) -> Thresholds:
    for group, limits in given.items():
        for name in limits:
            if f"{group}.{name}" not in METRICS:
                raise ValueError(_unknown(f"{group}.{name}"))
        if not limits:
            raise ValueError(f"{group} names no metric")
    groups = dict.fromkeys([*defaults, *given])
    return {group: {**defaults.get(group, {}), **given.get(group, {})} for group in groups}


def _unknown(metric: str) -> str:
    nearest = difflib.get_close_matches(metric, METRICS, n=1, cutoff=0.5)
    hint = f". Did you mean {nearest[0]!r}?" if nearest else ""
    return f"{metric!r} is no metric. Known: {', '.join(METRICS)}{hint}"
