"""Symmetric games estimated from samples: what varies with the samples, against games whose answers are known."""

import json
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.measures import basins
from evaluation.measures.basins import rest_points
from evaluation.measures.sampled_game import SampledGame
from evaluation.measures.symmetric_game import GameTableError, SymmetricGame

Floats = NDArray[np.float64]


def sampled(matrix: list[list[float]], noise: float, samples: int, seed: int = 0) -> SampledGame:
    """A game of two players; the noise is that of a payoff in a sample."""
    mean = np.array(matrix, dtype=float).T  # a row per strategy of the other player
    tables = mean + noise * np.random.default_rng(seed).normal(size=(samples, *mean.shape))
    game = SymmetricGame(tuple("ABCD"[: len(matrix)]), 2, tables.mean(axis=0))
    return SampledGame(game, tables, seed)


def coordination(least: float) -> list[list[float]]:
    return [[1 - least, 0], [0, least]]


@pytest.mark.slow
def test_the_interval_of_a_basin_covers_the_true_one() -> None:
    """By noise alone the threshold of 0.4 has a standard error of 0.07, as much as the share of 50 starts."""
    covered, widths = 0, []
    for seed in range(30):
        game = sampled(coordination(0.4), 0.3, 20, seed)
        points = rest_points(game.game, seed, starts=50, resampled=game.resampled[:100], samples=20)
        (basin,) = [point.basin for point in points if point.mix["A"] > 0.5]
        covered += basin.low <= 0.6 <= basin.high
        widths.append(basin.high - basin.low)
    assert covered >= 27
    assert np.median(widths) < 0.5


@pytest.mark.slow
def test_more_samples_and_more_starts_give_narrower_intervals() -> None:
    widths = {}
    for samples, starts in product((20, 500), (50, 500)):
        game = sampled(coordination(0.4), 0.5, samples)
        points = rest_points(game.game, 0, starts=starts, resampled=game.resampled, samples=samples)
        widths[samples, starts] = points[0].basin.high - points[0].basin.low
    assert widths[20, 50] > widths[20, 500] > widths[500, 500]
    assert widths[20, 50] > widths[500, 50] > widths[500, 500]


@pytest.mark.slow
def test_one_seed_one_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(basins, "WORK", 1e6)
    one, same, other = (sampled(coordination(0.4), 0.5, 10) for _ in range(3))
    assert one.rest_points == same.rest_points
    assert one.equilibria == same.equilibria
    assert one.alpha_rank == same.alpha_rank
    assert SampledGame(other.game, other.tables, 7).rest_points != one.rest_points


@pytest.mark.slow
def test_the_share_of_an_equilibrium_has_an_interval_with_the_true_one() -> None:
    hawks = sampled([[-1, 2], [0, 1]], 0.5, 30)
    (found,) = hawks.equilibria
    assert found.held == 1
    assert 0.3 < found.shares["A"].low < 0.5 < found.shares["A"].high < 0.7
    assert found.shares["A"].low < found.mix["A"] < found.shares["A"].high
    (rest,) = hawks.rest_points
    assert rest.shares["A"].low == pytest.approx(found.shares["A"].low, abs=0.01)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["held"] == 1


def test_an_equilibrium_that_noise_makes_is_not_in_every_resampled_game() -> None:
    """A against A pays as much as B: which of the two is better there is chance."""
    held = [sampled([[1, 0], [1, 0.5]], 1.0, 10, seed).equilibria[0].held for seed in range(5)]
    assert min(held) < 0.9


def test_four_samples_have_no_intervals() -> None:
    few = sampled(coordination(0.4), 0.1, 4)
    assert not any(point.basin.has_interval for point in few.rest_points)
    assert not any(share.has_interval for each in few.equilibria for share in each.shares.values())
    assert not any(rank.has_interval for rank in few.alpha_rank.values())
    assert all(np.isnan(each.held) for each in few.equilibria)
    json.dumps([each.to_dict() for each in (*few.equilibria, *few.rest_points)], allow_nan=False)


def test_invaders_gain_what_they_get_more_than_the_residents() -> None:
    dilemma = sampled([[3, 0], [5, 1]], 0.1, 20)
    assert dilemma.invasion.keys() == {("A", "B"), ("B", "A")}
    assert dilemma.invasion["A", "B"].low < 2 < dilemma.invasion["A", "B"].high
    assert dilemma.invasion["B", "A"].high < 0
    paid = dilemma.tables[:, 0, 1] - dilemma.tables[:, 0, 0]
    assert dilemma.invasion["A", "B"].per_game == pytest.approx(paid.tolist())


def test_invaders_that_were_not_played_are_left_out() -> None:
    samples = [{(2, 0): [1.0, np.nan], (0, 2): [np.nan, 1.0]}] * 5
    assert SampledGame.of("AB", samples, 0).invasion == {}
    with pytest.raises(GameTableError, match="one sample"):
        SampledGame.of("AB", [], 0)


def test_exact_ties_and_ties_within_the_noise() -> None:
    exact = sampled([[2, 2, 1], [2, 2, 1], [0, 0, 0]], 0, 10)
    assert (exact.game.neutral_faces, exact.noisy_ties) == ((("A", "B"),), ())
    noisy = sampled([[2, 2, 1], [2, 2, 1], [0, 0, 0]], 0.1, 10)
    assert (noisy.game.neutral_faces, noisy.noisy_ties) == ((), (("A", "B"),))
    assert sampled([[2, 2, 1], [1, 1, 1], [0, 0, 0]], 0.1, 10).noisy_ties == ()


def test_a_set_of_ties_keeps_its_basin_where_samples_break_the_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    """A and B tie in the mean of every two samples, not in one: resampled games have no tie, the basin stays."""
    monkeypatch.setattr(basins, "WORK", 3e7)
    matrix = np.array([[2.0, 2, 0], [2, 2, 0], [0, 0, 1]]).T
    seats = np.zeros((10, 3, 3))
    seats[::2, :2, 0], seats[1::2, :2, 0] = 0.1, -0.1
    game = SymmetricGame(tuple("ABC"), 2, matrix)
    points = SampledGame(game, matrix + seats, 0).rest_points
    assert [point.varying for point in points] == [("A", "B"), ()]
    assert points[0].basin.low > 0.6
    assert points[1].basin.value == pytest.approx(1 - points[0].basin.value)


def test_alpha_rank_has_the_uncertainty_of_the_samples() -> None:
    close = sampled([[1, 1], [1, 1]], 1.0, 10)
    assert close.alpha_rank["A"].low < 0.1
    assert close.alpha_rank["A"].high > 0.9
    clear = sampled([[3, 0], [5, 1]], 0.1, 10)
    assert clear.alpha_rank["B"].low > 0.99
