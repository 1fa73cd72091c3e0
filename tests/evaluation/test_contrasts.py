"""Paired contrasts: signs, intervals that hold simultaneously, and how often equal policies seem to differ."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.experiments.compare import contrasts, differences, is_clear, pairs_of
from evaluation.measures.intervals import mean_estimate
from research.validation.contrasts import DRAWS, shares

games = st.lists(st.tuples(*[st.floats(-10, 10, width=16)] * 3), min_size=5, max_size=12)


def conditions(*columns: object) -> list:
    return [(f"policy {n}", {"m": mean_estimate(np.array(column, float), 0)}) for n, column in enumerate(columns)]


@settings(max_examples=30)
@given(games)
def test_the_difference_turns_with_the_order(rows: list[tuple[float, ...]]) -> None:
    first, second, third = np.array(rows).T
    there = differences({1: first, 2: first}, {1: second, 2: third}, 0, 2)
    back = differences({1: second, 2: third}, {1: first, 2: first}, 0, 2)
    for key, each in there.items():
        turned = [-back[key].value, -back[key].high, -back[key].low]
        assert [each.value, each.low, each.high] == pytest.approx(turned, nan_ok=True)
        assert each.value == pytest.approx(np.mean(second - first if key == 1 else third - first), abs=1e-9)


@settings(max_examples=30)
@given(games)
def test_several_intervals_are_wider_than_one(rows: list[tuple[float, ...]]) -> None:
    first, second, third = np.array(rows).T
    (alone,) = differences({0: first}, {0: second}, 0, 1).values()
    both = differences({0: first, 1: first}, {0: second, 1: third}, 0, 2)[0]
    assert str(alone) == str(mean_estimate(second - first, 0))
    assert not alone.has_interval or (both.low <= alone.low <= alone.value <= alone.high <= both.high)


def test_equal_conditions_have_no_difference() -> None:
    values = np.random.default_rng(0).normal(size=20)
    (contrast,) = contrasts(conditions(values, values * (1 + 1e-15)), [(0, 1)], 0)
    assert set(contrast.difference.per_game) == {0}
    assert not contrast.is_clear


@pytest.mark.parametrize("draw", DRAWS, ids=str)
def test_equal_policies_rarely_seem_to_differ(draw: str) -> None:
    repetitions = 60
    together, alone = shares(DRAWS[draw], 10, False, repetitions)
    assert together <= 0.05 + 2 * (0.05 * 0.95 / repetitions) ** 0.5
    assert together <= alone
    assert alone > 0.1 or "10%" in draw  # what the intervals guard against


@pytest.mark.parametrize(
    ("values", "comparisons", "clear"),
    [
        ([1.0] * 5, 1, False), ([1.0] * 6, 1, True), ([-1.0] * 6, 1, True), ([1.0] * 6, 2, False),
        ([0.0] * 20, 1, False), ([1.0, 2, 3], 1, False), ([-1.0, -1.1, -1.2, -1.0, -1.3], 1, True),
        ([-1.0, 1, 0, 0, 1], 1, False),
    ],
)  # fmt: skip
def test_what_is_clear(values: list[float], comparisons: int, clear: bool) -> None:
    assert is_clear(mean_estimate(values, 0), comparisons) == clear


def test_which_pairs() -> None:
    assert pairs_of(4, False) == [(0, 1), (0, 2), (0, 3)]
    assert pairs_of(3, True) == [(0, 1), (0, 2), (1, 2)]
