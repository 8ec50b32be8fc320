"""Boxes and names to draw over a picture, in its own pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from datagen.report.colors import hex_color, label_color, lighter
from writers import ObjectRow

Rectangle = tuple[float, float, float, float]
"""x0, y0, x1, y1 [px]."""

_LETTER_WIDTH = 0.58
"""Width that a letter is given, in font sizes."""
_LINE_HEIGHT = 1.15
_BACKGROUND_SHARE = 0.4
"""Share of the picture from which an object counts as background, drawn faintly."""


@dataclass(frozen=True, slots=True)
class DrawnBox:
    """An object's boxes and its name's place."""

    color: str
    """Colour of the boxes, that of the instance map."""
    name_color: str
    """A lighter tone of it."""
    tight: Rectangle | None
    """Box of the visible pixels, drawn solid."""
    loose: Rectangle | None
    """Box of the whole silhouette, drawn dashed."""
    name: str
    title: str
    """What a pointer that rests on the box is told."""
    name_at: tuple[float, float] | None
    """Left end of the name's base line [px]; None where no place is free, or nothing visible."""
    name_width: float
    """Width that the name is fitted to [px]."""
    background: bool
    """Whether the object fills much of the picture."""


def drawn_boxes(
    objects: Sequence[ObjectRow], width: int, height: int, font_size: float
) -> list[DrawnBox]:
    """Give the boxes of a view, the largest first so that small ones lie on top.

    Visible objects are named, smallest box first; a name goes where it covers no other name, or
    nowhere.

    Args:
        objects: Objects of the row.
        width: Picture width [px].
        height: Picture height [px].
        font_size: Size of the names [px].
    """
    boxes = [(each, _tight(each), _loose(each)) for each in objects]
    boxes = [(each, tight, loose) for each, tight, loose in boxes if tight or loose]
    boxes.sort(key=lambda box: (_area(box[1] or box[2]), box[0].instance))
    taken: list[Rectangle] = []
    drawn: list[DrawnBox] = []
    for each, tight, loose in boxes:
        place = _free_place(each.name, tight, taken, width, height, font_size) if tight else None
        if place:
            taken.append(place)
        drawn.append(
            DrawnBox(
                color=hex_color(label_color(each.instance)),
                name_color=hex_color(lighter(label_color(each.instance))),
                tight=tight,
                loose=loose,
                name=each.name,
                title=_title(each),
                name_at=(place[0], place[3] - 0.25 * font_size) if place else None,
                name_width=len(each.name) * _LETTER_WIDTH * font_size,
                background=_area(tight or loose) >= _BACKGROUND_SHARE * width * height,
            )
        )
    return drawn[::-1]


def _tight(each: ObjectRow) -> Rectangle | None:
    if each.x0 is None or each.y0 is None or each.x1 is None or each.y1 is None:
        return None
    return each.x0, each.y0, each.x1, each.y1


def _loose(each: ObjectRow) -> Rectangle | None:
    x0, y0, x1, y1 = each.loose_x0, each.loose_y0, each.loose_x1, each.loose_y1
    if x0 is None or y0 is None or x1 is None or y1 is None:
        return None
    return x0, y0, x1, y1


def _title(each: ObjectRow) -> str:
    pixels = f"{each.pixels_visible or 0} of {each.pixels_total or 0} pixels visible"
    hidden = "" if each.occlusion is None else f", {each.occlusion:.0%} hidden"
    return f"{each.name} ({each.class_name}, {each.instance}): {pixels}{hidden}"


def _area(box: Rectangle | None) -> float:
    return 0.0 if box is None else (box[2] - box[0]) * (box[3] - box[1])


def _free_place(
    name: str,
    box: Rectangle,
    taken: Sequence[Rectangle],
    width: int,
    height: int,
    font_size: float,
) -> Rectangle | None:
    long, tall = len(name) * _LETTER_WIDTH * font_size, _LINE_HEIGHT * font_size
    x0, y0, x1, y1 = box
    corners = (
        (x0, y0 - tall),
        (x0, y1),
        (x0, y0),
        (x1 - long, y0 - tall),
        (x1 - long, y1),
        (x0, y1 - tall),
        (x1, y0),
        (x0 - long, y0),
    )
    for left, top in corners:
        left = min(max(left, 0.0), max(width - long, 0.0))
        place = (left, top, left + long, top + tall)
        if top >= 0 and top + tall <= height and not any(_overlap(place, one) for one in taken):
            return place
    return None


def _overlap(a: Rectangle, b: Rectangle) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
