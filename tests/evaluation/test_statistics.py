"""Intervals: known answers, exact enumeration, independent recomputation and coverage by simulation."""

import itertools
import math
import random
import statistics as plain
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import statistics as ours
from evaluation.statistics import (
    Estimate,
    SampleError,
    bootstrap_distribution,
    difference_estimate,
    exploitability_estimate,
    mean_estimate,
    statistic_estimate,
)

pytestmark = pytest.mark.filterwarnings("error")

METHODS = ["percentile", "bca"]
GAMES = st.lists(st.integers(0, 60).map(lambda points: points / 10), min_size=2, max_size=6)


def plain_exploitability(
    baseline: dict[str, list[float]], deviating: dict[tuple[str, ...], dict[str, list[float]]]
) -> float:
    """The definition, word for word."""
    gains = []
    for coalition, games in deviating.items():
        gains.append(min(plain.fmean(games[i]) - plain.fmean(baseline[i]) for i in coalition))
    return max(gains)


def random_games(seed: int, games: int = 5) -> tuple[dict, dict]:
    """Self-play and the games of two single deviators and one pair."""
    rng = np.random.default_rng(seed)
    powers = ("ENGLAND", "FRANCE", "TURKEY")
    draw = {power: rng.normal(3, 1, games).tolist() for power in powers}
    coalitions = (("ENGLAND",), ("FRANCE",), ("TURKEY", "ENGLAND"))
    return draw, {c: {power: rng.normal(4, 1, games).tolist() for power in powers} for c in coalitions}


class TestEstimate:
    def test_prints_value_and_interval(self) -> None:
        estimate = Estimate(4.8431, 4.61, 5.0006, 5, (4.0, 5.0))
        assert str(estimate) == "4.843 [4.610, 5.001]"
        assert f"{estimate:.1f}" == "4.8 [4.6, 5.0]"
        assert estimate.has_interval

    def test_says_that_there_is_no_interval(self) -> None:
        estimate = mean_estimate([4.8431], 0)
        assert (estimate.value, estimate.n, estimate.per_game) == (4.8431, 1, (4.8431,))
        assert not estimate.has_interval
        assert str(estimate) == "4.843 [no interval, n=1]"


@pytest.mark.parametrize("method", METHODS)
class TestMean:
    def test_of_equal_games_is_certain(self, method: str) -> None:
        assert str(mean_estimate([(5**6 * 4) ** (1 / 7)] * 5, 0, method=method)) == "4.843 [4.843, 4.843]"
        noisy = mean_estimate([0.1 + 0.2, 0.3, 0.3], 0, method=method)
        assert noisy.low == noisy.value == noisy.high

    @pytest.mark.parametrize(
        "games",
        [[1, 2], [0, 0, 1], [0, 1, 1, 1], [3.025, 3.0601, 3.5784, 3.1693, 3.4773], [0, 0, 0, 0, 9], [1e-6, 2e-6]],
    )
    def test_of_few_games_has_sensible_bounds(self, method: str, games: list[float]) -> None:
        estimate = mean_estimate(games, 0, method=method)
        assert min(games) - 1e-9 <= estimate.low < estimate.value < estimate.high <= max(games) + 1e-9
        assert estimate.n == len(games)

    def test_undefined_games_make_it_undefined(self, method: str) -> None:
        estimate = mean_estimate([1.0, math.nan, 2.0], 0, method=method)
        assert math.isnan(estimate.value)
        assert not estimate.has_interval

    def test_same_seed_same_interval(self, method: str) -> None:
        games = [1.0, 2.0, 4.0, 8.0, 16.0]
        assert mean_estimate(games, 7, method=method) == mean_estimate(games, np.random.default_rng(7), method=method)
        assert mean_estimate(games, 7, method=method) != mean_estimate(games, 8, method=method)

    @given(games=GAMES)
    def test_bounds_move_with_the_games(self, method: str, games: list[float]) -> None:
        estimate = mean_estimate(games, 0, method=method, resamples=200)
        moved = mean_estimate([10 + 3 * points for points in games], 0, method=method, resamples=200)
        assert min(games) - 1e-9 <= estimate.low <= estimate.high <= max(games) + 1e-9
        for before, after in [(estimate.value, moved.value), (estimate.low, moved.low), (estimate.high, moved.high)]:
            assert after == pytest.approx(10 + 3 * before)

    def test_covers_the_true_mean(self, method: str) -> None:
        rng = np.random.default_rng(1)
        estimates = [mean_estimate(rng.gamma(4.0, size=40), rng, method=method, resamples=400) for _ in range(300)]
        covered = plain.fmean(estimate.low <= 4 <= estimate.high for estimate in estimates)
        assert 0.90 <= covered <= 0.98

    def test_few_games_cover_less_as_documented(self, method: str) -> None:
        rng = np.random.default_rng(2)
        estimates = [mean_estimate(rng.normal(size=5), rng, method=method, resamples=400) for _ in range(400)]
        assert plain.fmean(estimate.low <= 0 <= estimate.high for estimate in estimates) == pytest.approx(
            0.84, abs=0.05
        )

    @pytest.mark.parametrize("games", [[], 3.0, [[1.0, 2.0]]])
    def test_needs_one_number_a_game(self, method: str, games: object) -> None:
        with pytest.raises(SampleError, match="shape"):
            mean_estimate(games, 0, method=method)


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(SampleError, match="'jackknife': choose one of percentile, bca"):
        mean_estimate([1.0, 2.0], 0, method="jackknife")


