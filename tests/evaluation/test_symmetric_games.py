"""Symmetric games as tables: equilibria, against hand-solved games and other solvers, and what varies with samples."""

import itertools
import json
from collections.abc import Callable
from math import comb

import numpy as np
import pygambit
import pytest
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from evaluation.measures.symmetric_game import SymmetricGame, compositions

Floats = NDArray[np.float64]


def table_game(names: str, players: int, tables: Floats, seed: int = 0) -> SymmetricGame:
    """A game with payoffs [samples, compositions, strategies], all measured."""
    return SymmetricGame(tuple(names), players, tables, np.zeros(tables.shape[1:], dtype=bool), seed)


def game_of(pay: Callable[[int, tuple[int, ...]], float], number: int, players: int) -> SymmetricGame:
    """From the payoff of a strategy when the others are dealt so."""
    table = [[pay(own, others) for own in range(number)] for others in compositions(players - 1, number)]
    return table_game("ABCDEFGH"[:number], players, np.array([table], dtype=float))


def random_game(seed: int, number: int, players: int) -> SymmetricGame:
    rng = np.random.default_rng(seed)
    return game_of(lambda own, others: rng.normal(), number, players)


def matrix_game(matrix: list[list[float]]) -> SymmetricGame:
    return game_of(lambda own, others: matrix[own][others.index(1)], len(matrix), 2)


def by_profiles(game: SymmetricGame, mix: Floats) -> Floats:
    """Payoffs against the mix, by a sum over every profile of the other players."""
    number = len(game.names)
    rows = {counts: row for row, counts in enumerate(compositions(game.players - 1, number))}
    paid = np.zeros(number)
    for profile in itertools.product(range(number), repeat=game.players - 1):
        counts = tuple(profile.count(strategy) for strategy in range(number))
        paid += np.prod(mix[list(profile)]) * game.table[rows[counts]]
    return paid


def mixes(game: SymmetricGame) -> Floats:
    return np.array([list(found.mix.values()) for found in game.equilibria])


def test_a_stag_hunt_of_seven_solved_by_hand() -> None:
    """A pays 2 only when all play it; B pays 1: both pure, and the mix of 2 p^6 = 1, which is unstable."""
    game = game_of(lambda own, others: 1.0 if own else 2.0 * (others[0] == 6), 2, 7)
    found = {round(each.mix["A"], 9): each for each in game.equilibria}
    assert sorted(found) == [0.0, pytest.approx(0.5 ** (1 / 6), abs=1e-8), 1.0]
    assert [found[share].is_stable for share in sorted(found)] == [True, False, True]


@pytest.mark.parametrize(("seed", "number", "players"), [(0, 2, 7), (1, 3, 7), (2, 4, 4)])
def test_nobody_gains_by_leaving_an_equilibrium(seed: int, number: int, players: int) -> None:
    """By payoffs that are sums over every profile of the others."""
    game = random_game(seed, number, players)
    assert game.equilibria or number > 2
    for found in game.equilibria:
        mix = np.array(list(found.mix.values()))
        assert mix.sum() == pytest.approx(1)
        paid = by_profiles(game, mix)
        assert paid.max() - mix @ paid < 1e-7
        assert found.payoff == pytest.approx(mix @ paid)
        assert [gain.value for gain in found.gains.values()] == pytest.approx((paid - mix @ paid).tolist(), abs=1e-7)


def test_two_strategies_have_all_equilibria_that_a_fine_grid_shows() -> None:
    game = random_game(0, 2, 7)
    paid = np.array([game.payoffs(np.array([share, 1 - share])) for share in np.linspace(0, 1, 20001)])
    difference = paid[:, 0] - paid[:, 1]
    crossings = np.count_nonzero(np.diff(np.sign(difference)))
    assert len(game.equilibria) == crossings + (difference[0] <= 0) + (difference[-1] >= 0)


@pytest.mark.parametrize(("seed", "size"), [(0, 3), (1, 3), (2, 3), (0, 6)])
def test_matrix_games_have_the_symmetric_equilibria_that_gambit_finds(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-9, 10, size=(size, size)) + np.diag([0.25, 0.5, 0.125, 0.375, 0.625, 0.75][:size])
    game = matrix_game(matrix.tolist())
    arrays = np.vectorize(lambda x: pygambit.Rational(int(8 * x), 8))(matrix)
    table = pygambit.StrategicGame.from_arrays(arrays, arrays.T)
    theirs = pygambit.nash.enummixed_solve(table, rational=True).equilibria
    pairs = [[[float(share) for _, share in found[player]] for player in table.players] for found in theirs]
    symmetric = sorted(one for one, other in pairs if np.allclose(one, other))
    np.testing.assert_allclose(sorted(mixes(game).tolist()), symmetric, atol=1e-7)


