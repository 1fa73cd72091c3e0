"""Symmetric games as tables: equilibria, against hand-solved games and other computations."""

import itertools
from collections.abc import Callable
from math import comb

import numpy as np
import pygambit
import pytest
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from evaluation.measures.symmetric_game import GameTableError, SymmetricGame, compositions

Floats = NDArray[np.float64]


def game_of(pay: Callable[[int, tuple[int, ...]], float], number: int, players: int) -> SymmetricGame:
    """From the payoff of a strategy when the others are dealt so."""
    table = [[pay(own, others) for own in range(number)] for others in compositions(players - 1, number)]
    return SymmetricGame(tuple("ABCDEFGH"[:number]), players, np.array(table, dtype=float))


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


def test_compositions_are_all_and_once() -> None:
    found = list(compositions(7, 4))
    assert len(found) == len(set(found)) == comb(10, 3)
    assert {sum(counts) for counts in found} == {7}
    assert found[0] == (7, 0, 0, 0)


@pytest.mark.parametrize(("number", "players"), [(2, 7), (3, 4), (4, 3)])
def test_payoffs_against_a_mix_are_the_sum_over_all_profiles(number: int, players: int) -> None:
    game = random_game(1, number, players)
    batch = np.random.default_rng(2).dirichlet(np.ones(number), size=3)
    np.testing.assert_allclose(game.payoffs(batch), [by_profiles(game, mix) for mix in batch], atol=1e-12)


def test_a_chicken_of_seven_solved_by_hand() -> None:
    """Whoever plays A gets 1 if nobody else does, else -1; B is worth 0. Alone with chance q^6 = 1/2."""
    game = game_of(lambda own, others: 0.0 if own else (1.0 if others[0] == 0 else -1.0), 2, 7)
    (found,) = game.equilibria
    share = 1 - 0.5 ** (1 / 6)
    assert found.mix["A"] == pytest.approx(share, abs=1e-9)
    assert found.payoff == pytest.approx(0, abs=1e-9)
    assert found.is_stable


def test_a_stag_hunt_of_seven_solved_by_hand() -> None:
    """A pays 2 only when all play it; B pays 1: both pure, and the mix of 2 p^6 = 1, which is unstable."""
    game = game_of(lambda own, others: 1.0 if own else 2.0 * (others[0] == 6), 2, 7)
    found = {round(each.mix["A"], 9): each for each in game.equilibria}
    assert sorted(found) == [0.0, pytest.approx(0.5 ** (1 / 6), abs=1e-8), 1.0]
    assert [found[share].is_stable for share in sorted(found)] == [True, False, True]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("number", "players"), [(2, 7), (3, 7), (4, 4)])
