"""Samples: every randomizer drawn, written into the sample layer and recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from randomizers.draw import Draw, SampleId, by_parameter
from randomizers.errors import RandomizerError
from randomizers.geometry.checks import Check
from randomizers.randomizer import Randomizer
from randomizers.registry import randomizer_class
from randomizers.trial import RENEWED, Trial

if TYPE_CHECKING:
    from scenes import SampleLayer, SceneInfo

REDRAWS = 10
"""Most attempts after the first at a sample that a check refuses."""


@dataclass(frozen=True)
class Outcome:
    """How a sample was drawn."""

    recipe: list[Draw]
    """All draws that the sample shows, in the order they were written."""
    redraws: int
    """Attempts at the whole sample after the first, plus those at its single objects."""
    flags: list[str]
    """What is wrong with the sample, sorted."""


def randomize(
    sample: SampleLayer,
    randomizers: Sequence[Randomizer],
    ids: SampleId,
    seed: int,
    check: Callable[[SampleLayer], Iterable[Check]] | None = None,
    redraws: int = REDRAWS,
) -> Outcome:
    """Draw all randomizers and write their values into a sample.

    Every value is computed from the state and the authored stage, so what the layer held before
    has no influence. When a check fails, all randomizers of scope frame and view are drawn again;
    after `redraws` more attempts the last one stands, flagged with the names of the checks it
    fails. Draws of wider scope belong to other samples too and are never repeated.

    Args:
        sample: Layer to write to.
        randomizers: What to draw, each under a name of its own.
        ids: Which sample this is.
        seed: Seed of the run.
        check: Geometric checks of the drawn sample; they must not depend on a renderer.
        redraws: Most attempts after the first.

    Raises:
        RandomizerError: A target is missing, or two randomizers draw the same value.
    """
    bound = bind(randomizers, sample.scene.info)
    attempts = 1 + redraws if any(r.scope in RENEWED for r, _ in bound) else 1
    written: set[str] = set()
    for number in range(attempts):
        trial = Trial(sample, ids, seed, number)
        recipe = _draw(bound, trial, written)
        failed = [] if check is None else [c.name for c in check(sample) if not c.passed]
        if not failed or number == attempts - 1:
            return Outcome(recipe, number + trial.redraws, sorted(trial.flags | set(failed)))
    raise AssertionError("the last attempt returns")


def bind(randomizers: Sequence[Randomizer], info: SceneInfo) -> list[tuple[Randomizer, list[str]]]:
    """Find what each randomizer draws for in a scene; a run can do so before any work.

    Raises:
        RandomizerError: A target is missing.
    """
    return [(randomizer, randomizer.find(info)) for randomizer in randomizers]


def replay(sample: SampleLayer, recipe: Iterable[Draw]) -> None:
    """Write a recipe into a fresh sample, without drawing: the layer gets the same bytes.

    Raises:
        RandomizerError: The recipe names a kind of randomizer or a target that is not there.
    """
    info = sample.scene.info
    for (_, target, kind), draws in groupby(
        recipe, key=lambda draw: (draw.randomizer, draw.target, draw.kind)
    ):
        try:
            randomizer = randomizer_class(kind)
        except RandomizerError as error:
            raise RandomizerError(f"recipe: {error}") from error
        if target not in randomizer.candidates(info).values():
            raise RandomizerError(f"recipe: {info.scene_id} has no {target}.")
        randomizer.meaning(sample, target, by_parameter(draws)).write(sample)


def _draw(bound: list[tuple[Randomizer, list[str]]], trial: Trial, written: set[str]) -> list[Draw]:
    recipe: list[Draw] = []
    owners: dict[str, str] = {}
    for randomizer, targets in bound:
        for target in targets:
            draws = randomizer.draw(target, trial)
            if not draws:
                continue
            changes = randomizer.meaning(trial.sample, target, by_parameter(draws))
            for path in changes.paths:
                if path in owners:
                    raise RandomizerError(
                        f"{trial.sample.scene.info.scene_id}: randomizers {owners[path]!r} and "
                        f"{randomizer.name!r} both draw {path}; leave it to one of them."
                    )
                owners[path] = randomizer.name
            changes.write(trial.sample)
            recipe += draws
    # An earlier attempt may have moved what this one leaves alone.
    for path in sorted(written - owners.keys()):
        trial.sample.set(path, trial.sample.start(path))
    written.update(owners)
    return recipe
