from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from chromium import Page, open_page

from datagen.audit.config import AuditConfig, flat
from datagen.audit.diagnose.findings import Finding
from datagen.audit.pages.page import page_text, write_page
from datagen.audit.pages.pictures import SCALES, difference_picture, heat_picture
from datagen.audit.pages.tables import columns_of, finding_groups
from datagen.audit.pages.terminal import failure_lines, finding_lines, metric_lines
from datagen.audit.pages.wording import limits_text, number_text
from datagen.audit.results import AuditResults, AuditView, Picture, SceneCaveats, StoredRow
from datagen.audit.thresholds import Verdict, judge
from datagen.report.embedding import photo

THRESHOLDS = flat(AuditConfig().thresholds)
CAMERAS = ("agentview", "robot0_eye_in_hand")


def picture(seed: int) -> Picture:
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)
    return Picture(photo(np.kron(blocks, np.ones((8, 8, 1), np.uint8)), 64))


PICTURES = {
    name: picture(seed) for seed, name in enumerate(("reference", "candidate", "difference"))
} | {"flip": Picture(picture(3).webp, 1.0)}


def view(number: int, *, agreement: float = 1.0, findings: tuple[Finding, ...] = ()) -> AuditView:
    camera = CAMERAS[number % 2]
    metrics = {"ids.agreement": agreement, "rgb.psnr": 25.0, "light.psnr": 35.0}
    objects = {
        name: {"pixels_reference": 90.0, "pixels_candidate": 91.0, "iou": 0.99, "hue_deg": 1.0}
        for name in ("bowl", "<b>plate</b>")
    }
    return AuditView(
        scene_id=f"scene_{number // 4}",
        episode=number,
        frame=0,
        camera=camera,
        reference="mujoco",
        candidate="mitsuba",
        width=64,
        height=64,
        metrics=metrics,
        objects=objects,
        findings=findings,
        verdicts=judge(metrics, objects, THRESHOLDS, camera, "mitsuba"),
        notes=("a note about <this> view",),
        pictures=PICTURES,
    )


SHIFT = Finding("pixel_shift", "camera agentview", 0.5, "px", "Shifted by half a pixel.")


def results(count: int = 8, full_views: int = 4) -> AuditResults:
    views = [view(number) for number in range(count)]
    views[5] = view(5, agreement=0.5)
    views[6] = view(6, findings=(SHIFT,))
    return AuditResults(
        kind="backends",
        title="a & b",
        reference="mujoco",
        candidates=("mitsuba",),
        thresholds=THRESHOLDS,
        views=tuple(views),
        caveats=(
            SceneCaveats(
                "scene_1",
                {"bowl": ("bowl shows a box proxy",)},
                {"light": ("lights: no falloff",)},
                (),
            ),
        ),
        versions={"mujoco": "3.17.0"},
        changes=("mujoco 3.16.0, now 3.17.0",),
        full_views=full_views,
    )


def test_the_page_is_one_file_that_names_no_address() -> None:
    text = page_text(results())
    assert not re.search(r"(src|href)=\"(?!data:|#)", text)
    assert not re.search(r"https?://", text)
    assert "<b>plate</b>" not in text
    assert "a note about &lt;this&gt; view" in text
    assert text == page_text(results())


def test_worst_views_are_in_full_size_and_all_others_in_small() -> None:
    text = page_text(results(count=8, full_views=2))
    assert re.findall(r'class="view full[^"]*" id="(view-\d+)"', text) == ["view-5", "view-6"]
    assert len(re.findall(r'class="view small', text)) == 6
    assert len(re.findall(r"<tr data-scene", text)) == 8


def test_500_views_make_a_page_of_bounded_size(tmp_path: Path) -> None:
    path = write_page(results(count=500, full_views=40), tmp_path)
    assert path.name == "audit.html"
    assert path.stat().st_size < 20e6


def test_families_of_metrics_that_a_view_fails_come_first() -> None:
    made = results()
    columns = columns_of(made)
    first = {column.family for column in columns if column.failing}
    in_front = [column.family in first for column in columns]
    assert in_front[0] and not in_front[-1]
    assert in_front == sorted(in_front, reverse=True)
    families = [column.family for column in columns]
    # Each family stands in one piece, as the header has one cell for it.
    assert [f for f, before in zip(families[1:], families, strict=False) if f != before] == list(
        dict.fromkeys(families)
    )[1:]
    assert columns[0].failing


