from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from datagen.labels.boxes import box_around, extent, pixel_counts, tight_boxes


def test_tight_boxes_are_half_open() -> None:
    ids = np.zeros((6, 8), np.int32)
    ids[2, 3] = 1
    ids[4:6, 5:8] = 2
    assert tight_boxes(ids, 3) == {1: (3, 2, 4, 3), 2: (5, 4, 8, 6)}
    np.testing.assert_array_equal(pixel_counts(ids, 3), [41, 1, 6, 0])


def test_a_number_without_a_pixel_has_no_box() -> None:
    assert tight_boxes(np.zeros((4, 4), np.int32), 5) == {}


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_tight_boxes_are_the_smallest_that_hold_all_pixels(
    height: int, width: int, seed: int
) -> None:
    ids = np.random.default_rng(seed).integers(0, 6, (height, width)).astype(np.int32)
    boxes = tight_boxes(ids, 5)
    assert set(boxes) == set(np.unique(ids)) - {0}
    for number, (x0, y0, x1, y1) in boxes.items():
        rows, columns = np.nonzero(ids == number)
        assert (rows.min(), rows.max() + 1, columns.min(), columns.max() + 1) == (y0, y1, x0, x1)


def test_a_turned_part_reaches_as_far_as_its_corners() -> None:
    corners = np.array(np.meshgrid([-1, 1], [-2, 2], [-3, 3])).reshape(3, 8).astype(np.float64)
    turn = np.array([[0.0, -1, 0, 5], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(extent(corners, turn), [[3, -1, -3], [7, 1, 3]])


def test_a_box_around_parts_has_the_centre_and_size_of_their_hull() -> None:
    box = box_around([np.array([[0.0, 0, 0], [1, 1, 1]]), np.array([[2.0, -1, 0], [3, 0, 0.5]])])
    np.testing.assert_array_equal(box.center, [1.5, 0, 0.5])
    np.testing.assert_array_equal(box.size, [3, 2, 1])
