"""Symmetric games estimated from samples: what varies with the samples, against games whose answers are known."""

import json

import numpy as np
import pytest
from numpy.typing import NDArray

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
def test_one_seed_one_result() -> None:
    one, same, other = (sampled(coordination(0.4), 0.5, 10) for _ in range(3))
    assert one.equilibria == same.equilibria
    assert SampledGame(other.game, other.tables, 7).equilibria != one.equilibria


@pytest.mark.slow
def test_the_share_of_an_equilibrium_has_an_interval_with_the_true_one() -> None:
    hawks = sampled([[-1, 2], [0, 1]], 0.5, 30)
    (found,) = hawks.equilibria
    assert found.held == 1
    assert 0.3 < found.shares["A"].low < 0.5 < found.shares["A"].high < 0.7
    assert found.shares["A"].low < found.mix["A"] < found.shares["A"].high
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["held"] == 1


def test_an_equilibrium_that_noise_makes_is_not_in_every_resampled_game() -> None:
    """A against A pays as much as B: which of the two is better there is chance."""
    held = [sampled([[1, 0], [1, 0.5]], 1.0, 10, seed).equilibria[0].held for seed in range(5)]
    assert min(held) < 0.9


def test_four_samples_have_no_intervals() -> None:
    few = sampled(coordination(0.4), 0.1, 4)
    assert not any(share.has_interval for each in few.equilibria for share in each.shares.values())
    assert all(np.isnan(each.held) for each in few.equilibria)
    json.dumps([each.to_dict() for each in few.equilibria], allow_nan=False)


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