class TestDifference:
    def test_of_independent_games(self) -> None:
        estimate = difference_estimate([5.0, 6.0, 7.0], [1.0, 2.0], 0)
        assert estimate.value == 4.5
        assert estimate.low < 4.5 < estimate.high
        assert estimate.per_game == (3.5, 4.5, 5.5)
        assert estimate.n == 2

    def test_of_paired_games_is_narrower_where_seeds_matter(self) -> None:
        base = np.random.default_rng(0).normal(3, 2, 20)
        first = base + 1 + 0.1 * np.random.default_rng(1).normal(size=20)
        paired = difference_estimate(first, base, 0, paired=True)
        apart = difference_estimate(first, base, 0)
        assert paired.value == apart.value == pytest.approx(1, abs=0.1)
        assert paired.high - paired.low < 0.2 * (apart.high - apart.low)
        assert paired.per_game == pytest.approx(tuple(first - base))

    def test_of_equal_games_is_certain(self) -> None:
        estimate = difference_estimate([0.7] * 3, [0.1] * 9, 0)
        assert estimate.low == estimate.value == estimate.high == pytest.approx(0.6)

    def test_of_one_game_has_no_interval(self) -> None:
        estimate = difference_estimate([4.0], [1.0, 2.0, 3.0], 0)
        assert (estimate.value, estimate.n) == (2.0, 1)
        assert not estimate.has_interval

    def test_covers_the_true_difference(self) -> None:
        rng = np.random.default_rng(3)
        estimates = [
            difference_estimate(rng.normal(1, 1, 30), rng.normal(0, 3, 40), rng, resamples=400) for _ in range(300)
        ]
        assert 0.90 <= plain.fmean(estimate.low <= 1 <= estimate.high for estimate in estimates) <= 0.98

    def test_pairs_must_match(self) -> None:
        with pytest.raises(SampleError, match="one game a seed"):
            difference_estimate([1.0, 2.0], [1.0], 0, paired=True)


