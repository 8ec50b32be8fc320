from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from datagen.audit.config import AuditConfig, Limits, Threshold, flat
from datagen.audit.measure.metrics import METRICS
from datagen.audit.thresholds import judge
from datagen.configuration.config import RunConfig, load_config
from datagen.errors import ConfigError

ROOT = Path(__file__).parent.parent
MINIMAL = {"output": "out", "scenes": [{"mjcf": {"path": "a.xml"}}], "cameras": ["front"]}


def audit(**settings: Any) -> AuditConfig:
    return RunConfig.from_data({**MINIMAL, "audit": settings}).audit


def refusal(**settings: Any) -> str:
    with pytest.raises(ConfigError) as refused:
        audit(**settings)
    return str(refused.value)


def test_defaults_hold_geometry_strictly_and_looks_loosely() -> None:
    limits = flat(audit().thresholds)
    assert limits["ids.agreement"].min == 0.998
    assert limits["ids.interior_misses"].max == 0
    assert limits["depth.p999"].max == 1e-5
    assert limits["light.luminance_ratio"].max == 1.01
    luminance = limits["rgb.luminance_ratio"]
    assert (luminance.min, luminance.max) == (0.95, 1.05)
    assert luminance.limits("robot0_eye_in_hand", "mitsuba") == Limits(min=0.9, max=1.13)
    assert limits["rgb.ssim"].limits("agentview", "newton") is None
    assert set(limits) <= set(METRICS)


def test_an_entry_takes_the_place_of_its_metric_only() -> None:
    limits = flat(audit(thresholds={"ids": {"agreement": {"min": 0.5}}}).thresholds)
    assert limits["ids.agreement"] == Threshold(min=0.5)
    assert limits["ids.interior_misses"] == Threshold(max=0)
    assert "ids.agreement" in flat(audit().baseline)


def test_null_lifts_a_threshold() -> None:
    assert "ids.agreement" not in flat(audit(thresholds={"ids": {"agreement": None}}).thresholds)


def test_the_first_camera_pattern_that_fits_counts() -> None:
    threshold = Threshold(min=1.0, cameras={"*hand": Limits(min=2.0), "left*": Limits(min=3.0)})
    assert threshold.limits("left_hand", "mitsuba") == Limits(min=2.0)
    assert threshold.limits("left_eye", "mitsuba") == Limits(min=3.0)
    assert threshold.limits("top", "mitsuba") == threshold


@pytest.mark.parametrize(
    ("thresholds", "sentence"),
    [
        ({"ids": {"agreemnt": {"min": 1}}}, "Did you mean 'ids.agreement'?"),
        ({"ids": {"agreement": {"min": 2, "max": 1}}}, "min 2 is above max 1"),
        ({"ids": {"agreement": {}}}, "needs min, max or both"),
        ({"ids": {"agreement": {"min": "x"}}}, "audit.thresholds.ids.agreement.min: 'x'"),
        ({"ids": {"agreement": {"least": 1}}}, "audit.thresholds.ids.agreement.least"),
    ],
)
def test_a_wrong_threshold_is_refused_by_name(thresholds: Any, sentence: str) -> None:
    assert sentence in refusal(thresholds=thresholds)


def test_backends_are_known_and_named_once() -> None:
    assert "'blender' is not known" in refusal(backends=["mujoco", "blender"])
    assert "twice" in refusal(backends=["mujoco", "mujoco"])


def test_thresholds_decide_no_byte_of_a_run() -> None:
    strict = RunConfig.from_data({**MINIMAL, "audit": {"findings": "note"}})
    assert strict.model_dump_json() == RunConfig.from_data(MINIMAL).model_dump_json()


def test_no_number_is_never_within_limits() -> None:
    assert not Limits(min=0.0).allow(float("nan"))
    assert not Limits(max=0.0).allow(float("nan"))
    assert Limits(min=30.0).allow(float("inf"))


def test_both_ends_of_limits_are_allowed() -> None:
    limits = Limits(min=0.5, max=1.0)
    assert [limits.allow(value) for value in (0.49, 0.5, 1.0, 1.01)] == [False, True, True, False]


def test_judge_names_the_object_and_passes_over_small_ones_and_unmeasured_metrics() -> None:
    objects = {
        "bowl": {"iou": 0.5, "pixels_reference": 60.0, "pixels_candidate": 55.0},
        "crumb": {"iou": 0.1, "pixels_reference": 60.0, "pixels_candidate": 49.0},
    }
    thresholds = {"ids.agreement": Threshold(min=0.9), "objects.iou": Threshold(min=0.9)}
    (verdict,) = judge({}, objects, thresholds, "top", "mitsuba", smallest_object=50)
    assert (verdict.metric, verdict.object_name, verdict.value) == ("objects.iou", "bowl", 0.5)
    assert not verdict.passed
    assert verdict.excess == pytest.approx(0.4 / 0.9)
    assert verdict.room == pytest.approx(-0.4)


def test_the_example_config_loads_and_names_both_backends() -> None:
    config = load_config(ROOT / "configs" / "audit.yaml")
    assert config.audit.backends == ("mujoco", "mitsuba")
    assert len(config.cameras) == 2
