import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PIL import Image

from writers import (
    ReadError,
    WriteError,
    decode_depth_mm,
    decode_labels,
    decode_rgb,
    encode_depth_mm,
    encode_labels,
    encode_rgb,
    label_bits,
)

SIZES = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=17)
PICTURE_SIZES = SIZES.map(lambda shape: (*shape, 3))


@settings(max_examples=50, deadline=None)
@given(arrays(np.uint8, PICTURE_SIZES), st.sampled_from(["webp", "png"]))
def test_pictures_come_back_without_loss(rgb, codec):
    np.testing.assert_array_equal(decode_rgb(encode_rgb(rgb, codec)), rgb)


@settings(max_examples=50, deadline=None)
@given(arrays(np.int32, SIZES, elements=st.integers(0, 255)))
def test_label_maps_of_8_bits_come_back(ids):
    data = encode_labels(ids, 8)
    decoded = decode_labels(data)
    assert decoded.dtype == np.int32
    np.testing.assert_array_equal(decoded, ids)
    assert Image.open(io.BytesIO(data)).mode == "L"


@settings(max_examples=50, deadline=None)
@given(arrays(np.int32, SIZES, elements=st.integers(0, 65535)))
def test_label_maps_of_16_bits_come_back(ids):
    data = encode_labels(ids, 16)
    np.testing.assert_array_equal(decode_labels(data), ids)
    assert Image.open(io.BytesIO(data)).mode == "I;16"


def test_the_top_row_of_a_picture_stays_at_the_top():
    rgb = np.zeros((4, 6, 3), np.uint8)
    rgb[0, 1] = (10, 20, 30)
    for codec in ("webp", "png"):
        image = Image.open(io.BytesIO(encode_rgb(rgb, codec)))
        assert image.size == (6, 4)
        assert image.getpixel((1, 0)) == (10, 20, 30)


@pytest.mark.parametrize(("bits", "number"), [(8, 256), (8, -1), (16, 65536), (16, -3)])
def test_a_number_that_does_not_fit_is_refused(bits, number):
    ids = np.zeros((2, 2), np.int32)
    ids[1, 0] = number
    with pytest.raises(WriteError, match=f"number {number} does not fit .* {bits} bits"):
        encode_labels(ids, bits)


def test_label_bits_are_the_fewest_that_hold_the_run():
    assert [label_bits(n) for n in (0, 255, 256, 65535)] == [8, 8, 16, 16]
    with pytest.raises(WriteError, match="65536"):
        label_bits(65536)


def test_millimetres_are_rounded_and_zero_where_unknown():
    depth = np.array([[1.2344, 1.2346, np.inf], [65.535, 65.6, 0.0004]], np.float32)
    image = Image.open(io.BytesIO(encode_depth_mm(depth)))
    assert image.mode == "I;16"
    np.testing.assert_array_equal(np.asarray(image), [[1234, 1235, 0], [65535, 0, 0]])


def test_millimetres_come_back_as_metres():
    depth = np.array([[0.5, np.inf, 2.25]], np.float32)
    np.testing.assert_array_equal(decode_depth_mm(encode_depth_mm(depth)), depth)


def test_bytes_that_are_no_picture_are_refused():
    with pytest.raises(ReadError, match="cannot be decoded"):
        decode_rgb(b"not a picture")
    whole = encode_rgb(np.full((32, 32, 3), 7, np.uint8), "png")
    with pytest.raises(ReadError, match="cannot be decoded"):
        decode_rgb(whole[: len(whole) // 2])
    with pytest.raises(ReadError, match="mode RGB"):
        decode_labels(whole)


def test_a_picture_too_large_for_webp_names_the_other_codec():
    with pytest.raises(WriteError, match=r"16384x1\..*'png'"):
        encode_rgb(np.zeros((1, 16384, 3), np.uint8), "webp")
