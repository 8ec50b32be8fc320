"""Sizes that a MuJoCo XML asks for, refused before MuJoCo takes memory for them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from scenes.errors import AssetError
from scenes.sources.files.raw_xml import Tag

MOST_ELEMENTS = 200_000
"""Most elements that copying may make."""
_MOST_SAMPLES = 2**27

_SIZES: Mapping[str, tuple[tuple[tuple[str, ...], int], ...]] = {
    "hfield": ((("nrow", "ncol"), _MOST_SAMPLES),),
    "texture": ((("width", "height"), _MOST_SAMPLES),),
    "composite": ((("count",), MOST_ELEMENTS),),
    "flexcomp": ((("count",), MOST_ELEMENTS), (("cellcount",), MOST_ELEMENTS)),
    "replicate": ((("count",), MOST_ELEMENTS),),
    "camera": ((("resolution",), _MOST_SAMPLES),),
    "size": tuple(
        ((name,), MOST_ELEMENTS)
        for name in (
            "nkey", "nuserdata", "nuser_body", "nuser_jnt", "nuser_geom", "nuser_site",
            "nuser_cam", "nuser_tendon", "nuser_actuator", "nuser_sensor", "njmax", "nconmax",
        )
    ),
}  # fmt: skip
"""By element: attributes whose numbers are multiplied, and the most that is allowed."""


def refuse_large_sizes(source: Path, xml: Path, tags: Iterable[Tag], ends: Iterable[int]) -> None:
    """Refuse elements that ask for too much, by themselves or by copies within copies.

    Args:
        source: The model.
        xml: The file, which may be one that the model includes.
        tags: Its opening tags, in order.
        ends: Places of the closing tags of `replicate`, in order.

    Raises:
        AssetError: Names file, element, attribute, value and limit.
    """
    where = str(source) if xml == source else f"{source}: {xml.name}"
    closing = list(reversed(list(ends)))
    around: list[Tag] = []
    made = 0.0
    for tag in tags:
        _refuse_large(where, tag)
        while closing and closing[-1] < tag.place:
            closing.pop()
            if around:
                around.pop()
        if tag.name == "replicate" and not tag.empty:
            around.append(tag)
        elif around:
            made += math.prod(_copies(each) for each in around)
        if made > MOST_ELEMENTS:
            raise AssetError(
                f"{where}: {_named(around[0])} count={around[0].attributes.get('count', '')!r}: "
                f"{made:.9g} elements would be made up to {_named(tag)}; at most {MOST_ELEMENTS} "
                "are read."
            )


def _refuse_large(where: str, tag: Tag) -> None:
    for names, most in _SIZES.get(tag.name, ()):
        given = [name for name in names if name in tag.attributes]
        asked = math.prod(number for name in given for number in _numbers(tag.attributes[name]))
        if given and asked > most:
            values = ", ".join(f"{name}={tag.attributes[name]!r}" for name in given)
            raise AssetError(
                f"{where}: {_named(tag)}: {values}: {asked:.9g} in all; at most {most} are read."
            )


def _copies(replicate: Tag) -> float:
    return max([1.0, *_numbers(replicate.attributes.get("count", ""))])


def _named(tag: Tag) -> str:
    name = tag.attributes.get("name")
    return f"{tag.name} {name!r}" if name else tag.name


def _numbers(text: str) -> list[float]:
    """Read numbers as MuJoCo does; what is none is left to its own refusal."""
    found: list[float] = []
    for word in text.split():
        try:
            number = float(word)
        except ValueError:
            return []
        if not math.isfinite(number):
            return []
        found.append(number)
    return found
