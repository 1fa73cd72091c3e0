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
from scipy import stats

from evaluation.measures import intervals as ours
from evaluation.measures.intervals import (
    Estimate,
    ExploitabilityEstimate,
    SampleError,
    exploitability_estimate,
    mean_estimate,
    mean_estimates,
    portfolio_estimate,
    resampled_means,
)
from evaluation.measures.selection import corrected_maximum

pytestmark = pytest.mark.filterwarnings("error")

GAMES = st.lists(st.integers(0, 60).map(lambda points: points / 10), min_size=2, max_size=6)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer resamples, where many intervals are made."""
    monkeypatch.setattr(ours, "RESAMPLES", 400)


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


class TestMean:
    def test_of_equal_games_is_certain(self) -> None:
        assert str(mean_estimate([(5**6 * 4) ** (1 / 7)] * 5, 0)) == "4.843 [4.843, 4.843]"
        noisy = mean_estimate([0.1 + 0.2, 0.3, 0.3], 0)
        assert noisy.low == noisy.value == noisy.high

    @pytest.mark.parametrize(
        "games",
        [[1, 2], [0, 0, 1], [0, 1, 1, 1], [3.025, 3.0601, 3.5784, 3.1693, 3.4773], [0, 0, 0, 0, 9], [1e-6, 2e-6]],
    )
    def test_of_few_games_has_sensible_bounds(self, games: list[float]) -> None:
        estimate = mean_estimate(games, 0)
        assert min(games) - 1e-9 <= estimate.low < estimate.value < estimate.high <= max(games) + 1e-9
        assert estimate.n == len(games)

    def test_undefined_games_make_it_undefined(self) -> None:
        estimate = mean_estimate([1.0, math.nan, 2.0], 0)
        assert math.isnan(estimate.value)
        assert not estimate.has_interval

    def test_same_seed_same_interval(self) -> None:
        games = [1.1**game for game in range(12)]
        assert mean_estimate(games, 7) == mean_estimate(games, np.random.default_rng(7))
        assert mean_estimate(games, 7) != mean_estimate(games, 8)

    def test_of_several_samples_are_as_one_by_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        samples = {"a": [1.0, 2.0, 4.0], "b": [0.1, 0.2], "c": [3, 3, 5], "d": [7.0]}
        together = mean_estimates(samples, 5)
        assert list(together) == list(samples)
        monkeypatch.setattr(ours, "_CHUNK_VALUES", 70)
        assert repr(together) == repr({key: mean_estimate(games, 5) for key, games in samples.items()})
        assert mean_estimates({}, 5) == {}

    @given(games=GAMES)
    def test_bounds_move_with_the_games(self, games: list[float]) -> None:
        estimate = mean_estimate(games, 0)
        moved = mean_estimate([10 + 3 * points for points in games], 0)
        assert min(games) - 1e-9 <= estimate.low <= estimate.high <= max(games) + 1e-9
        for before, after in [(estimate.value, moved.value), (estimate.low, moved.low), (estimate.high, moved.high)]:
            assert after == pytest.approx(10 + 3 * before)

    @pytest.mark.usefixtures("quick")
    def test_covers_the_true_mean(self) -> None:
        rng = np.random.default_rng(1)
        estimates = [mean_estimate(rng.gamma(4.0, size=40), rng) for _ in range(300)]
        covered = plain.fmean(estimate.low <= 4 <= estimate.high for estimate in estimates)
        assert 0.90 <= covered <= 0.98

    @pytest.mark.parametrize(("games", "share"), [(2, 0.5), (3, 0.75), (4, 0.875), (5, 0.925)])
    def test_few_games_cover_less_as_documented(
        self, games: int, share: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ours, "RESAMPLES", 4000)
        rng = np.random.default_rng(2)
        estimates = [mean_estimate(rng.normal(size=games), rng) for _ in range(600)]
        covered = plain.fmean(estimate.low <= 0 <= estimate.high for estimate in estimates)
        assert covered == pytest.approx(share, abs=0.04)

    @pytest.mark.parametrize("games", [12, 20, 60])
    def test_is_as_wide_as_students_where_games_are_normal(self, games: int) -> None:
        values = stats.norm.ppf((np.arange(games) + 0.5) / games)
        estimate = mean_estimate(values, 0)
        low, high = stats.t.interval(0.95, games - 1, values.mean(), values.std(ddof=1) / math.sqrt(games))
        assert (estimate.low, estimate.high) == pytest.approx((low, high), rel=0.05)

    @pytest.mark.parametrize("games", [[], 3.0, [[1.0, 2.0]]])
    def test_needs_one_number_a_game(self, games: object) -> None:
        with pytest.raises(SampleError, match="shape"):
            mean_estimate(games, 0)


class TestBootstrap:
    def test_draws_every_resample_as_often_as_it_should(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ours, "RESAMPLES", 27_000)
        means = resampled_means(np.array([[0.0], [1.0], [10.0]]), 0)
        found = Counter(np.rint(3 * means[:, 0]).tolist())
        exact = Counter(float(sum(drawn)) for drawn in itertools.product([0, 1, 10], repeat=3))
        assert found.keys() == exact.keys()
        for value, ways in exact.items():
            assert found[value] == pytest.approx(1000 * ways, rel=0.12)

    def test_keeps_the_values_of_a_game_together(self) -> None:
        means = resampled_means(np.array([[1.0, -1.0], [5.0, -5.0], [9.0, -9.0]]), 0)
        assert means.shape == (ours.RESAMPLES, 2)
        assert not means.sum(axis=1).any()
        assert np.ptp(means[:, 0]) == 8

    def test_large_samples_are_drawn_in_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ours, "RESAMPLES", 24)
        sample = np.arange(10.0).reshape(10, 1)
        whole = resampled_means(sample, 0)
        monkeypatch.setattr(ours, "_CHUNK_VALUES", 70)  # 7, 7, 7 and 3 resamples at a time
        assert whole.shape == (24, 1)
        assert resampled_means(sample, 0).tolist() == whole.tolist()


class TestExploitability:
    @given(st.integers(0, 1000), st.integers(2, 6))
    def test_value_is_the_definition(self, seed: int, games: int) -> None:
        baseline, deviating = random_games(seed, games)
        found = exploitability_estimate(baseline, deviating, 0)
        assert found.total.value == pytest.approx(plain_exploitability(baseline, deviating))
        for coalition in found.coalitions:
            own = {coalition.coalition: deviating[coalition.coalition]}
            assert coalition.gain.value == pytest.approx(plain_exploitability(baseline, own))
            assert coalition.gain.value == min(gain.value for gain in coalition.members.values())
        assert found.total.value == max(coalition.gain.value for coalition in found.coalitions)
        assert found.best == max(found.coalitions, key=lambda coalition: coalition.gain.value).coalition

    def test_interval_by_a_bootstrap_in_plain_python(self) -> None:
        baseline, deviating = random_games(4, 12)
        rng = random.Random(0)  # noqa: S311 - no secret

        def resampled(games: dict[str, list[float]], drawn: list[int]) -> dict[str, list[float]]:
            return {power: [points[g] for g in drawn] for power, points in games.items()}

        values = []
        for _ in range(6000):
            drawn = rng.choices(range(12), k=12)  # the same games of all
            again = {coalition: resampled(deviating[coalition], drawn) for coalition in deviating}
            values.append(plain_exploitability(resampled(baseline, drawn), again))
        tail = stats.norm.cdf(-math.sqrt(12 / 11) * stats.t.ppf(0.975, 11))
        found = exploitability_estimate(baseline, deviating, 0).total
        assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [tail, 1 - tail])), abs=0.05)

    def test_interval_by_enumeration(self, monkeypatch: pytest.MonkeyPatch) -> None:
        baseline = {"A": [1.0, 2.0, 0.0], "B": [0.0, 4.0, 2.0]}
        deviating = {("A",): {"A": [3.0, 5.0, 2.0]}, ("A", "B"): {"A": [9.0, 4.0, 1.0], "B": [3.0, 8.0, 7.0]}}
        values = []
        for drawn in itertools.product(range(3), repeat=3):
            again = {
                coalition: {power: [points[power][g] for g in drawn] for power in coalition}
                for coalition, points in deviating.items()
            }
            values.append(plain_exploitability({power: [baseline[power][g] for g in drawn] for power in "AB"}, again))
        tail = stats.norm.cdf(-math.sqrt(3 / 2) * stats.t.ppf(0.7, 2))
        exact = np.quantile(values, [tail, 1 - tail], method="inverted_cdf")
        monkeypatch.setattr(ours, "CONFIDENCE", 0.4)
        found = exploitability_estimate(baseline, deviating, 0).total
        assert (found.low, found.high) == pytest.approx(tuple(exact))
        assert found.low < found.high

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
        baseline = {"A": [1.0, 3.0, 2.0], "B": [2.0, 2.0, 2.0], "C": [0.0, 0.0, 3.0]}
        pair_games = {"A": [4.0, 5.0, 6.0], "B": [9.0] * 3, "C": [1.0, 1.0, 7.0]}
        found = exploitability_estimate(baseline, {("B",): {"B": [1.0] * 3}, ("C", "A"): pair_games}, 0)
        single, pair = found.coalitions
        assert {power: gain.value for power, gain in pair.members.items()} == {"C": 2.0, "A": 3.0}
        assert pair.members["A"].per_game == (3.0, 2.0, 4.0)
        assert pair.gain.per_game == found.total.per_game == (1.0, 1.0, 4.0)
        assert (pair.gain.n, pair.gain.value) == (3, 2.0)
        assert pair.members["C"].low == pair.gain.low == 1
        assert single.gain == single.members["B"]
        assert (single.gain.low, single.gain.value, single.gain.high) == (-1, -1, -1)
        assert found.best == ("C", "A")
        assert str(found.total) == f"2.000 [1.000, {pair.gain.high:.3f}]"

    def test_the_first_of_equals_is_the_best(self) -> None:
        found = exploitability_estimate({"A": [1.0], "B": [2.0]}, {("B",): {"B": [3.0]}, ("A",): {"A": [2.0]}}, 0)
        assert (found.best, found.total.value) == (("B",), 1.0)

    def test_one_game_a_coalition_has_no_interval(self) -> None:
        found = exploitability_estimate({"A": [1.0]}, {("A",): {"A": [3.0]}}, 0)
        assert str(found.total) == "2.000 [no interval, n=1]"

    def test_pairs_by_seed(self) -> None:
        baseline = {"A": [1.0, 5.0, 9.0]}
        found = exploitability_estimate(baseline, {("A",): {"A": [2.0, 6.0, 10.0]}}, 0)
        assert str(found.total) == "1.000 [1.000, 1.000]"
        assert found.total.per_game == (1.0, 1.0, 1.0)

    def test_same_seed_same_answer(self) -> None:
        baseline, deviating = random_games(6, 12)
        assert exploitability_estimate(baseline, deviating, 3) == exploitability_estimate(baseline, deviating, 3)
        assert exploitability_estimate(baseline, deviating, 3) != exploitability_estimate(baseline, deviating, 4)

    @pytest.mark.parametrize(
        ("baseline", "deviating", "words"),
        [
            ({"A": [1.0]}, {}, "one or more coalitions"),
            ({"A": [1.0]}, {(): {}}, "one or more members"),
            ({"A": [1.0]}, {("B",): {"B": [1.0]}}, "self-play: no points of"),
            ({"A": [1.0]}, {("A",): {"B": [1.0]}}, "games of .*no points of"),
            ({"A": [1.0, 2.0], "B": [1.0]}, {("A", "B"): {"A": [1.0], "B": [1.0]}}, "equally many games"),
            ({"A": []}, {("A",): {"A": [1.0]}}, "at least one game"),
            ({"A": [math.nan]}, {("A",): {"A": [1.0]}}, "finite"),
            ({"A": [1.0, 2.0]}, {("A",): {"A": [1.0]}}, "1 games, but 2 of self-play"),
        ],
    )
    def test_says_what_is_wrong(self, baseline: dict, deviating: dict, words: str) -> None:
        with pytest.raises(SampleError, match=words):
            exploitability_estimate(baseline, deviating, 0)


def chosen(gains: np.ndarray, rng: np.random.Generator) -> ExploitabilityEstimate:
    """Of [games, deviators] gains of one power."""
    played = {f"d{each}": {("P",): {"P": gains[:, each]}} for each in range(gains.shape[1])}
    return portfolio_estimate({"P": np.zeros(len(gains))}, played, rng)


def bounds(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.low, estimate.value, estimate.high


class TestTheChoice:
    """Of a maximum over coalitions and deviators."""

    @pytest.mark.usefixtures("quick")
    @pytest.mark.parametrize(("best", "bias"), [(0.0, 0.28), (5.0, 0.0)], ids=["ties", "one clear best"])
    def test_adds_what_is_taken_away(self, best: float, bias: float) -> None:
        rng = np.random.default_rng(5)
        truth = np.array([best, 0, 0, 0, 0, 0])
        found = [chosen(truth + rng.normal(size=(20, 6)), rng) for _ in range(150)]
        naive = plain.fmean(each.total.value - best for each in found)
        corrected = plain.fmean(each.corrected.value - best for each in found)
        assert naive == pytest.approx(bias, abs=0.06)
        assert corrected == pytest.approx(0, abs=0.06)
        covered = plain.fmean(each.corrected.low <= best <= each.corrected.high for each in found)
        assert covered >= 0.9  # of 150; `benchmarks.calibration` measures it

    @pytest.mark.usefixtures("quick")
    @given(st.integers(0, 1000), st.integers(2, 30), st.integers(1, 5))
    def test_corrected_values_lie_within_their_bounds(self, seed: int, games: int, deviators: int) -> None:
        rng = np.random.default_rng(seed)
        found = chosen(np.floor(rng.gamma(1.0, size=(games, deviators)) * 2), rng)
        assert found.corrected.low <= found.corrected.value <= found.corrected.high
        assert found.corrected.value <= found.total.value + 1e-12
        assert found.corrected.per_game == found.total.per_game

    def test_without_a_choice_nothing_is_taken_away(self) -> None:
        gains = np.random.default_rng(0).gamma(2.0, size=(20, 1))
        found = chosen(gains, np.random.default_rng(1))
        assert bounds(found.corrected) == pytest.approx(bounds(found.total))

    def test_a_clearly_worse_gain_changes_nothing(self) -> None:
        gains = np.random.default_rng(0).gamma(2.0, size=(20, 2)) - [0, 50]
        alone, both = (chosen(gains[:, :count], np.random.default_rng(1)) for count in (1, 2))
        assert bounds(both.corrected) == pytest.approx(bounds(alone.corrected))
        assert (both.deviator, both.best) == ("d0", ("P",))

    def test_what_is_certain_needs_no_correction(self) -> None:
        found = chosen(np.tile([0.3, 0.1 + 0.2, 0.1], (20, 1)), np.random.default_rng(0))
        assert bounds(found.corrected) == pytest.approx((0.3, 0.3, 0.3))

    def test_one_game_cannot_be_corrected(self) -> None:
        found = chosen(np.array([[1.0, 2.0]]), np.random.default_rng(0))
        assert found.total.value == 2
        assert math.isnan(found.corrected.value)
        assert not found.corrected.has_interval
        assert chosen(np.array([[2.0]]), np.random.default_rng(0)).corrected.value == 2

    def test_gains_of_all_deviators_are_told_apart(self) -> None:
        played = {"x": {("A",): {"A": [1.0, 2.0]}}, "y": {("A",): {"A": [3.0, 5.0]}, ("B",): {"B": [0.0, 1.0]}}}
        found = portfolio_estimate({"A": [0.0, 1.0], "B": [0.0, 0.0]}, played, 0)
        assert [(gain.deviator, gain.coalition, gain.gain.value) for gain in found.coalitions] == [
            ("x", ("A",), 1.0),
            ("y", ("A",), 3.5),
            ("y", ("B",), 0.5),
        ]
        assert (found.deviator, found.best) == ("y", ("A",))

    def test_no_deviator(self) -> None:
        with pytest.raises(SampleError, match="one or more deviators"):
            portfolio_estimate({"A": [1.0]}, {}, 0)


def test_a_gain_is_bounded_above_by_its_least_member() -> None:
    errors = np.random.default_rng(0).normal(0, 0.1, (2000, 2))
    found = corrected_maximum(np.array([1.0, 9.0]), errors + np.array([1, 9]), np.array([0]), 0.025)
    assert found.value == pytest.approx(1, abs=0.05)
    assert 1.15 < found.high < 1.3
