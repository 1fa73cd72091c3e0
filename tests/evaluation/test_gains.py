"""Gains of coalitions: the definition word for word, pairing by seed, the least member; and the choice of an attack."""

import math
import statistics as plain
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.measures.gains import (
    FINALISTS,
    Selection,
    choose_at_once,
    coalition_gain,
    exploitability_of,
    member_gains,
    rounds,
)
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


# Successive halving: a choice on some games says nothing false about others


class Noisy:
    """Candidates with normal gains, and what was asked of them."""

    def __init__(self, means: Sequence[float], seed: int = 0, spread: float = 1.0) -> None:
        self.means, self.spread, self.rng = means, spread, np.random.default_rng(seed)
        self.asked: list[tuple[list[int], range]] = []

    def __call__(self, candidates: Sequence[int], numbers: range) -> list[np.ndarray]:
        self.asked.append((list(candidates), numbers))
        return [self.means[each] + self.spread * self.rng.normal(size=(len(numbers), 1)) for each in candidates]


def test_the_best_is_found_among_many() -> None:
    play = Noisy([0.0] * 150 + [3.0] + [0.0] * 149)
    found = choose_at_once(300, play, 3)
    assert found.best == 150
    assert found.contenders == (150,)
    assert [len(candidates) for candidates, _ in play.asked] == [300, 75, 19, 5, 4]


def test_games_are_numbered_through_and_double() -> None:
    play = Noisy(np.linspace(0, 9, 40).tolist())
    found = choose_at_once(40, play, 2)
    assert [(len(who), numbers) for who, numbers in play.asked] == [
        (40, range(2)),
        (10, range(2, 4)),
        (FINALISTS, range(4, 8)),
    ]
    assert sorted(set(found.games)) == [2, 4, 8]
    assert sum(found.games) == sum(len(who) * len(numbers) for who, numbers in play.asked)
    assert [(number, numbers) for number, numbers in rounds(40, 2)] == [(len(w), n) for w, n in play.asked]


def test_means_are_of_all_games_of_a_candidate() -> None:
    given = {0: [[1.0], [3.0]], 1: [[0.0], [0.5]]}
    found = choose_at_once(2, lambda who, numbers: [np.array(given[each]) for each in who], 2)
    assert found == Selection(0, (0,), (2.0, 0.25), (2, 2))


def test_the_least_member_counts() -> None:
    given = {0: [[9.0, 0.0], [9.0, 0.0]], 1: [[1.0, 1.0], [1.0, 1.0]]}
    found = choose_at_once(2, lambda who, numbers: [np.array(given[each]) for each in who], 2)
    assert (found.best, found.means) == (1, (0.0, 1.0))


def test_who_is_clearly_worse_is_no_contender() -> None:
    found = choose_at_once(3, Noisy([0.0, 0.05, -9.0]), 20)
    assert set(found.contenders) == {0, 1}
    assert found.contenders[0] == found.best


def test_with_one_game_nobody_is_clearly_worse() -> None:
    assert len(choose_at_once(3, Noisy([0.0, 5.0, -9.0]), 1).contenders) == 3


def test_leaders_of_groups() -> None:
    found = Selection(2, (2,), (1.0, 0.5, 3.0, -1.0, -2.0), (2,) * 5)
    assert found.leaders(["a", "a", "b", "c", "c"]) == [0, 2, 3]


def test_equals_are_taken_in_their_order() -> None:
    found = choose_at_once(9, Noisy([0.0] * 9, spread=0), 2)
    assert found.best == 0
    assert found.contenders == (0, 1, 2, 3)
