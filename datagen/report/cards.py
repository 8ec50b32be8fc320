"""The views of the page: pictures as data addresses, boxes, and a few numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from datagen.report.colors import depth_picture, label_picture
from datagen.report.embedding import data_address, drawing, photo
from datagen.report.overlay import DrawnBox, drawn_boxes
from datagen.report.pixels import PixelFacts, pixel_facts, white_share
from datagen.report.selection import shares, spread
from datagen.report.shards import RunShards, View
from datagen.report.tally import RunTally
from writers import Row

SHEET_VIEWS = 60
"""Most views of the contact sheet; a view's backends count once."""
_LARGEST_SIDE = 480
"""Largest side of an embedded picture [px]."""
_THUMBNAIL_SIDE = 112
_FONT_SHARE = 0.036
"""Size of the names over a picture, as a share of its longer side."""


@dataclass(frozen=True, slots=True)
class Panel:
    """What one backend shows of a view."""

    backend: str
    row_id: str
    width: int
    height: int
    rgb: str
    """Picture as a data address; so are the others."""
    instance: str
    semantic: str
    depth: str
    boxes: tuple[DrawnBox, ...]
    font_size: float
    box_count: int
    """Tight boxes."""
    facts: PixelFacts
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """One view, by all backends."""

    scene_id: str
    camera: str
    language: str | None
    """Instruction of the task, if there is one."""
    episode_index: int
    frame_index: int
    depth_range: tuple[float, float] | None
    """Ends of the colour scale of depth [m], common to all backends."""
    panels: tuple[Panel, ...]

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags of any backend."""
        return tuple(sorted({flag for panel in self.panels for flag in panel.flags}))


@dataclass(frozen=True, slots=True)
class FlaggedRow:
    """A row with flags, and what can be said about them."""

    row_id: str
    flags: tuple[str, ...]
    reasons: tuple[str, ...]
    picture: str
    """Small picture as a data address."""


def sheet_cards(shards: RunShards, tally: RunTally) -> list[Card]:
    """Make the cards of an even choice of views, fair to scenes and cameras."""
    scenes: dict[str, dict[str, Sequence[int]]] = {}
    for (scene_id, camera, _), view in tally.views.items():
        scenes.setdefault(scene_id, {}).setdefault(camera, view.positions)
    sizes = [sum(map(len, cameras.values())) for cameras in scenes.values()]
    of_scenes = [
        _of_scene(list(cameras.values()), most)
        for cameras, most in zip(scenes.values(), shares(sizes, SHEET_VIEWS), strict=True)
    ]
    # One view of each scene before the second of any.
    chosen = [place for turn in zip_longest(*of_scenes) for place in turn if place is not None]
    in_file_order = sorted(chosen)
    keys = list(shards.keys(in_file_order))
    view_at = {place: key.view for place, key in zip(in_file_order, keys, strict=True)}
    groups = shards.siblings(keys)
    columns = ("rgb", "instance", "semantic", "depth")
    size_of = {group[0].view: len(group) for group in groups}
    waiting: dict[View, list[Row]] = {}
    cards: dict[View, Card] = {}
    for row in shards.rows([key for group in groups for key in group], columns):
        view = (row.scene_id, row.episode_index, row.frame_index, row.camera)
        waiting.setdefault(view, []).append(row)
        if len(waiting[view]) == size_of[view]:
            cards[view] = _card(waiting.pop(view))
    return [cards[view_at[place]] for place in chosen]


def _of_scene(cameras: Sequence[Sequence[int]], most: int) -> list[int]:
    """Choose views of a scene evenly, fair to its cameras and in turn between them."""
    places = shares([len(positions) for positions in cameras], most)
    chosen = [
        [positions[i] for i in spread(len(positions), count)]
        for positions, count in zip(cameras, places, strict=True)
    ]
    return [place for turn in zip_longest(*chosen) for place in turn if place is not None]


def flagged_rows(shards: RunShards, positions: Sequence[int]) -> list[FlaggedRow]:
    """Tell rows with flags one by one."""
    keys = shards.keys(positions)
    return [_flagged(shards, row) for row in shards.rows(keys, ("rgb", "depth"))]


def _card(rows: Sequence[Row]) -> Card:
    facts = [pixel_facts(row) for row in rows]
    near = [fact.near for fact in facts if fact.near is not None]
    far = [fact.far for fact in facts if fact.far is not None]
    ends = (min(near), max(far)) if near and far else None
    row = rows[0]
    return Card(
        scene_id=row.scene_id,
        camera=row.camera,
        language=row.language,
        episode_index=row.episode_index,
        frame_index=row.frame_index,
        depth_range=ends,
        panels=tuple(_panel(row, fact, ends) for row, fact in zip(rows, facts, strict=True)),
    )


def _panel(row: Row, facts: PixelFacts, ends: tuple[float, float] | None) -> Panel:
    assert row.rgb is not None and row.depth is not None
    assert row.instance is not None and row.semantic is not None
    font_size = _FONT_SHARE * max(row.width, row.height)
    near, far = ends or (1.0, 1.0)
    return Panel(
        backend=row.backend,
        row_id=row.row_id,
        width=row.width,
        height=row.height,
        rgb=data_address(photo(row.rgb, _LARGEST_SIDE)),
        instance=data_address(drawing(label_picture(row.instance), _LARGEST_SIDE)),
        semantic=data_address(drawing(label_picture(row.semantic), _LARGEST_SIDE)),
        depth=data_address(photo(depth_picture(row.depth, near, far), _LARGEST_SIDE)),
        boxes=tuple(drawn_boxes(row.objects, row.width, row.height, font_size)),
        font_size=font_size,
        box_count=sum(each.x0 is not None for each in row.objects),
        facts=facts,
        flags=tuple(row.flags),
    )


def _flagged(shards: RunShards, row: Row) -> FlaggedRow:
    assert row.rgb is not None
    return FlaggedRow(
        row_id=row.row_id,
        flags=tuple(row.flags),
        reasons=tuple(_reasons(shards, row)),
        picture=data_address(photo(row.rgb, _THUMBNAIL_SIDE)),
    )


def _reasons(shards: RunShards, row: Row) -> list[str]:
    facts = pixel_facts(row)
    reasons: list[str] = []
    if "dark" in row.flags and facts.brightness is not None:
        reasons.append(f"mean brightness {facts.brightness:.1f} of 255")
    if "blown" in row.flags:
        reasons.append(f"{white_share(row):.0%} of the pixels are pure white")
    if "object_out_of_view" in row.flags:
        wanted = objects_of_interest(shards, row.scene_id)
        seen = {each.name for each in row.objects if each.pixels_visible}
        unseen = [name for name in wanted if name not in seen]
        reasons.append(
            f"no visible pixel of {', '.join(unseen)}" if unseen else "no movable object is visible"
        )
    return reasons


def objects_of_interest(shards: RunShards, scene_id: str) -> list[str]:
    """Give the objects that a scene's task is about, as the manifest says."""
    record = shards.manifest.scenes.get(scene_id)
    names = record.get("objects_of_interest") if isinstance(record, dict) else None
    return [str(name) for name in names] if isinstance(names, list) else []
