"""One view measured: every comparison, judged, with its pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from datagen.audit.config import AuditConfig, Threshold
from datagen.audit.diagnose.findings import Comparison
from datagen.audit.pages.pictures import view_pictures
from datagen.audit.results import AuditView
from datagen.audit.thresholds import judge
from datagen.audit.view import ViewPair
from datagen.backends import Buffers
from datagen.stopwatch import Stopwatch

Compare = Callable[[ViewPair, Buffers | None], tuple[Comparison, ...]]
"""All measurements of a view, family by family, given the other side's geometric passes at a
multiple of the picture's size, if there are any."""


def compare_everything(pair: ViewPair, fine: Buffers | None) -> tuple[Comparison, ...]:
    """Compare geometry, labels and looks, and each picture with its own labels."""
    from datagen.audit.measure.geometry import compare_geometry
    from datagen.audit.measure.label_differences import compare_labels
    from datagen.audit.measure.looks import compare_looks
    from datagen.audit.measure.registration import compare_registration

    return (
        compare_geometry(pair),
        compare_labels(pair),
        compare_registration(pair),
        compare_looks(pair, fine),
    )


def measure(
    pair: ViewPair,
    settings: AuditConfig,
    thresholds: Mapping[str, Threshold],
    compare: Compare,
    watch: Stopwatch,
    notes: tuple[str, ...] = (),
    fine: Buffers | None = None,
) -> AuditView:
    """Compare the two sides of a view and hold the numbers against the thresholds.

    Args:
        pair: The view; its sample is shown over the scene.
        settings: Settings of the audit.
        thresholds: Thresholds by dotted name.
        compare: What measures.
        watch: Where the time is added up.
        notes: What is known of this view already.
        fine: Geometric passes of the candidate at a multiple of the size.
    """
    with watch("compare"):
        comparisons = compare(pair, fine)
    metrics: dict[str, float] = {}
    objects: dict[str, dict[str, float]] = {}
    maps: dict[str, NDArray[Any]] = {}
    for comparison in comparisons:
        metrics |= {name: float(value) for name, value in comparison.metrics.items()}
        maps |= comparison.maps
        for name, numbers in comparison.objects.items():
            plain = {key: float(value) for key, value in numbers.items()}
            objects[name] = {**objects.get(name, {}), **plain}
    with watch("pictures"):
        pictures = view_pictures(pair, maps)
    return AuditView(
        scene_id=pair.scene_id,
        episode=pair.episode,
        frame=pair.frame,
        camera=pair.camera,
        reference=pair.reference.backend,
        candidate=pair.candidate.backend,
        width=pair.size.width,
        height=pair.size.height,
        metrics=metrics,
        objects=objects,
        findings=tuple(finding for each in comparisons for finding in each.findings),
        verdicts=judge(
            metrics,
            objects,
            thresholds,
            pair.camera,
            pair.candidate.backend,
            settings.smallest_object,
        ),
        notes=(*notes, *dict.fromkeys(note for each in comparisons for note in each.notes)),
        pictures=pictures,
    )