class TestBootstrap:
    def test_draws_every_resample_as_often_as_it_should(self) -> None:
        sums = bootstrap_distribution(lambda x: x.sum(axis=1), [[0.0, 1.0, 10.0]], 0, resamples=27_000)
        found = Counter(sums.tolist())
        exact = Counter(float(sum(drawn)) for drawn in itertools.product([0, 1, 10], repeat=3))
        assert found.keys() == exact.keys()
        for value, ways in exact.items():
            assert found[value] == pytest.approx(1000 * ways, rel=0.12)

    def test_keeps_the_rows_of_a_game_together(self) -> None:
        sample = np.array([[1.0, -1.0], [5.0, -5.0], [9.0, -9.0]])
        assert not bootstrap_distribution(lambda x: x.sum(axis=(1, 2)), [sample], 0).any()

    def test_pairs_samples_only_if_asked(self) -> None:
        samples = [np.arange(4.0), -np.arange(4.0)]
        assert not bootstrap_distribution(lambda x, y: (x + y).sum(axis=1), samples, 0, paired=True).any()
        assert bootstrap_distribution(lambda x, y: (x + y).sum(axis=1), samples, 0).any()

    def test_large_samples_are_drawn_in_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ours, "_CHUNK_VALUES", 70)
        sizes: list[int] = []

        def mean(x: np.ndarray) -> np.ndarray:
            sizes.append(len(x))
            return x.mean(axis=1)

        assert bootstrap_distribution(mean, [np.arange(10.0)], 0, resamples=24).shape == (24,)
        assert sizes == [7, 7, 7, 3]

    def test_takes_any_statistic(self) -> None:
        estimate = statistic_estimate(
            lambda x, y: np.median(x, axis=1) / y.max(axis=1), ([1.0, 2.0, 9.0], [2.0, 4.0]), 0
        )
        assert (estimate.value, estimate.low, estimate.high, estimate.n) == (0.5, 0.25, 4.5, 2)
        with pytest.raises(SampleError, match="one game at least"):
            statistic_estimate(lambda x: x.mean(axis=1), [[]], 0)


