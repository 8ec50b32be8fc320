import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from scipy.stats import truncnorm

from randomizers import Numbers, parse_distribution

FINITE = st.floats(-1e6, 1e6)
ADAPTER = TypeAdapter(Numbers)


def rng(seed=0):
    return np.random.default_rng(seed)


def draws(data, count=20000):
    return parse_distribution(data).draw(rng(), count)


def test_numbers_and_lists_are_constants():
    assert parse_distribution(0.5).draw(rng()) == 0.5
    np.testing.assert_array_equal(parse_distribution(2).draw(rng(), 3), [2, 2, 2])
    np.testing.assert_array_equal(parse_distribution([1, 2]).draw(rng()), [1, 2])
    assert parse_distribution({"constant": -1}).draw(rng()) == -1


def test_uniform_has_the_mean_and_variance_of_a_uniform():
    values = draws({"uniform": [-1, 3]})

    assert values.mean() == pytest.approx(1, abs=0.03)
    assert values.var() == pytest.approx(16 / 12, rel=0.03)
    assert values.min() >= -1 and values.max() < 3


def test_loguniform_is_uniform_in_the_logarithm():
    values = draws({"loguniform": [0.1, 10]})

    assert np.log10(values).mean() == pytest.approx(0, abs=0.02)
    assert np.mean(values < 1) == pytest.approx(0.5, abs=0.02)
    assert values.min() >= 0.1 and values.max() <= 10


def test_normal_has_its_mean_and_deviation():
    values = draws({"normal": {"mean": 2, "std": 0.5}})

    assert values.mean() == pytest.approx(2, abs=0.02)
    assert values.std() == pytest.approx(0.5, rel=0.03)


@pytest.mark.parametrize("clip", [(-1, 1), (0.5, 3), (-6, -3), (4, 7)])
def test_clip_truncates_the_bell_and_piles_nothing_up_at_the_bounds(clip):
    values = draws({"normal": {"mean": 0, "std": 1}, "clip": list(clip)})
    bell = NormalDist()
    low, high = clip
    mass = bell.cdf(high) - bell.cdf(low)
    mean = (bell.pdf(low) - bell.pdf(high)) / mass

    assert values.min() >= low and values.max() <= high
    assert np.isin(values, clip).sum() == 0
    assert values.mean() == pytest.approx(mean, abs=0.02)


@pytest.mark.parametrize("clip", [(-1, 1), (0.5, 3), (-3, -0.5), (-1, 4), (4, 7)])
def test_truncated_normal_is_the_quantile_of_the_share_that_is_drawn(clip):
    shares = rng(7).random(200)
    values = parse_distribution({"normal": {"mean": 2, "std": 3}, "clip": list(clip)}).draw(
        rng(7), 200
    )
    a, b = ((bound - 2) / 3 for bound in clip)

    np.testing.assert_allclose(values, truncnorm.ppf(shares, a, b, loc=2, scale=3), atol=1e-9)


def test_choice_takes_each_value_as_often():
    values = draws({"choice": [1, 2, 5]})

    assert set(values) == {1, 2, 5}
    assert np.mean(values == 5) == pytest.approx(1 / 3, abs=0.02)


def test_chosen_vectors_stay_whole():
    choice = parse_distribution({"choice": [[1, 2, 3], [4, 5, 6]]})

    assert {tuple(choice.draw(rng(k), 3)) for k in range(20)} == {(1, 2, 3), (4, 5, 6)}


def test_components_are_drawn_independently():
    x, y = parse_distribution({"uniform": [0, 1]}).draw(rng(), 2)
    vector = parse_distribution({"uniform": [[0, 10], [1, 11]]}).draw(rng())

    assert x != y
    assert 0 <= vector[0] < 1 and 10 <= vector[1] < 11


def test_a_vector_of_another_length_is_refused():
    with pytest.raises(ValueError, match="draws 2 components, 3 are needed"):
        parse_distribution([1, 2]).draw(rng(), 3)


@given(FINITE, FINITE, st.integers(0, 2**32))
def test_uniform_never_leaves_its_bounds(a, b, seed):
    low, high = sorted((a, b))
    value = parse_distribution({"uniform": [low, high]}).draw(rng(seed))

    assert low <= value <= high


@given(st.floats(-8, 8), st.floats(0, 5), st.floats(1e-3, 1e3), st.integers(0, 2**32))
def test_truncated_normal_never_leaves_its_bounds(start, length, std, seed):
    low = start * std * 0.99
    high = low + length * std
    data = {"normal": {"mean": 0, "std": std}, "clip": [low, high]}
    if high < -8 * std:
        return
    value = parse_distribution(data).draw(rng(seed))

    assert low <= value <= high


@pytest.mark.parametrize(
    "data",
    [
        0.25,
        [0.0, 1.0],
        {"uniform": [-1, 2]},
        {"uniform": [[0, 0], [1, 2]]},
        {"loguniform": [0.5, 2]},
        {"normal": {"mean": 0, "std": 1}},
        {"normal": {"mean": [0, 1], "std": 1}, "clip": [-1, 2]},
        {"choice": [1, 2]},
        {"choice": [[1, 2], [3, 4]]},
    ],
)
def test_written_and_read_back_it_is_the_same(data):
    distribution = ADAPTER.validate_python(data)

    assert ADAPTER.validate_json(ADAPTER.dump_json(distribution)) == distribution


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"uniforn": [0, 1]},
            "'uniforn' is not a distribution. Known: choice, constant, loguniform, normal, "
            "uniform. Did you mean 'uniform'?",
        ),
        ({"uniform": [1, 0]}, "uniform: low 1.0 is above high 0.0"),
        ({"uniform": [[0, 2], [1, 1]]}, "uniform: low 2.0 is above high 1.0"),
        ({"uniform": 3}, "uniform needs [low, high], not 3"),
        ({"uniform": [0, math.inf]}, "uniform: inf is not finite"),
        ({"uniform": [[0, 1], [1, 2, 3]]}, "mixes vectors of 2 and 3 components"),
        ({"loguniform": [0, 1]}, "loguniform needs bounds above 0, not 0.0"),
        ({"normal": {"mean": 0, "std": -1}}, "std should be at least 0, not -1.0"),
        ({"normal": {"mean": 0}}, "normal needs {mean: m, std: s}, not {'mean': 0}"),
        ({"normal": {"mean": 0, "std": 1}, "clip": [9, 10]}, "clip [9.0, 10.0] lies more than 8"),
        ({"normal": {"mean": 0, "std": 0}, "clip": [1, 2]}, "clip [1.0, 2.0] lies more than 8"),
        ({"uniform": [0, 1], "clip": [0, 1]}, "clip goes with normal only"),
        ({"uniform": [0, 1], "choice": [1]}, "should be exactly one of choice, constant"),
        ({}, "should be exactly one of"),
        ({"choice": []}, "choice needs a list of values, not []"),
        ({"choice": [1, [1, 2]]}, "choice mixes numbers and vectors"),
        (math.nan, "value: nan is not finite"),
        (True, "value: True is not a number"),
        ("1e-3", "value: '1e-3' is not a number (YAML takes 1e-3 for text, 1.0e-3 for a number)"),
        ("red", "value: 'red' is not a number"),
        (None, "value: None is not a number"),
    ],
)
def test_what_is_no_distribution_is_refused_with_what_is_allowed(data, message):
    with pytest.raises(ValidationError) as error:
        ADAPTER.validate_python(data)

    assert message in str(error.value)
