"""Intervals: known answers, exact enumeration, independent recomputation and coverage by simulation."""

import itertools
import math
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
    SampleError,
    mean_estimate,
    mean_estimates,
    resampled_means,
)

pytestmark = pytest.mark.filterwarnings("error")

GAMES = st.lists(st.integers(0, 60).map(lambda points: points / 10), min_size=2, max_size=6)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer resamples, where many intervals are made."""
    monkeypatch.setattr(ours, "RESAMPLES", 400)


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
