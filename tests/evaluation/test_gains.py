"""Gains of coalitions: the definition word for word, pairing by seed, and the bounds of the least member."""

import math
import statistics as plain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.measures.gains import coalition_gain, exploitability_of, member_gains
from evaluation.measures.intervals import Estimate, SampleError, mean_estimate

POWERS = ("ENGLAND", "FRANCE", "TURKEY")


def random_games(seed: int, games: int) -> tuple[dict, dict]:
    """Self-play, and games in which some deviate."""
    rng = np.random.default_rng(seed)
    return tuple({power: rng.normal(mean, 1, games).tolist() for power in POWERS} for mean in (3, 4))


@given(st.integers(0, 1000), st.integers(1, 12), st.sampled_from([POWERS[:1], POWERS[1:], POWERS]))
def test_the_gain_is_the_least_mean_of_a_member(seed: int, games: int, coalition: tuple[str, ...]) -> None:
    baseline, deviating = random_games(seed, games)
    found = coalition_gain(baseline, deviating, coalition, 0, deviator="x")
    means = {power: plain.fmean(deviating[power]) - plain.fmean(baseline[power]) for power in coalition}
    assert {power: member.value for power, member in found.members.items()} == pytest.approx(means)
    assert found.gain.value == pytest.approx(min(means.values()))
    assert found.gain.value == pytest.approx(plain.fmean(found.gain.per_game))
    assert found.total.value == pytest.approx(sum(means.values()))
    assert (found.coalition, found.deviator, found.gain.n) == (coalition, "x", games)


def test_games_are_paired_by_seed() -> None:
    found = coalition_gain({"A": [1.0, 5.0, 9.0, 2.0, 4.0]}, {"A": [2.0, 6.0, 10.0, 3.0, 5.0]}, ("A",), 0)
    assert found.gain.per_game == (1.0,) * 5


def test_a_single_member_has_its_own_interval() -> None:
    baseline, deviating = random_games(3, 12)
    found = coalition_gain(baseline, deviating, ("FRANCE",), 7)
    alone = mean_estimate(np.subtract(deviating["FRANCE"], baseline["FRANCE"]), 7)
    assert (found.gain.low, found.gain.high) == (alone.low, alone.high)


@pytest.mark.parametrize("means", [(0.0, 0.0), (0.0, 0.5), (0.0, 3.0)])
def test_the_interval_of_the_least_member_covers_it(means: tuple[float, float]) -> None:
    rng, covered = np.random.default_rng(5), 0
    for _ in range(200):
        games = {power: rng.normal(mean, 1, 12) for power, mean in zip("AB", means, strict=True)}
        gain = coalition_gain({"A": np.zeros(12), "B": np.zeros(12)}, games, ("A", "B"), rng).gain
        covered += gain.low <= min(means) <= gain.high
    assert covered >= 182


def test_a_far_better_member_does_not_raise_the_bounds() -> None:
    rng = np.random.default_rng(0)
    games = {"A": rng.normal(0, 1, 20), "B": rng.normal(50, 1, 20)}
    zero = {"A": np.zeros(20), "B": np.zeros(20)}
    pair, alone = (coalition_gain(zero, games, who, 0).gain for who in (("A", "B"), ("A",)))
    assert pair.low == alone.low
    assert alone.high <= pair.high < alone.high + 0.5


def test_who_loses_may_keep_to_the_profile() -> None:
    assert exploitability_of(Estimate(-1.4, -2.0, -0.5, 6, (-1.0, -2.0))) == Estimate(0, 0, 0, 6, (-1.0, -2.0))
    assert exploitability_of(Estimate(0.4, -0.1, 0.9, 6, ())) == Estimate(0.4, 0, 0.9, 6, ())
    few = exploitability_of(Estimate(0.4, math.nan, math.nan, 2, ()))
    assert (few.value, few.has_interval) == (0.4, False)
    # An exploitability of 0 shows no range of losses.
    assert str(exploitability_of(Estimate(-1.0, math.nan, math.nan, 3, (-2.0, -0.5, -0.5)))) == "0.000 (n=3)"


def test_wrong_samples_are_refused() -> None:
    for baseline, deviating, coalition, words in [
        ({"A": [1.0, 2.0], "B": [1.0]}, {"A": [1.0], "B": [1.0]}, ("A", "B"), "one number per game"),
        ({"A": ["x"]}, {"A": [1.0]}, ("A",), "one number per game"),
        ({"A": [1.0]}, {"A": [math.nan]}, ("A",), "finite"),
        ({"A": [1.0, 2.0]}, {"A": [1.0]}, ("A",), "1 games, but 2 of self-play"),
    ]:
        with pytest.raises(SampleError, match=words):
            member_gains(baseline, deviating, coalition)


def test_a_least_member_whose_games_are_alike_has_the_bounds_of_the_others() -> None:
    games = {"A": np.ones(20), "B": 1.05 + np.random.default_rng(0).normal(0, 2, 20)}
    games["B"] += 1.05 - games["B"].mean()
    gain = coalition_gain({"A": np.zeros(20), "B": np.zeros(20)}, games, ("A", "B"), 0).gain
    assert gain.value == 1
    assert gain.low < 0.5 < gain.high == 1
    assert "alike" not in str(gain)