@pytest.mark.parametrize(("size", "players"), [(3, 2), (5, 4), (7, 2)])
def test_every_strategy_is_mixed_where_each_beats_half_of_the_others(size: int, players: int) -> None:
    """Rock, paper, scissors; with lizard and Spock; and seven of the kind: one equilibrium, all alike."""

    def pay(own: int, others: tuple[int, ...]) -> float:
        beaten = [(own - step) % size for step in range(1, size // 2 + 1)]
        beating = [(own + step) % size for step in range(1, size // 2 + 1)]
        return float(sum(others[each] for each in beaten) - sum(others[each] for each in beating))

    (found,) = game_of(pay, size, players).equilibria
    assert list(found.mix.values()) == pytest.approx([1 / size] * size)


def test_strategies_that_tie_in_every_mix_are_one_face() -> None:
    """A, B, C pay 2 among each other, and nothing beside D, who pays 3 beside A alone and 1 beside D."""
    game = game_of(lambda own, o: float(o[3] > 0) + 3 * (o[0] == 2) if own == 3 else 2.0 * (not o[3]), 4, 3)
    assert game.neutral_faces == (("A", "B", "C"),)
    assert all(np.count_nonzero(mix) < 2 or mix[3] > 0 for mix in mixes(game))


@pytest.mark.parametrize(("less", "faces"), [(1e-12, (("A", "B"),)), (1e-6, ())])
def test_ties_are_within_rounding(less: float, faces: tuple[tuple[str, ...], ...]) -> None:
    assert matrix_game([[1, 1, 0], [1, 1 - less, 0], [0, 0, 0]]).neutral_faces == faces


def test_no_equilibrium_is_listed_twice() -> None:
    """The difference of the payoffs is p (p - 1/2)^3, but for rounding errors: a root at 0, and one of many."""
    shares = Polynomial([0, 1]) * Polynomial([-0.5, 1]) ** 3
    bernstein = [sum(shares.coef[i] * comb(k, i) / comb(4, i) for i in range(k + 1)) for k in range(5)]
    for error in (0, 1e-15, -1e-15):
        found = mixes(game_of(lambda own, others, less=error: (bernstein[others[0]] - less) * (own == 0), 2, 5))
        assert len(np.unique(found.round(3), axis=0)) == len(found)
        assert all(share == 0 or share > 1e-6 for share in found.ravel())


def known_of(
    pay: Callable[[int, tuple[int, ...]], float], players: int, played: Callable[[tuple[int, ...]], bool]
) -> dict[tuple[int, ...], list[float]]:
    """The payoffs of three strategies in the mixes that were played."""
    found = {}
    for counts in filter(played, compositions(players, 3)):
        others = [tuple((np.array(counts) - np.eye(3, dtype=int)[own]).tolist()) for own in range(3)]
        found[counts] = [pay(own, others[own]) if counts[own] else np.nan for own in range(3)]
    return found


def test_nothing_is_stable_by_fitted_payoffs() -> None:
    rng = np.random.default_rng(0)
    game = SymmetricGame.of("ABC", [known_of(lambda own, others: rng.normal(), 4, lambda counts: 0 in counts)])
    assert game.fitted.sum() == 9
    for found in game.equilibria:
        assert (found.is_stable is None) is (max(found.mix.values()) < 1)


def test_unknown_payoffs_are_fitted_where_payoffs_are_linear_exactly() -> None:
    def pay(own: int, others: tuple[int, ...]) -> float:
        return own + 2.0 * others[0] - 3.0 * others[2] * (own == 1)

    every_other = itertools.cycle([True, False])
    game = SymmetricGame.of("ABC", [known_of(pay, 7, lambda counts: next(every_other))])
    np.testing.assert_allclose(game.table, game_of(pay, 3, 7).table, atol=1e-9)


# What varies with the samples


def sampled(matrix: list[list[float]], noise: float, samples: int, seed: int = 0) -> SymmetricGame:
    """A game of two players; the noise is that of a payoff in a sample."""
    mean = np.array(matrix, dtype=float).T  # a row per strategy of the other player
    tables = mean + noise * np.random.default_rng(seed).normal(size=(samples, *mean.shape))
    return table_game("ABCD"[: len(matrix)], 2, tables, seed)


def test_the_share_of_an_equilibrium_has_an_interval_with_the_true_one() -> None:
    hawks = sampled([[-1, 2], [0, 1]], 0.5, 30)
    (found,) = hawks.equilibria
    assert found.held == 1
    assert 0.3 < found.shares["A"].low < 0.5 < found.shares["A"].high < 0.7
    assert found.shares["A"].low < found.mix["A"] < found.shares["A"].high
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["held"] == 1
    assert table_game("AB", 2, hawks.tables, 0).equilibria == hawks.equilibria
    assert table_game("AB", 2, hawks.tables, 7).equilibria != hawks.equilibria


def test_four_samples_have_no_intervals() -> None:
    few = sampled([[0.6, 0], [0, 0.4]], 0.1, 4)
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


def test_invaders_that_were_not_played_are_left_out():
    samples = [{(2, 0): [1.0, np.nan], (0, 2): [np.nan, 1.0]}] * 5
    assert SymmetricGame.of("AB", samples).invasion == {}