def test_an_object_that_fails_a_view_is_seen_in_the_table() -> None:
    made = results()
    dark = Verdict("objects.luminance_ratio", "bowl", 0.2, 0.5, 2.0, False)
    fair = Verdict("objects.luminance_ratio", "plate", 1.1, 0.5, 2.0, True)
    views = list(made.views)
    views[2] = dataclasses.replace(views[2], verdicts=(*views[2].verdicts, fair, dark))
    made = dataclasses.replace(made, views=tuple(views))
    (column,) = [each for each in columns_of(made) if each.metric == "objects.luminance_ratio"]
    assert column.failing == 1
    text = page_text(made)
    assert re.search(r'title="objects.luminance_ratio of bowl 0.2; allowed[^"]*" class="fail', text)


def test_caveats_stand_beside_the_numbers_they_touch() -> None:
    text = page_text(results())
    marked = re.findall(r'<td title="([^"]*)" class="pass caveat[^"]*">35.0</td>', text)
    assert len(marked) == 4
    assert all("lights: no falloff" in title for title in marked)
    assert 'bowl<br><small class="caveats">bowl shows a box proxy</small>' in text


def test_rows_that_could_not_be_made_again_are_listed() -> None:
    rows = (StoredRow("a/0", ()), StoredRow("a/1", ("rgb: 3 of 9 pixels differ, by up to 1",)))
    audited = dataclasses.replace(results(), stored=rows)
    text = page_text(audited)
    assert "<code>a/1</code>: rgb: 3 of 9 pixels differ, by up to 1" in text
    assert "row a/1: rgb: 3 of 9 pixels differ, by up to 1" in failure_lines(audited)


def test_the_terminal_says_what_failed_and_where() -> None:
    assert failure_lines(results()) == [
        "scene_1/5/0/robot0_eye_in_hand: ids.agreement: 50 %, allowed >= 99.8 %"
    ]
    (line,) = finding_lines(results())
    assert line.startswith("pixel_shift, camera agentview: Shifted by half a pixel. (1 view, such")
    table = metric_lines(results())
    assert any(re.fullmatch(r"ids\.agreement +50 % +>= 99\.8 % +1", row) for row in table)


def test_findings_fail_a_view_unless_they_are_only_noted() -> None:
    audited = results()
    assert [each.episode for each in audited.failed_views] == [5, 6]
    noted = dataclasses.replace(audited, findings_fail=False)
    assert [each.episode for each in noted.failed_views] == [5]


def test_findings_of_one_culprit_stand_together() -> None:
    smaller = dataclasses.replace(SHIFT, size=0.25)
    views = (view(0, findings=(smaller,)), view(2, findings=(SHIFT,)))
    (group,) = finding_groups(dataclasses.replace(results(), views=views))
    assert (group.finding, group.views) == (SHIFT, (0, 1))


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("ids.agreement", 0.99963, "99.963"),
        ("ids.agreement", 1.0, "100"),
        ("ids.interior_misses", 3.0, "3"),
        ("depth.median", 2.4e-7, "2.4e-7"),
        ("rgb.psnr", float("inf"), "∞"),
        ("rgb.luminance_ratio", 1.0123, "1.012"),
        ("light.ssim", float("nan"), "none"),
    ],
)
def test_numbers_are_written_as_people_read_them(metric: str, value: float, text: str) -> None:
    assert number_text(metric, value) == text


def test_limits_name_one_end_or_both() -> None:
    assert limits_text("ids.agreement", 0.999, None) == ">= 99.9"
    assert limits_text("depth.p999", None, 1e-5) == "<= 1.0e-5"
    assert limits_text("rgb.luminance_ratio", 0.97, 1.03) == "0.970 to 1.030"


def test_difference_is_amplified_four_times_and_clipped() -> None:
    left = np.array([[[10, 100, 0]]], np.uint8)
    right = np.array([[[12, 0, 0]]], np.uint8)
    assert difference_picture(left, right).tolist() == [[[8, 255, 0]]]


def test_equal_depth_errors_have_equal_colours_whatever_else_a_map_holds() -> None:
    assert SCALES["depth.difference"] == 1e-3
    small, large = np.full((4, 4), 5e-4, np.float32), np.full((4, 4), 5e-4, np.float32)
    large[0, 0] = 1.0
    pictures = [heat_picture(each, SCALES["depth.difference"]) for each in (small, large)]
    np.testing.assert_array_equal(pictures[0][1:], pictures[1][1:])
    np.testing.assert_array_equal(pictures[1][0, 0], heat_picture(np.ones((1, 1)), 1.0)[0, 0])