def test_nobody_gains_by_leaving_an_equilibrium(seed: int, number: int, players: int) -> None:
    game = random_game(seed, number, players)
    assert game.equilibria or number > 2
    for found in game.equilibria:
        mix = np.array(list(found.mix.values()))
        assert mix.sum() == pytest.approx(1)
        paid = by_profiles(game, mix)
        assert paid.max() - mix @ paid < 1e-7
        assert found.payoff == pytest.approx(mix @ paid)
        assert list(found.gains.values()) == pytest.approx((paid - mix @ paid).tolist(), abs=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_two_strategies_have_all_equilibria_that_a_fine_grid_shows(seed: int) -> None:
    game = random_game(seed, 2, 7)
    shares = np.linspace(0, 1, 20001)
    paid = game.payoffs(np.column_stack([shares, 1 - shares]))
    difference = paid[:, 0] - paid[:, 1]
    crossings = np.count_nonzero(np.diff(np.sign(difference)))
    assert len(game.equilibria) == crossings + (difference[0] <= 0) + (difference[-1] >= 0)


@pytest.mark.parametrize(("seed", "size"), [*((seed, 3) for seed in range(8)), *((seed, 6) for seed in range(3))])
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


@pytest.mark.parametrize("size", [3, 5, 7])
@pytest.mark.parametrize("players", [2, 4])
def test_every_strategy_is_mixed_where_each_beats_half_of_the_others(size: int, players: int) -> None:
    """Rock, paper, scissors; with lizard and Spock; and seven of the kind: one equilibrium, all alike."""

    def pay(own: int, others: tuple[int, ...]) -> float:
        beaten = [(own - step) % size for step in range(1, size // 2 + 1)]
        beating = [(own + step) % size for step in range(1, size // 2 + 1)]
        return float(sum(others[each] for each in beaten) - sum(others[each] for each in beating))

    (found,) = game_of(pay, size, players).equilibria
    assert list(found.mix.values()) == pytest.approx([1 / size] * size)


def hawks(number: int) -> SymmetricGame:
    """Hawks and doves who contest 2 at a cost of 4 (half of each), with the last strategies all doves."""
    return matrix_game([[-1, *[2] * (number - 1)], *[[0, *[1] * (number - 1)]] * (number - 1)])


def test_strategies_that_tie_in_every_mix_are_one_face() -> None:
    """A, B, C pay 2 among each other, and nothing beside D, who pays 3 beside A alone and 1 beside D."""
    game = game_of(lambda own, o: float(o[3] > 0) + 3 * (o[0] == 2) if own == 3 else 2.0 * (not o[3]), 4, 3)
    assert game.neutral_faces == (("A", "B", "C"),)
    assert all(np.count_nonzero(mix) < 2 or mix[3] > 0 for mix in mixes(game))


def test_ties_beside_another_strategy_too() -> None:
    assert hawks(3).neutral_faces == (("B", "C"),)
    assert sorted(mixes(hawks(3)).tolist()) == [pytest.approx([0.5, 0, 0.5]), pytest.approx([0.5, 0.5, 0])]


@pytest.mark.parametrize(("less", "faces"), [(1e-12, (("A", "B"),)), (1e-6, ())])
def test_ties_are_within_rounding(less: float, faces: tuple[tuple[str, ...], ...]) -> None:
    assert matrix_game([[1, 1, 0], [1, 1 - less, 0], [0, 0, 0]]).neutral_faces == faces


def test_no_equilibrium_is_listed_twice() -> None:
    """The difference of the payoffs is p (p - 1/2)^3, but for rounding errors: a root at 0, and one of many."""
    shares = Polynomial([0, 1]) * Polynomial([-0.5, 1]) ** 3
    bernstein = [sum(shares.coef[i] * comb(k, i) / comb(4, i) for i in range(k + 1)) for k in range(5)]
    for error in (0, 1e-15, -1e-15):
        game = game_of(lambda own, others, less=error: (bernstein[others[0]] - less) * (own == 0), 2, 5)
        found = mixes(game)
        assert len(np.unique(found.round(3), axis=0)) == len(found)
        assert all(share == 0 or share > 1e-6 for share in found.ravel())


def test_nothing_is_stable_by_fitted_payoffs() -> None:
    whole = random_game(0, 3, 4)
    known = {}
    for counts in compositions(4, 3):
        if np.count_nonzero(counts) < 3:
            others = [tuple(np.array(counts) - np.eye(3, dtype=int)[own]) for own in range(3)]
            rows = {tuple(row): paid for row, paid in zip(whole.others.tolist(), whole.table, strict=True)}
            known[counts] = [rows[others[own]][own] if counts[own] else np.nan for own in range(3)]
    game = SymmetricGame.of("ABC", known)
    assert game.fitted is not None
    assert game.fitted.sum() == 9
    for found in game.equilibria:
        is_pure = max(found.mix.values()) == 1
        assert found.is_fitted is not is_pure
        assert is_pure or found.is_stable is None
    assert all(found.is_stable is not None for found in whole.equilibria)


def test_unknown_payoffs_are_fitted_where_payoffs_are_linear_exactly() -> None:
    def pay(own: int, others: tuple[int, ...]) -> float:
        return own + 2.0 * others[0] - 3.0 * others[2] * (own == 1)

    whole = game_of(pay, 3, 7)
    known: dict[tuple[int, ...], list[float]] = {}
    for counts in list(compositions(7, 3))[::2]:
        rows = [tuple(np.array(counts) - np.eye(3, dtype=int)[own]) for own in range(3)]
        known[counts] = [pay(own, rows[own]) if counts[own] else np.nan for own in range(3)]
    np.testing.assert_allclose(SymmetricGame.of("ABC", known).table, whole.table, atol=1e-9)


def test_where_all_pay_the_same_only_the_pure_ones_are_told() -> None:
    game = game_of(lambda own, others: 4.0, 3, 7)
    assert sorted(mixes(game).tolist())[-1] == [1.0, 0.0, 0.0]
    assert not any(found.is_stable for found in game.equilibria)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: SymmetricGame(("A", "B"), 7, np.zeros((6, 2))),
        lambda: SymmetricGame(("A", "B"), 2, np.array([[1.0, np.nan], [0, 0]])),
        lambda: SymmetricGame.of("AB", {}),
        lambda: SymmetricGame.of("AB", {(1, 1): [0, 0], (2, 1): [0, 0]}),
        lambda: SymmetricGame.of("AB", {(2, 0): [1, np.nan]}),
    ],
)
def test_wrong_tables_are_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(GameTableError):
        wrong()
