"""The `randomize` section of a config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Field

from randomizers.camera_pose import CameraPose
from randomizers.light import Light
from randomizers.object_pose import ObjectPose

RandomizerConfig = Annotated[CameraPose | Light | ObjectPose, Field(discriminator="type")]
"""Settings of any randomizer; `type` says which."""


def _listed(data: Any) -> Any:
    """Turn a mapping of names to settings into a list; the type defaults to the name."""
    if not isinstance(data, Mapping):
        return tuple(cast(list[Any], data)) if isinstance(data, list) else data
    entries = cast(Mapping[str, Any], data).items()
    return tuple(
        {"type": name, "name": name, **cast(Mapping[str, Any], settings)}
        if isinstance(settings, Mapping)
        else settings
        for name, settings in entries
    )


def distinct_names(randomizers: Sequence[RandomizerConfig]) -> Sequence[RandomizerConfig]:
    """Refuse two randomizers of one name: their draws would be the same.

    Raises:
        ValueError: A name stands twice.
    """
    names = [randomizer.name for randomizer in randomizers]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} names two randomizers; give each a `name` of its own")
    return randomizers


RandomizeSection = Annotated[
    tuple[RandomizerConfig, ...], BeforeValidator(_listed), AfterValidator(distinct_names)
]
"""All randomizers of a run: a list of settings, or a mapping of names to settings."""
