"""Intervals: known answers, exact enumeration, independent recomputation and coverage by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from evaluation.measures import intervals
from evaluation.measures.intervals import (
    UNBOUNDED,
    Estimate,
    SampleError,
    mean_estimate,
    share_estimate,
)

pytestmark = pytest.mark.filterwarnings("error")


class TestEstimate:
    def test_prints_value_and_interval(self) -> None:
        estimate = Estimate(4.8431, 4.61, 5.0006, 5, (4.0, 5.0))
        assert str(estimate) == "4.843 [4.610, 5.001]"
        assert f"{estimate:.1f}" == "4.8 [4.6, 5.0]"
        assert estimate.has_interval


MADE = {
    "normal": (lambda rng, shape: rng.normal(3, 1, shape), 3, UNBOUNDED, 5, 0.93),
    "p = 0.5": (lambda rng, shape: (rng.random(shape) < 0.5) * 1.0, 0.5, UNBOUNDED, 5, 0.93),
    "an eighth of games without welfare": (
        lambda rng, shape: np.where(rng.random(shape) < 0.13, 0, np.minimum(rng.normal(3, 0.5, shape), 34 / 7)),
        0.87 * 3,
        (0, 34 / 7),
        5,
        0.93,
    ),
    "lognormal": (lambda rng, shape: rng.lognormal(0, 1, shape), math.exp(0.5), UNBOUNDED, 10, 0.90),
    "rare": (lambda rng, shape: (rng.random(shape) < 0.1) * 1.0, 0.1, (0, 1), 10, 0.95),
}
"""Games drawn, their mean, the rules' bounds, the fewest games, and the coverage from there on."""


def bounds_of(estimate: Estimate) -> tuple[float, float]:
    return estimate.low, estimate.high


class TestMean:
    @pytest.mark.parametrize("made", MADE)
    def test_covers_the_true_mean(self, made: str, monkeypatch: pytest.MonkeyPatch) -> None:
        draw, mean, within, fewest, share = MADE[made]
        monkeypatch.setattr(intervals, "RESAMPLES", 500)
        for games in (fewest, 20):
            rng = np.random.default_rng(games)
            samples = draw(rng, (2000, games))
            low, high = intervals.mean_bounds(samples, within, 0.95, rng)
            covered = (low <= mean) & (mean <= high) | np.isnan(low)
            assert covered.mean() > share - 0.01

    def test_is_gaffkes_bound_at_the_bounds_of_the_rules(self) -> None:
        games = [0] * 15 + [1] * 5  # of two values: Clopper and Pearson
        low, high = bounds_of(mean_estimate(games, 0, within=(0, 1)))
        assert low == pytest.approx(stats.beta.ppf(0.025, 5, 16), abs=0.005)
        assert high == pytest.approx(stats.beta.ppf(0.975, 6, 15), abs=0.005)
        assert bounds_of(mean_estimate(games, 0, within=(0, math.inf))) == (low, mean_estimate(games, 0).high)
        assert bounds_of(mean_estimate(games, 0, within=(-math.inf, 1))) == (mean_estimate(games, 0).low, high)

    def test_is_students_moved_outward_by_the_skewness(self) -> None:
        games = np.array([1.0, 2, 2, 3, 3, 4, 9])
        student, error, skewness = stats.t.ppf(0.995, 6), stats.sem(games), stats.skew(games, bias=False)
        low, high = bounds_of(mean_estimate(games, 0, confidence=0.99))
        assert low == pytest.approx(games.mean() - student * error)
        outward = skewness * (1 + 2 * student**2) / (3 * math.sqrt(7)) * error
        assert high == pytest.approx(games.mean() + student * error + outward)
        mirrored = mean_estimate(-games, 0, confidence=0.99)
        assert bounds_of(mirrored) == pytest.approx((-high, -low))

    def test_fewer_than_five_games_have_no_interval(self) -> None:
        for games in [[4.0], [4.0, 5.0], [3.0, 3.5, 4.0, 9.0]]:
            estimate = mean_estimate(games, 0, within=(0, 34))
            assert np.isnan(bounds_of(estimate)).all()
            assert estimate.value == np.mean(games)
            shown = f"(range {min(games):.3f} to {max(games):.3f}, n={len(games)})"
            assert str(estimate) == f"{estimate.value:.3f} {shown if len(games) > 1 else '[no interval, n=1]'}"

    def test_games_all_alike_have_only_the_bounds_of_the_rules(self) -> None:
        alike = [(5**6 * 4) ** (1 / 7)] * 20
        estimate = mean_estimate(alike, 0, within=(0, 34 / 7))
        assert str(estimate) == "4.843 [4.016, 4.846]"
        unseen = 1 - 0.025 ** (1 / 20)  # the rule of three: a share of games that 20 may miss
        assert estimate.low == pytest.approx(alike[0] * (1 - unseen), abs=0.02)
        assert estimate.high == pytest.approx(alike[0] + (34 / 7 - alike[0]) * unseen, abs=0.001)
        assert np.isnan(bounds_of(mean_estimate(alike, 0))).all()
        assert np.isnan(bounds_of(mean_estimate([0.1 + 0.2, 0.3, 0.3, 0.3, 0.3], 0))).all()
        assert mean_estimate([0.0] * 5, 0, within=(0, math.inf)).low == 0

    def test_undefined_games_make_it_undefined(self) -> None:
        for of in [math.nan, math.inf]:
            estimate = mean_estimate([1.0, of, 2.0, 3.0, 4.0], 0, within=(0, math.inf))
            assert not math.isfinite(estimate.value)
            assert not estimate.has_interval

    def test_same_seed_same_interval(self) -> None:
        games = [1.1**game for game in range(12)]
        bounded = [mean_estimate(games, rng, within=(0, 34)) for rng in (7, np.random.default_rng(7), 8)]
        assert bounded[0] == bounded[1] != bounded[2]

    def test_wrong_options(self) -> None:
        for options, why in [
            ({"within": (0, 3)}, "a game has the value 4, outside"),
            ({"within": (3, 0)}, "outside"),
            ({"confidence": 95}, "between 0 and 1"),
        ]:
            with pytest.raises(SampleError, match=why):
                mean_estimate([1.0, 4.0], 0, **options)


