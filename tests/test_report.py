import base64
import dataclasses
import hashlib
import io
import itertools
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from datagen.report import inspect, run_statistics, write_report
from datagen.report import statistics as statistics_module
from datagen.report.cards import SHEET_VIEWS
from datagen.report.colors import depth_picture, depth_stops, hex_color, label_color, label_picture
from datagen.report.overlay import drawn_boxes
from datagen.report.selection import shares, spread
from writers import (
    SCHEMA_VERSION,
    Manifest,
    ObjectRow,
    OutputConfig,
    ReadError,
    Row,
    TableEntry,
    note_shard,
    read_manifest,
    shard_name,
    write_draft,
    write_manifest,
    write_shard,
)

WIDTH, HEIGHT = 16, 8
EVIL = "<script>alert('bowl')</script>"
POSE = np.eye(4)


def make_row(
    episode: int, camera: str, backend: str, *, gray: int, near: float, scene_id: str = "kitchen"
) -> Row:
    """Upper half bowl at `near`, then a plate at 2 m, lowest row nothing."""
    depth = np.full((HEIGHT, WIDTH), 2.0, np.float32)
    depth[: HEIGHT // 2] = near
    depth[-1] = np.inf
    instance = np.where(np.isfinite(depth), 2, 0).astype(np.int32)
    instance[: HEIGHT // 2] = 1
    rgb = np.full((HEIGHT, WIDTH, 3), gray, np.uint8)
    rgb[-1] = 255
    bowl = ObjectRow(
        instance=1,
        name="bowl_1",
        class_name="bowl",
        x0=0,
        y0=0,
        x1=WIDTH,
        y1=4,
        loose_x0=0.0,
        loose_y0=0.0,
        loose_x1=16.0,
        loose_y1=4.5,
        pixels_visible=64,
        pixels_total=80,
        occlusion=0.2,
        T_world_object=POSE,
    )
    plate = ObjectRow(
        instance=2,
        name=EVIL,
        class_name="plate",
        x0=0,
        y0=4,
        x1=WIDTH,
        y1=7,
        loose_x0=0.0,
        loose_y0=4.0,
        loose_x1=16.0,
        loose_y1=7.0,
        pixels_visible=48,
        pixels_total=48,
        occlusion=0.0,
    )
    hidden = ObjectRow(
        instance=3,
        name="bowl_2",
        class_name="bowl",
        loose_x0=1.0,
        loose_y0=1.0,
        loose_x1=3.0,
        loose_y1=3.0,
        pixels_visible=0,
        pixels_total=4,
        occlusion=1.0,
    )
    outside = ObjectRow(
        instance=4, name="wall", class_name="wall", pixels_visible=0, pixels_total=0
    )
    return Row(
        scene_id=scene_id,
        episode_index=episode,
        frame_index=0,
        camera=camera,
        backend=backend,
        width=WIDTH,
        height=HEIGHT,
        K=np.eye(3),
        T_world_camera=POSE,
        seed=7,
        rgb=rgb,
        instance=instance,
        part=instance,
        semantic=instance,
        depth=depth,
        objects=[bowl, plate, hidden, outside],
        redraws=episode,
    )


def paired_rows(episodes: int = 3, scene_id: str = "kitchen") -> list[Row]:
    return [
        make_row(
            episode,
            camera,
            backend,
            gray=gray + 10 * (episode % 10),
            near=0.5 + 0.1 * episode,
            scene_id=scene_id,
        )
        for episode in range(episodes)
        for camera in ("front", "wrist")
        for backend, gray in (("mitsuba", 100), ("mujoco", 60))
    ]


def write_run(folder: Path, shards: list[list[Row]], **config: object) -> Path:
    folder.mkdir()
    output = OutputConfig(row_group_rows=5)
    records = [
        write_shard(folder / "data" / shard_name(index), rows, output)
        for index, rows in enumerate(shards)
    ]
    names = ("bowl_1", EVIL, "bowl_2", "wall")
    classes = ("bowl", "plate", "bowl", "wall")
    write_manifest(
        folder,
        Manifest.model_validate(
            {
                "schema_version": SCHEMA_VERSION,
                "seed": 7,
                "passes": ["rgb", "depth", "segmentation"],
                "label_bits": 16,
                "versions": {"mitsuba": "3.9.1"},
                "config": {"seed": 7, "spp": 16, **config},
                "backends": {"mitsuba": {"variant": "llvm"}, "mujoco": {}},
                "parts": [],
                "instances": [
                    TableEntry.model_validate({"id": i, "name": name, "class": label})
                    for i, (name, label) in enumerate(zip(names, classes, strict=True), 1)
                ],
                "classes": [
                    TableEntry(id=i, name=name)
                    for i, name in enumerate(("bowl", "plate", "wall", "ghost"), 1)
                ],
                "robots": [],
                "scenes": {
                    "kitchen": {
                        "source": "mjcf/kitchen.xml",
                        "language": "put the bowl on the plate",
                        "objects_of_interest": ["bowl_1", "bowl_2"],
                        "report": {
                            "counts_in": {"geom": 9},
                            "counts_out": {"mesh": 8},
                            "approximated": [],
                            "caveats": ["wall shows a box & nothing else"],
                        },
                    }
                },
                "shards": records,
            }
        ),
    )
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rows = paired_rows()
    black = dataclasses.replace(
        rows[3], rgb=np.full((HEIGHT, WIDTH, 3), 4, np.uint8), flags=["dark", "object_out_of_view"]
    )
    return write_run(tmp_path / "run", [[*rows[:3], black, *rows[4:8]], rows[8:]])


class Page(HTMLParser):
    """Tags, addresses and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def having(self, tag: str, class_name: str = "") -> list[dict[str, str | None]]:
        return [
            attributes
            for name, attributes in self.tags
            if name == tag and class_name in ["", *(attributes.get("class") or "").split()]
        ]


def decoded(address: str | None) -> np.ndarray:
    assert address is not None
    data = base64.b64decode(address.removeprefix("data:image/webp;base64,"), validate=True)
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def test_boxes_objects_and_flags_are_counted_over_all_rows(run: Path):
    found = run_statistics(run)
    assert found.rows == 12
    assert found.boxes_per_view == (0, 0, 12)
    assert found.boxes == 24
    assert found.flags == {"dark": 1, "object_out_of_view": 1}
    assert found.flagged_rows == 1
    assert found.flagged == (3,)
    assert found.redraws == 4 * (0 + 1 + 2)
    bowl, plate, wall, ghost = found.classes
    assert [each.name for each in found.classes] == ["bowl", "plate", "wall", "ghost"]
    assert (bowl.objects, bowl.boxes, bowl.loose_boxes, bowl.pixels) == (2, 12, 24, 12 * 64)
    assert bowl.occlusion == pytest.approx((0.2 + 1.0) / 2)
    assert (plate.objects, plate.boxes, plate.occlusion) == (1, 12, 0.0)
    assert (wall.objects, wall.boxes, wall.loose_boxes, wall.occlusion) == (1, 0, 0, None)
    assert (ghost.number, ghost.objects, ghost.boxes) == (4, 0, 0)


def test_brightness_and_depth_are_those_of_the_pixels_that_show_something(run: Path):
    found = run_statistics(run)
    views = {(view.camera, view.backend): view for view in found.views}
    front = views["front", "mitsuba"]
    assert front.brightness is not None
    assert front.depth is not None
    assert front.brightness.mean == pytest.approx(110)
    assert (front.brightness.low, front.brightness.high) == pytest.approx((100, 120))
    assert front.depth.near == pytest.approx(0.5)
    # 64 pixels at `near` and 48 at 2 m: the median is `near`.
    assert front.depth.median == pytest.approx(0.6)
    assert front.depth.far == 2.0
    assert views["wrist", "mujoco"].flagged == 1
    assert views["wrist", "mujoco"].brightness.low == pytest.approx(4)
    assert found.measured_rows == 12
    assert found.brightness is not None
    # Brightness 4; 60, 70, 70; 80, 80; 100, 100; 110, 110; 120, 120 in bars 16 wide.
    assert found.brightness.histogram == (1, 0, 0, 1, 2, 2, 4, 2, *[0] * 8)


def test_one_object_of_two_scenes_counts_twice(tmp_path: Path):
    shards = [paired_rows(1), paired_rows(1, "office")]
    found = run_statistics(write_run(tmp_path / "run", shards))
    assert found.classes[1].objects == 2
    assert len(found.views) == 8


def test_measured_rows_are_bounded_and_even_over_views(run: Path, monkeypatch):
    monkeypatch.setattr(statistics_module, "MEASURED_ROWS", 4)
    found = run_statistics(run)
    assert found.measured_rows == 4
    assert [view.measured_rows for view in found.views] == [1, 1, 1, 1]
    # The middle one of three episodes.
    assert found.views[0].brightness.mean == pytest.approx(110)
    assert found.rows == 12


def test_a_view_that_shows_nothing_has_no_brightness_and_no_depth(tmp_path: Path):
    row = make_row(0, "front", "mitsuba", gray=50, near=1.0)
    assert row.depth is not None
    empty = dataclasses.replace(row, depth=np.full_like(row.depth, np.inf), objects=[])
    folder = write_run(tmp_path / "run", [[empty]])
    found = run_statistics(folder)
    assert (found.brightness, found.depth) == (None, None)
    assert found.boxes_per_view == (1,)
    assert write_report(folder).is_file()


def test_a_run_without_rows_still_has_a_page(tmp_path: Path):
    folder = write_run(tmp_path / "run", [[]])
    assert run_statistics(folder).rows == 0
    assert "0" in Page(write_report(folder).read_text()).words


def test_the_page_asks_no_network_and_runs_only_its_own_script(run: Path):
    page = Page(write_report(run).read_text())
    for _, attributes in page.tags:
        for name in ("src", "href", "action", "data", "srcset", "poster"):
            assert re.match(r"data:|#", attributes.get(name) or "#"), attributes
        assert not [name for name in attributes if name.startswith("on")]
    assert not re.search(r"url\((?!#depth-scale)|@import", page.text)
    assert "http://" not in page.text
    assert "https://" not in page.text
    policy = page.having("meta")[1]["content"]
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert len(page.having("script")) == 1


def test_the_policy_allows_the_style_and_the_script_of_the_page(run: Path):
    text = write_report(run).read_text()
    for tag in ("style", "script"):
        match = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert match is not None
        digest = base64.b64encode(hashlib.sha256(match[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in text.replace("&#39;", "'")


def test_names_from_scenes_are_text_on_the_page(run: Path):
    page = Page(write_report(run).read_text())
    assert EVIL not in page.text
    assert any(EVIL in word for word in page.words)
    assert any("box & nothing else" in word for word in page.words)


def test_backends_of_a_view_stand_beside_each_other_with_all_passes(run: Path):
    page = Page(write_report(run).read_text())
    assert len(page.having("article", "pair")) == 6
    assert len(page.having("div", "panel")) == 12
    for kind in ("rgb", "instance", "semantic", "depth"):
        assert len(page.having("figure", kind)) == 12
    assert len(page.having("rect", "tight")) == 24
    assert len(page.having("rect", "loose")) == 36
    alts = [image["alt"] for image in page.having("img")]
    assert alts[0] == "picture of kitchen, front, episode 0, mitsuba"
    assert alts[4] == "picture of kitchen, front, episode 0, mujoco"


def test_boxes_lie_on_the_pixels_that_the_row_says(run: Path):
    page = Page(write_report(run).read_text())
    svg = page.having("svg", "boxes")[0]
    assert svg["viewbox"] == f"0 0 {WIDTH} {HEIGHT}"
    boxes = [
        tuple(float(box[name] or "nan") for name in ("x", "y", "width", "height"))
        for box in page.having("rect", "tight")[:2]
    ]
    assert boxes == [(0, 0, 16, 4), (0, 4, 16, 3)]
    loose = page.having("rect", "loose")[0]
    assert float(loose["height"] or "nan") == 4.5


def test_embedded_pictures_are_those_of_the_row(run: Path):
    images = Page(write_report(run).read_text()).having("img")
    rgb, instance, semantic, depth = (decoded(image["src"]) for image in images[:4])
    assert rgb.shape == (HEIGHT, WIDTH, 3)
    assert np.abs(rgb[:6].astype(int) - 100).max() <= 6
    np.testing.assert_array_equal(instance[0, 0], label_color(1))
    np.testing.assert_array_equal(instance[5, 3], label_color(2))
    np.testing.assert_array_equal(instance[-1, 0], label_color(0))
    np.testing.assert_array_equal(semantic[0, 0], label_color(1))
    assert depth[1].mean() > depth[5].mean()


def test_flagged_rows_are_listed_with_the_reason(run: Path):
    page = Page(write_report(run).read_text())
    words = "\n".join(page.words)
    assert "kitchen/0/wrist/mujoco" not in words
    assert "kitchen/0/0/wrist/mujoco" in words
    assert "mean brightness 4.0 of 255" in words
    assert "no visible pixel of bowl_2" in words
    assert "no visible pixel of bowl_1" not in words


def test_versions_config_and_caveats_are_on_the_page(run: Path):
    words = "\n".join(Page(write_report(run).read_text()).words)
    for text in ("3.9.1", "spp: 16", "Caveats (1)", "put the bowl on the plate", "llvm"):
        assert text in words


def test_one_view_of_each_scene_comes_before_the_second_of_any(tmp_path: Path):
    scenes = ("den", "kitchen", "study")
    folder = write_run(tmp_path / "run", [paired_rows(scene_id=name) for name in scenes])
    text = write_report(folder).read_text()
    order = re.findall(r'<article class="card[^"]*" data-scene="(\w+)"', text)
    assert len(order) > len(scenes)
    assert set(order[:3]) == set(scenes)
    assert set(order[3:6]) == set(scenes)


def test_cards_tell_the_instruction_and_names_are_off_until_asked_for(run: Path):
    text = write_report(run).read_text()
    assert '<p class="language">' in text
    assert 'id="show-names">' in text


def test_the_page_is_the_same_each_time_and_bounded(tmp_path: Path):
    folder = write_run(tmp_path / "run", [paired_rows(40)])
    first = write_report(folder).read_bytes()
    assert write_report(folder).read_bytes() == first
    page = Page(first.decode())
    cards = page.having("article")
    assert len(cards) == SHEET_VIEWS
    assert [card["data-camera"] for card in cards].count("front") == SHEET_VIEWS // 2


def test_views_come_together_in_whatever_order_the_shard_has_them(tmp_path: Path):
    rows = sorted(paired_rows(1), key=lambda row: row.backend)
    page = Page(write_report(write_run(tmp_path / "run", [rows])).read_text())
    assert len(page.having("article", "pair")) == 2
    alts = [image["alt"] for image in page.having("img")]
    assert alts[4] == "picture of kitchen, front, episode 0, mujoco"


def test_inspect_prints_the_numbers_and_writes_the_page(run: Path):
    text = io.StringIO()
    inspect(run, Console(file=text, width=140))
    printed = text.getvalue()
    for part in (
        "12 in 2 shards",
        "1 scene",
        "mean 2.0",
        "0.50 to 2.00",
        "1 row: 1 dark, 1 object_out_of_view",
        "depth [m]",
        "110 (100 to 120)",
        "ghost",
        "Page: ",
    ):
        assert part in printed
    assert (run / "report.html").is_file()


def test_a_run_that_may_not_be_written_is_shown_without_a_page(run: Path, tmp_path: Path):
    (run / "report.html").mkdir()
    (run / "report.html" / "kept").touch()
    text = io.StringIO()
    inspect(run, Console(file=text, width=140))
    assert "12 in 2 shards" in text.getvalue()
    assert "No page was written" in text.getvalue() and "--page" in text.getvalue()
    inspect(run, Console(file=text, width=140), tmp_path / "elsewhere.html")
    assert (tmp_path / "elsewhere.html").stat().st_size > 10_000


def test_an_unfinished_run_shows_the_shards_that_are_whole(run: Path):
    manifest = read_manifest(run)
    planned = {"planned": {"shards": 3, "rows": 20}}
    write_draft(run, manifest.model_copy(update={"shards": [], "summary": planned}))
    (run / "manifest.json").unlink()
    for record in manifest.shards:
        note_shard(run, "basis", record)
    (run / "data" / shard_name(1)).write_bytes(b"cut")
    text = io.StringIO()
    inspect(run, Console(file=text, width=140))
    assert "Not finished: 8 of 20 rows, 1 of 3 shards" in text.getvalue()
    assert "8 in 1 shard" in text.getvalue()
    draft = run / "manifest.draft.json"
    draft.write_text(draft.read_text().replace('"rows": 20', '"rows": 21'))
    with pytest.raises(
        ReadError, match=r"draft\.json: damaged: .*command of the run writes it anew"
    ):
        inspect(run)


def test_names_cannot_steer_the_terminal(tmp_path: Path):
    row = make_row(0, "\x1b[31mfront[bold]", "mitsuba", gray=50, near=1.0)
    text = io.StringIO()
    inspect(write_run(tmp_path / "run", [[row]]), Console(file=text, width=140))
    assert "\x1b" not in text.getvalue()
    assert "[31mfront[bold]" in text.getvalue()


def test_an_unfinished_or_foreign_folder_is_refused_in_one_sentence(tmp_path: Path):
    for folder, told in ((tmp_path, r"manifest\.json"), (tmp_path / "absent", "no such folder")):
        with pytest.raises(ReadError, match=told):
            inspect(folder)
        assert not (folder / "report.html").exists()


def test_a_missing_cut_or_exchanged_shard_is_refused_by_name(run: Path):
    shard = run / "data" / shard_name(1)
    data = shard.read_bytes()
    shard.write_bytes((run / "data" / shard_name(0)).read_bytes())
    with pytest.raises(ReadError, match=r"train-00001\.parquet: it has 8 rows, .* says 4"):
        write_report(run)
    shard.write_bytes(data[:-100])
    with pytest.raises(ReadError, match=r"train-00001\.parquet: cannot be read"):
        write_report(run)
    shard.unlink()
    with pytest.raises(ReadError, match=r"train-00001\.parquet: .* missing"):
        write_report(run)
    assert not (run / "report.html").exists()


def test_a_shard_that_the_manifest_does_not_list_is_left_alone(run: Path):
    (run / "data" / shard_name(7)).write_bytes(b"not Parquet")
    assert run_statistics(run).rows == 12


def test_spread_takes_all_or_evenly_spaced_ones():
    assert spread(3, 5) == [0, 1, 2]
    assert spread(9, 3) == [1, 4, 7]
    assert spread(0, 3) == []
    for count in (7, 100, 1001):
        chosen = spread(count, 7)
        assert len(set(chosen)) == 7
        steps = np.diff(chosen)
        assert steps.max() - steps.min() <= 1


def test_shares_are_equal_but_for_small_groups_and_never_more_than_asked():
    assert shares([10, 10], 6) == [3, 3]
    assert shares([1, 10, 10], 9) == [1, 4, 4]
    assert shares([2, 2], 60) == [2, 2]
    assert shares([5] * 6, 3) == [0, 1, 0, 1, 0, 1]
    assert sum(shares([7, 0, 3, 50], 20)) == 20


def test_label_colors_are_stable_and_differ_between_neighbours():
    palette = [label_color(number) for number in range(65)]
    assert len(set(palette)) == 65
    distances = [np.abs(np.subtract(a, b)).sum() for a, b in itertools.pairwise(palette[1:])]
    assert min(distances) > 100
    labels = np.array([[0, 3], [3, 40000]], np.int32)
    assert label_picture(labels)[1, 0].tolist() == list(label_color(3))
    assert label_picture(labels)[1, 1].tolist() == list(label_color(40000))


def test_depth_colors_run_logarithmically_from_near_to_far():
    depth = np.array([[0.1, 1.0, 10.0, np.inf]], np.float32)
    picture = depth_picture(depth, 0.1, 10.0)[0]
    stops = dict(depth_stops())
    assert hex_color(tuple(picture[0].tolist())) == stops[0.0]
    assert hex_color(tuple(picture[2].tolist())) == stops[1.0]
    assert hex_color(tuple(picture[3].tolist())) == hex_color(label_color(0))
    middle = np.mean([[236, 122, 94], [176, 70, 128]], axis=0)
    np.testing.assert_allclose(picture[1], middle, atol=1)
    flat = depth_picture(np.ones((1, 2), np.float32), 1.0, 1.0)
    assert hex_color(tuple(flat[0, 0].tolist())) == stops[0.0]


def test_names_never_cover_each_other_or_leave_the_picture():
    objects = [
        ObjectRow(
            instance=i, name=f"bowl_{i}", class_name="bowl", x0=40, y0=40, x1=50 + i, y1=50 + i
        )
        for i in range(1, 30)
    ]
    boxes = drawn_boxes(objects, 100, 100, 5.0)
    assert len(boxes) == 29
    assert [box.name for box in boxes] == [f"bowl_{i}" for i in range(29, 0, -1)]
    places = [(*box.name_at, box.name_width) for box in boxes if box.name_at]
    assert 3 <= len(places) < 29
    for x, y, width in places:
        assert 0 <= x <= 100 - width
        assert 5 <= y <= 100
    for i, (x, y, width) in enumerate(places):
        for other_x, other_y, other_width in places[:i]:
            apart = x >= other_x + other_width or other_x >= x + width
            assert apart or abs(y - other_y) >= 5


def test_a_blown_row_tells_its_share_of_white_among_the_pixels_that_show_something(tmp_path: Path):
    row = make_row(0, "front", "mitsuba", gray=50, near=1.0)
    white = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    white[:, :4] = 254
    folder = write_run(tmp_path / "run", [[dataclasses.replace(row, rgb=white, flags=["blown"])]])
    assert "75% of the pixels are pure white" in Page(write_report(folder).read_text()).words
