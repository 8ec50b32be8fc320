"""Samples: every randomizer drawn, written into the sample layer and recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from randomizers.camera_pose import camera_values
from randomizers.checks import Check
from randomizers.config import RandomizerConfig
from randomizers.draw import Draw, SampleId, Value
from randomizers.errors import RandomizerError
from randomizers.light import light_values
from randomizers.object_pose import object_values
from randomizers.trial import RENEWED, Trial

if TYPE_CHECKING:
    from scenes import SampleLayer, SceneInfo

REDRAWS = 10
"""Most attempts after the first at a sample that a check refuses."""

_TRANSFORM = ".xformOp:transform"
_Meaning = Callable[["SampleLayer", str, Mapping[str, Value]], dict[str, Any]]
_MEANINGS: dict[str, _Meaning] = {
    "camera_pose": camera_values,
    "light": light_values,
    "object_pose": object_values,
}


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
    randomizers: Sequence[RandomizerConfig],
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


def bind(
    randomizers: Sequence[RandomizerConfig], info: SceneInfo
) -> list[tuple[RandomizerConfig, list[str]]]:
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
    known = {thing.path for thing in sample.scene.info.objects}
    known |= {camera.path for camera in sample.scene.info.cameras}
    known |= {light.path for light in sample.scene.info.lights}
    for (_, target, kind), draws in groupby(
        recipe, key=lambda draw: (draw.randomizer, draw.target, draw.kind)
    ):
        if kind not in _MEANINGS:
            raise RandomizerError(
                f"recipe: {kind!r} is not a randomizer. Known: {', '.join(_MEANINGS)}."
            )
        if target not in known:
            raise RandomizerError(f"recipe: {sample.scene.info.scene_id} has no {target}.")
        _write(sample, _values(sample, target, list(draws)))


def _draw(
    bound: list[tuple[RandomizerConfig, list[str]]], trial: Trial, written: set[str]
) -> list[Draw]:
    recipe: list[Draw] = []
    owners: dict[str, str] = {}
    for randomizer, targets in bound:
        for target in targets:
            draws = randomizer.draw(target, trial)
            values = _values(trial.sample, target, draws)
            for path in values:
                if path in owners:
                    raise RandomizerError(
                        f"{trial.sample.scene.info.scene_id}: randomizers {owners[path]!r} and "
                        f"{randomizer.name!r} both draw {path}; leave it to one of them."
                    )
                owners[path] = randomizer.name
            _write(trial.sample, values)
            recipe += draws
    # An earlier attempt may have moved what this one leaves alone.
    for path in sorted(written - owners.keys()):
        trial.sample.set(path, trial.sample.start(path))
    written.update(owners)
    return recipe


def _values(sample: SampleLayer, target: str, draws: Sequence[Draw]) -> dict[str, Any]:
    if not draws:
        return {}
    parameters = {draw.parameter.partition(".")[2]: draw.value for draw in draws}
    return _MEANINGS[draws[0].kind](sample, target, parameters)


def _write(sample: SampleLayer, values: Mapping[str, Any]) -> None:
    for path, value in values.items():
        if isinstance(value, np.ndarray):
            sample.set_pose(path.removesuffix(_TRANSFORM), value)
        else:
            sample.set(path, value)