class TestExploitability:
    @given(st.integers(0, 1000), st.integers(2, 6))
    def test_value_is_the_definition(self, seed: int, games: int) -> None:
        baseline, deviating = random_games(seed, games)
        found = exploitability_estimate(baseline, deviating, 0, resamples=20)
        assert found.total.value == pytest.approx(plain_exploitability(baseline, deviating))
        for coalition in found.coalitions:
            own = {coalition.coalition: deviating[coalition.coalition]}
            assert coalition.gain.value == pytest.approx(plain_exploitability(baseline, own))
            assert coalition.gain.value == min(gain.value for gain in coalition.members.values())
        assert found.total.value == max(coalition.gain.value for coalition in found.coalitions)
        assert found.best == max(found.coalitions, key=lambda coalition: coalition.gain.value).coalition

    @pytest.mark.parametrize("paired", [False, True])
    def test_interval_by_a_bootstrap_in_plain_python(self, paired: bool) -> None:
        baseline, deviating = random_games(4)
        rng = random.Random(0)  # noqa: S311 - no secret

        def resampled(games: dict[str, list[float]], drawn: list[int]) -> dict[str, list[float]]:
            return {power: [points[g] for g in drawn] for power, points in games.items()}

        values = []
        for _ in range(6000):
            drawn = [rng.choices(range(5), k=5) for _ in range(1 + len(deviating))]
            if paired:
                drawn = drawn[:1] * len(drawn)
            again = {c: resampled(deviating[c], drawn[1 + k]) for k, c in enumerate(deviating)}
            values.append(plain_exploitability(resampled(baseline, drawn[0]), again))
        cuts = plain.quantiles(values, n=40, method="inclusive")
        found = exploitability_estimate(baseline, deviating, 0, paired=paired).total
        assert (found.low, found.high) == pytest.approx((cuts[0], cuts[-1]), abs=0.1)  # few values are possible

    def test_interval_by_enumeration(self) -> None:
        baseline = {"A": [1.0, 2.0], "B": [0.0, 4.0]}
        deviating = {("A",): {"A": [3.0, 5.0]}, ("A", "B"): {"A": [9.0, 4.0], "B": [3.0, 8.0]}}
        pairs = list(itertools.product(range(2), repeat=2))
        values = []
        for base, single, double in itertools.product(pairs, repeat=3):
            again = {
                ("A",): {"A": [deviating["A",]["A"][g] for g in single]},
                ("A", "B"): {power: [deviating["A", "B"][power][g] for g in double] for power in "AB"},
            }
            values.append(plain_exploitability({power: [baseline[power][g] for g in base] for power in "AB"}, again))
        exact = np.quantile(values, [0.1, 0.9])
        found = exploitability_estimate(baseline, deviating, 0, confidence=0.8).total
        assert (found.low, found.high) == pytest.approx(tuple(exact))

    def test_games_not_powers_are_resampled(self) -> None:
        # What one member wins the other loses in every game, so the pair as a whole is certain and its members are not.
        baseline = {"A": [0.0, 0.0], "B": [0.0, 0.0]}
        deviating = {("A", "B"): {"A": [1.0, 5.0], "B": [5.0, 1.0]}}
        (pair,) = exploitability_estimate(baseline, deviating, 0).coalitions
        assert pair.gain.value == 3
        assert pair.gain.high == 3  # resampled apart, the least gain could exceed 3
        assert pair.members["A"].low == 1
        assert pair.gain.per_game == (1.0, 1.0)

    def test_members_are_told_apart(self) -> None:
        baseline = {"A": [1.0, 3.0], "B": [2.0, 2.0], "C": [0.0, 0.0]}
        deviating = {("C", "A"): {"A": [4.0, 5.0, 6.0], "B": [9.0] * 3, "C": [1.0, 1.0, 4.0]}, ("B",): {"B": [1.0]}}
        found = exploitability_estimate(baseline, deviating, 0)
        pair, single = found.coalitions
        assert {power: gain.value for power, gain in pair.members.items()} == {"C": 2.0, "A": 3.0}
        assert pair.members["A"].per_game == (2.0, 3.0, 4.0)
        assert pair.gain.per_game == (1.0, 1.0, 4.0)
        assert pair.gain.n == 2
        assert pair.gain.has_interval
        assert single.gain.value == -1
        assert not single.gain.has_interval
        assert found.best == ("C", "A")
        assert not found.total.has_interval
        assert str(found) == "2.000 [no interval, n=1] by C + A"

    def test_pairs_by_seed(self) -> None:
        baseline = {"A": [1.0, 5.0, 9.0]}
        found = exploitability_estimate(baseline, {("A",): {"A": [2.0, 6.0, 10.0]}}, 0, paired=True)
        assert str(found.total) == "1.000 [1.000, 1.000]"
        assert found.total.per_game == (1.0, 1.0, 1.0)

    def test_is_biased_upward_as_documented(self) -> None:
        rng = np.random.default_rng(5)
        powers = [f"P{k}" for k in range(6)]
        values = [
            exploitability_estimate(
                {power: rng.normal(size=5) for power in powers},
                {(power,): {power: rng.normal(size=5)} for power in powers},
                rng,
                resamples=1,
            ).total.value
            for _ in range(100)
        ]
        assert plain.fmean(values) > 0.5

    def test_same_seed_same_answer(self) -> None:
        baseline, deviating = random_games(6)
        assert exploitability_estimate(baseline, deviating, 3) == exploitability_estimate(baseline, deviating, 3)
        assert exploitability_estimate(baseline, deviating, 3) != exploitability_estimate(baseline, deviating, 4)

    @pytest.mark.parametrize(
        ("baseline", "deviating", "paired", "words"),
        [
            ({"A": [1.0]}, {}, False, "one or more coalitions"),
            ({"A": [1.0]}, {(): {}}, False, "one or more members"),
            ({"A": [1.0]}, {("B",): {"B": [1.0]}}, False, "self-play: no points of"),
            ({"A": [1.0]}, {("A",): {"B": [1.0]}}, False, "games of .*no points of"),
            ({"A": [1.0, 2.0], "B": [1.0]}, {("A", "B"): {"A": [1.0], "B": [1.0]}}, False, "as many games"),
            ({"A": []}, {("A",): {"A": [1.0]}}, False, "one game at least"),
            ({"A": [math.nan]}, {("A",): {"A": [1.0]}}, False, "finite"),
            ({"A": [1.0, 2.0]}, {("A",): {"A": [1.0]}}, True, "one game a seed"),
        ],
    )
    def test_says_what_is_wrong(self, baseline: dict, deviating: dict, paired: bool, words: str) -> None:
        with pytest.raises(SampleError, match=words):
            exploitability_estimate(baseline, deviating, 0, paired=paired)
