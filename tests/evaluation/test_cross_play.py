"""Cross-play: which mixes are played, who sits where, payoffs against the records themselves; and symmetric games."""

import csv
import itertools
import json
from collections import Counter
from collections.abc import Callable
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pygambit
import pytest
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

import agents
import evaluation
from agents import DovePolicy
from evaluation import CrossPlayResult, GameStore, Setting
from evaluation.experiments.cross_play import _games, all_mixes
from evaluation.measures.symmetric_game import SymmetricGame, compositions
from evaluation.tables.cross_play_tables import player_table
from evaluation.tables.game_tables import cell
from tests.evaluation.conftest import call
from welfare_env import Rules
from welfare_env.board.toy_boards import toy_map

QUICK = Rules(years=1, press=None)
POWERS = ("AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "ITALY", "RUSSIA", "TURKEY")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[CrossPlayResult, Path]:
    path = tmp_path_factory.mktemp("cross") / "games.sqlite"
    with GameStore(path) as store:
        common: dict[str, Any] = {"rules": QUICK, "map_name": "pure", "store": store, "seed": 3}
        return evaluation.cross_play(["random", "hold"], 7, background=["prosocial"], focal_seats=[2], **common), path


def test_mixes_are_all_of_up_to_so_many_policies() -> None:
    assert len(all_mixes(3, 7, 4)) == len(set(all_mixes(3, 7, 4))) == comb(9, 2)
    assert set(all_mixes(6, 7, 7)) == set(all_mixes(6, 7, 6))
    assert len(all_mixes(6, 7, 6)) == comb(12, 5)
    assert all_mixes(5, 7, 1) == [tuple(7 * (place == own) for place in range(5)) for own in range(5)]
    for mix in all_mixes(6, 7, 4):
        assert sum(mix) == 7
        assert np.count_nonzero(mix) <= 4
    assert max(len([1 for count in mix if count]) for mix in all_mixes(6, 3, 4)) == 3  # of three seats


def test_every_policy_sits_in_every_seat_equally_often(stored: tuple[CrossPlayResult, Path]) -> None:
    result, _ = stored
    assert len(result.mixes) == 8
    for counts, mix in result.mixes.items():
        for power in POWERS:
            found = Counter(seats[power] for seats in mix.seats)
            assert found == {name: count for name, count in zip(result.policies, counts, strict=True) if count}
        assert all(Counter(seats.values()) == mix.counts for seats in mix.seats)


def test_payoffs_are_those_of_the_records(
    stored: tuple[CrossPlayResult, Path], rows_of: Callable[[Path], list[Any]]
) -> None:
    """From the store's rows alone: who sat where, and what the last phase says each has."""
    result, path = stored
    by_mix: dict[tuple[tuple[str, int], ...], dict[str, list[float]]] = {}
    for row in rows_of(path):
        seats, last = row.specification["players"], row.record["phases"][-1]["state"]["welfare"]
        mix = tuple(sorted(Counter(seats.values()).items()))
        for policy in set(seats.values()):
            mine = [last[power] for power, who in seats.items() if who == policy]
            by_mix.setdefault(mix, {}).setdefault(policy, []).append(sum(mine) / len(mine))
    games = [*result.mixes.values(), *(scenario.games for scenario in result.scenarios)]
    assert len(by_mix) == len(games) == 10
    for mixed in games:
        theirs = by_mix[tuple(sorted(mixed.counts.items()))]
        for policy, estimate in mixed.payoffs.items():
            assert sorted(estimate.per_game) == pytest.approx(sorted(theirs[policy]))
            assert estimate.value == pytest.approx(np.mean(theirs[policy]))
            assert estimate.is_alike or estimate.low <= estimate.value <= estimate.high


def test_payoffs_are_points_a_year() -> None:
    options: dict[str, Any] = {"rules": Rules(years=2, press=None), "map_name": "clique:2"}
    alone = evaluation.cross_play(["prosocial", "hold"], 2, **options).mixes[2, 0].payoffs["prosocial"]
    assert alone.value == evaluation.self_play("prosocial", 1, **options).welfare_per_year["PLAYERA"].value > 0


@pytest.mark.slow
def test_samples_are_whole_rotations_of_the_seats_from_five_on(stored: tuple[CrossPlayResult, Path]) -> None:
    few, _ = stored
    assert (few.games_a_sample, len(few.empirical_game.tables)) == (1, 7)
    rules = Rules(years=2, message_rounds=0)
    policies = ["prosocial", "dove", "hold"]
    many = evaluation.cross_play(policies, 15, rules=rules, map_name="clique:3")
    assert (many.games_a_sample, len(many.empirical_game.tables)) == (3, 5)
    paid = many.mixes[1, 2, 0].payoffs["prosocial"].per_game
    column = many.empirical_game.others.tolist().index([0, 2, 0])
    means = np.array(paid).reshape(5, 3).mean(axis=1)
    np.testing.assert_allclose(many.empirical_game.tables[:, column, 0], means)
    drawn = evaluation.cross_play(policies, 15, rules=rules, map_name="clique:3", seats="drawn")
    assert drawn.games_a_sample == 1


def test_the_empirical_game_has_the_payoffs_and_its_equilibria_have_no_gains(
    stored: tuple[CrossPlayResult, Path],
) -> None:
    result, _ = stored
    game = result.empirical_game
    assert not result.empirical_game.fitted.any()
    for row, others in enumerate(game.others.tolist()):
        for own, policy in enumerate(result.policies):
            counts = tuple(count + (place == own) for place, count in enumerate(others))
            assert game.table[row, own] == pytest.approx(result.mixes[counts].payoffs[policy].value)
    assert result.equilibria
    for equilibrium, gains in zip(result.equilibria, result.gains, strict=True):
        paid = game.payoffs(np.array(list(equilibrium.mix.values())))
        for policy, gain in zip(result.policies, paid - equilibrium.payoff, strict=True):
            assert gains[policy].value == pytest.approx(gain, abs=1e-9)
            assert gains[policy].value <= 1e-9
            assert gains[policy].n == 7


def test_scenarios_tell_focal_seats_apart(stored: tuple[CrossPlayResult, Path]) -> None:
    result, _ = stored
    assert [(each.focal, each.background) for each in result.scenarios] == [(p, "prosocial") for p in result.policies]
    for scenario in result.scenarios:
        assert scenario.games.counts == {scenario.focal: 2, "prosocial": 5}


def test_another_policy_plays_only_the_mixes_that_are_new(tmp_path: Path, played: list[Any]) -> None:
    """On a board of two players, where three policies have six mixes and at most two policies meet."""
    path = tmp_path / "toy.map"
    path.write_text(toy_map("clique:2"))
    with GameStore(tmp_path / "games.sqlite") as store:
        common: dict[str, Any] = {"rules": Rules(years=2, press=None), "map_name": str(path), "store": store}
        two = evaluation.cross_play(["hold", "random"], 2, **common)
        assert len(played) == 3 * 2
        three = evaluation.cross_play(["hold", "random", "prosocial"], 2, **common)
        assert len(played) == 6 * 2
    assert not three.empirical_game.fitted.any()
    assert all(three.mixes[*counts, 0].payoffs == mix.payoffs for counts, mix in two.mixes.items())
    assert three.empirical_game.players == 2


def test_standard_games_pay_scores() -> None:
    rules = Rules(variant="standard", years=2, press=None)
    result = evaluation.cross_play(["dumbbot", "hold"], 3, rules=rules, map_name="clique:3")
    mix = result.mixes[(1, 2)]
    paid = [
        np.mean([game.scores[power] for power in seats if seats[power] == "hold"])
        for game, seats in zip(mix.measures, mix.seats, strict=True)
    ]
    assert list(mix.payoffs["hold"].per_game) == pytest.approx(paid)
    json.dumps(result.to_dict(), allow_nan=False)


def test_objects_without_a_name_are_numbered_where_they_look_alike() -> None:
    one, other, third = DovePolicy(), DovePolicy(), DovePolicy()
    result = evaluation.cross_play([one, other], types=1, rules=QUICK, background=[third])
    (scenario, _) = result.scenarios
    assert len({*result.policies, scenario.background}) == 3
    assert list(scenario.games.counts.values()) == [1, 6]
    assert result.mixes[(7, 0)].counts.keys() != result.mixes[(0, 7)].counts.keys()


@pytest.mark.parametrize(("options", "games"), [({}, 3), ({"games": 2, "seats": "drawn"}, 2)])
def test_the_number_of_games_balances_seats_that_rotate(options: dict[str, Any], games: int) -> None:
    result = evaluation.cross_play(["hold", "prosocial"], map_name="clique:3", rules=QUICK, **options)
    assert {len(mix.seats) for mix in result.mixes.values()} == {result.games} == {games}


def test_the_command(tmp_path: Path) -> None:
    options = ["--years", "1", "--message-rounds", "0", "--map", "clique:3", "--workers", "1", "--games", "3"]
    players = ["cross-play", "dove", "hold", "--background", "random", "--store", tmp_path / "games.sqlite"]
    rows_file = tmp_path / "new" / "table.csv"
    shown = call(*players, *options, "--csv", rows_file)
    with rows_file.open(newline="") as file:
        rows = list(csv.DictReader(file))
    mixes = ["3*dove", "3*hold", "2*dove + 1*hold", "1*dove + 2*hold", "1*dove + 2*random", "1*hold + 2*random"]
    assert list(dict.fromkeys(row["profile"] for row in rows)) == mixes
    assert len(rows) == 6 * 3 * 3
    assert "│ 3 0 " not in shown
    shown = call(*players, *options, "--mixes")
    assert shown.index("Scenarios") < shown.index("Mixes") < shown.index("│ 3 0 ")
    alone = json.loads(call(*players, *options, "--types", "1", "--json"))
    assert alone["scenarios"][0]["background"] == "random"
    assert alone["mixed_payoffs"]["hold"]["value"] is None  # with each other they did not play


def test_the_table_of_policies_has_each_number_under_its_name(stored: tuple[CrossPlayResult, Path]) -> None:
    result, _ = stored
    columns = {str(column.header): list(map(str, column.cells)) for column in player_table(result).columns}
    numbers = {"root Nash welfare alone": result.self_play_welfare, "points among others": result.mixed_payoffs}
    assert columns["policy"] == list(result.policies)
    for name, found in numbers.items():
        assert columns[name] == [cell(found[policy]) for policy in result.policies]


def test_neighbors_are_drawn_anew_in_each_rotation():
    setting = Setting(rules=Rules(press=None))
    mix = [(4, agents.specs.read("dove")), (3, agents.specs.read("hold"))]
    games = [tuple(policy.text for _, policy in game.players) for game in _games(setting, mix, 14)]
    assert set(games[:7]) != set(games[7:])


def test_a_mediator_has_no_part_in_a_mix():
    rules = Rules(years=1, press="tokens", message_rounds=1, mediator=True)
    found = evaluation.cross_play(["prosocial", "hold"], 3, types=1, map_name="clique:3", rules=rules)
    assert all("MEDIATOR" not in seats for mix in found.mixes.values() for seats in mix.seats)


# Symmetric games as tables: equilibria, against hand-solved games and other solvers, and what varies with samples

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