def test_heat_grows_lighter_up_to_the_greatest_value() -> None:
    colors = heat_picture(np.array([[0.0, -0.5, 1.0, 2.0, np.nan]]), 1.0).sum(axis=-1)[0]
    assert colors[0] == colors[4] < colors[1] < colors[2] == colors[3]


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with open_page() as page:
        yield page


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(results(), tmp_path_factory.mktemp("page"))


SHOWN = "[...document.querySelectorAll('{}')].filter((each) => !each.hidden).length"
ROWS = SHOWN.format("#summary tbody tr")
VIEWS = SHOWN.format(".view")


def choose(page: Page, control: str, value: str) -> None:
    page.run(
        f"{{const c = document.getElementById('{control}'); c.value = '{value}';"
        "c.dispatchEvent(new Event('change')); }"
    )


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_it_loads_without_complaint_and_asks_for_nothing(
    browser: Page, file: Path, width: int
) -> None:
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(file, width)
    assert browser.run("document.querySelector('#shown-count').textContent") == "8 of 8 views"
    broken = "[...document.images].filter((i) => i.complete && !i.naturalWidth && i.src).length"
    assert browser.run(broken) == 0
    assert browser.run("document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.complaints == []
    assert [url for url in browser.requests if not url.startswith(("data:", "file:"))] == []


@pytest.mark.browser
def test_the_slider_moves_by_key_and_by_mouse(browser: Page, file: Path) -> None:
    browser.open(file)
    at = "document.querySelector('.stage').style.getPropertyValue('--at')"
    assert browser.run(at) == "50%"
    browser.run("document.querySelector('.compare input').focus()")
    browser.key("ArrowRight", 39)
    assert browser.run(at) == "51%"
    clip = "getComputedStyle(document.querySelector('.stage .over')).clipPath"
    assert browser.run(clip) == "inset(0px 0px 0px 51%)"
    browser.run("document.querySelector('.stage').scrollIntoView({block: 'center'})")
    x, y, wide = browser.run(
        "(({x, y, width}) => [x, y, width])"
        "(document.querySelector('.stage').getBoundingClientRect())"
    )
    browser.mouse("mousePressed", x + wide / 4, y + 5)
    browser.mouse("mouseReleased", x + wide / 4, y + 5)
    assert abs(float(browser.run(at).rstrip("%")) - 25) <= 1


@pytest.mark.browser
def test_the_slider_compares_any_two_pictures(browser: Page, file: Path) -> None:
    browser.open(file)
    sources = "[...document.querySelector('.view').querySelectorAll('{} img')].map((i) => i.src)"
    figures = browser.run(sources.format(".shots"))
    assert browser.run(sources.format(".stage")) == figures[:2]
    browser.run(
        "{const s = document.querySelectorAll('.view .compare select')[1];"
        "s.value = 3; s.dispatchEvent(new Event('change'));}"
    )
    assert browser.run(sources.format(".stage")) == [figures[0], figures[3]]


@pytest.mark.browser
@pytest.mark.parametrize(
    ("control", "value", "count"),
    [
        ("only-scene", "scene_1", 4),
        ("only-camera", "agentview", 4),
        ("only-backend", "mitsuba", 8),
        ("only-metric", "ids.agreement", 1),
        ("only-metric", "findings", 1),
    ],
)
def test_the_filters_filter(
    browser: Page, file: Path, control: str, value: str, count: int
) -> None:
    browser.open(file)
    choose(browser, control, value)
    assert (browser.run(ROWS), browser.run(VIEWS)) == (count, count)
    assert browser.run("document.querySelector('#shown-count').textContent").startswith(f"{count} ")
    choose(browser, control, "")
    assert browser.run(VIEWS) == 8


@pytest.mark.browser
def test_only_failing_views_can_be_shown(browser: Page, file: Path) -> None:
    browser.open(file)
    browser.run("document.querySelector('#only-failing').click()")
    assert browser.run(VIEWS) == 2
    choose(browser, "only-camera", CAMERAS[0])
    assert browser.run(VIEWS) == 1


@pytest.mark.browser
def test_500_views_open_and_filter(browser: Page, tmp_path: Path) -> None:
    file = write_page(results(count=500, full_views=40), tmp_path)
    browser.open(file)
    choose(browser, "only-scene", "scene_100")
    assert browser.run(VIEWS) == 4