class TestShare:
    def test_is_of_sums_and_of_the_games_with_a_whole(self) -> None:
        estimate = share_estimate([3, 4, 0, 2, 5, 9], [4, 4, 0, 2, 7, 10], 0)
        assert (estimate.value, estimate.n) == (pytest.approx(23 / 27), 5)
        assert estimate.per_game == pytest.approx((3 / 4, 1, 1, 5 / 7, 9 / 10))
        assert 0 < estimate.low < estimate.value < estimate.high < 1

    def test_of_equal_wholes_is_the_mean_within_0_and_1(self) -> None:
        parts = [0, 1, 1, 0, 1, 1, 1]
        assert bounds_of(share_estimate(np.array(parts) * 3, [3] * 7, 0)) == pytest.approx(
            bounds_of(mean_estimate(parts, 0, within=(0, 1)))
        )

    def test_all_kept_is_no_certainty(self) -> None:
        estimate = share_estimate([3] * 10, [3] * 10, 0)
        assert str(estimate) == "1.000 [0.696, 1.000]"
        assert (estimate.low, estimate.high) == (pytest.approx(0.025**0.1, abs=0.01), 1)

    def test_few_games_or_none(self) -> None:
        assert str(share_estimate([1, 2, 0], [2, 2, 0], 0)) == "0.750 (range 0.500 to 1.000, n=2)"
        assert str(share_estimate([0], [0], 0)) == "nan [no interval, n=0]"

    def test_covers_the_true_share(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(intervals, "RESAMPLES", 500)
        rng = np.random.default_rng(0)
        judged = 1 + rng.poisson(4, (1000, 8)) * 1.0
        kept = rng.binomial(judged.astype(int), rng.beta(4, 1, (1000, 8)))
        low, high = intervals.weighted_bounds(kept, judged, (0, 1), 0.95, rng)
        assert ((low <= 0.8) & (high >= 0.8)).mean() > 0.95
