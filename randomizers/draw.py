"""One thing drawn, and which sample it is drawn for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast, get_args

from randomizers.errors import RandomizerError
from randomizers.streams import Scope

Value = float | str | tuple[float, ...] | tuple[str, ...]
Drawn = Mapping[str, Any]
"""What was drawn for one target: a `Value` by the name of its parameter."""


@dataclass(frozen=True)
class SampleId:
    """Which sample of a run."""

    scene_id: str
    episode: int
    frame: int

    def scope_id(self, scope: Scope, target: str) -> str:
        """Name what a scope means for this sample: equal for all samples that share a draw.

        Args:
            scope: How long a draw lasts.
            target: Path of what is drawn for; a view is a frame seen by a target camera.
        """
        match scope:
            case "run":
                return ""
            case "scene":
                return self.scene_id
            case "episode":
                return f"{self.scene_id}/{self.episode}"
            case "frame":
                return f"{self.scene_id}/{self.episode}/{self.frame}"
            case "view":
                return f"{self.scene_id}/{self.episode}/{self.frame}/{target}"


@dataclass(frozen=True)
class Draw:
    """One value drawn for one parameter of one target."""

    randomizer: str
    """Name of the randomizer instance."""
    scope: Scope
    target: str
    """Prim path."""
    parameter: str
    """`<type of randomizer>.<parameter>`."""
    value: Value
    attempt: int
    """Number of the attempt that gave this value, from 0."""

    @property
    def kind(self) -> str:
        """Type of the randomizer."""
        return self.parameter.partition(".")[0]


def by_parameter(draws: Iterable[Draw]) -> Drawn:
    """Give the values of one target's draws by the name of their parameter."""
    return {draw.parameter.partition(".")[2]: draw.value for draw in draws}


def recipe_json(draws: Iterable[Draw]) -> str:
    """Write a recipe as compact JSON; numbers read back exactly."""
    return json.dumps(
        [asdict(draw) for draw in draws],
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )


def parse_recipe(text: str) -> list[Draw]:
    """Read what `recipe_json` wrote.

    Raises:
        RandomizerError: The text is no recipe.
    """
    try:
        entries = json.loads(text)
    except ValueError as error:
        raise RandomizerError(f"recipe: not JSON: {error}.") from error
    if not isinstance(entries, list):
        raise RandomizerError("recipe: should be a list of draws.")
    return [_parse_draw(index, entry) for index, entry in enumerate(cast(list[Any], entries))]


def _parse_draw(index: int, entry: Any) -> Draw:
    names = sorted(Draw.__dataclass_fields__)
    if not isinstance(entry, dict) or sorted(cast(dict[str, Any], entry)) != names:
        raise RandomizerError(f"recipe[{index}]: should have the keys {', '.join(names)}.")
    fields = cast(dict[str, Any], entry)
    if fields["scope"] not in get_args(Scope):
        known = ", ".join(get_args(Scope))
        raise RandomizerError(f"recipe[{index}]: scope {fields['scope']!r}. Known: {known}.")
    value = fields["value"]
    fields["value"] = tuple(cast(list[Any], value)) if isinstance(value, list) else value
    return Draw(**fields)
