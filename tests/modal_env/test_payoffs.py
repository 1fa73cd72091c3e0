"""Other games than the prisoner's dilemma: named, ordinal, bimatrix, from files; and prices other than depth."""

from fractions import Fraction as F

import numpy as np
import pytest

import modal_env
from modal_env.errors import GameError
from modal_env.games.costs import COSTS, as_cost
from modal_env.games.equilibria import equilibria, equilibria_of
from modal_env.games.game import ProgramGame, meet
from modal_env.games.payoffs import PRESETS, as_table
from modal_env.logic.library import POST, CooperateBot, DefectBot, FairBot, SlipBot
from tests.modal_env.gambit import by_gambit, extremes


def check_against_gambit(number: int, seed: int) -> int:
    """Compare equilibria of random bimatrix games with random costs; returns how many games differ."""
    generator, differ = np.random.default_rng(seed), 0
    for _ in range(number):
        size, top = int(generator.integers(2, 5)), int(generator.choice([2, 3, 20]))
        row, turned, cost = (
            [[F(int(value)) for value in line] for line in generator.integers(0, top + 1, (size, size))]
            for _ in range(3)
        )
        epsilon = F(int(generator.integers(0, 10)), 10)
        mine = [[a - epsilon * b for a, b in zip(*lines, strict=True)] for lines in zip(row, cost, strict=True)]
        theirs = [[a - epsilon * b for a, b in zip(*lines, strict=True)] for lines in zip(turned, cost, strict=True)]
        found = extremes(equilibria_of(("",) * size, mine, False, turned=theirs))
        differ += found != by_gambit(mine, [list(line) for line in zip(*theirs, strict=True)])
    return differ


def test_bimatrix_games_have_the_extreme_equilibria_that_gambit_finds() -> None:
    assert check_against_gambit(25, seed=0) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["battle-of-the-sexes", "matching-pennies", "rg-69", "rg-75", "stag-hunt"])
def test_libraries_in_other_games_have_the_extreme_equilibria_that_gambit_finds(name: str) -> None:
    for epsilon in ("0", "1/10", "1/3"):
        game = ProgramGame([*POST, SlipBot], epsilon, payoffs=name)
        column = [list(line) for line in zip(*game.turned.utilities, strict=True)]
        found = extremes(equilibria(game.agents, epsilon, payoffs=name))
        assert found == by_gambit([list(line) for line in game.utilities], column)


def test_the_games_have_the_equilibria_of_their_classes() -> None:
    """Of the 144 games of named players 18 have no pure equilibrium, 108 one, 18 two; 6 and 6 of them are symmetric."""
    counts = [len(PRESETS[f"rg-{number}"].pure) for number in range(1, 79)]
    assert [counts.count(n) for n in range(4)] == [9, 57, 12, 0]


def test_a_bimatrix_game_pays_each_seat() -> None:
    game = ProgramGame([CooperateBot, DefectBot], 0, payoffs="matching-pennies")
    assert game.utilities == ((1, 0), (0, 1))
    assert game.turned.utilities == ((0, 1), (1, 0))
    assert game.turned.turned.utilities == game.utilities
    assert meet(CooperateBot, DefectBot, payoffs="battle-of-the-sexes").points == (0, 0)
    assert meet(DefectBot, DefectBot, payoffs="battle-of-the-sexes").points == (1, 2)
    assert "column player" in str(game)


def test_tables_and_texts() -> None:
    single = {"CC": 3, "CD": 0, "DC": 2, "DD": 1}
    assert as_table(single).own == as_table("CC=3, CD=0, DC=2, DD=1").own == PRESETS["stag-hunt"].own
    pairs = {"CC": (2, 1), "CD": (0, 0), "DC": (0, 0), "DD": (1, 2)}
    assert as_table(pairs) == as_table("CC=2:1,CD=0:0,DC=0:0,DD=1:2") == PRESETS["battle-of-the-sexes"]
    table = as_table("CC=2:1,CD=1/3:0,DC=0:0,DD=1:2")
    assert (table["CD"], table.turned["DC"], table.turned["DD"]) == (F(1, 3), 0, 2)
    assert equilibria(["CB", "DB"], 0, payoffs=table)


def test_populations_sit_in_both_seats() -> None:
    game = ProgramGame([CooperateBot, DefectBot], 0, payoffs="battle-of-the-sexes")
    assert modal_env.growth(game, [3, 1], 5).counts[0] == 8
    assert modal_env.replicator(game, [F(2, 3), F(1, 3)], 50.0).shares[-1][0] > 0.99


def test_any_price() -> None:
    for name in COSTS:
        assert as_cost(name) == name
    table = ProgramGame(POST, 1, {"depth": 1, "box": "1/2", "call": 2, "symbol": 0}).affine[1]
    assert [row[0] for row in table] == [0, 0, F(7, 2), 2 + 1 + 4]  # FairBot: 1 + 1/2 + 2; PrudentBot: 2 + 2/2 + 2 * 2
    assert ProgramGame(POST, 1, "depth=1,box=1/2,call=2,symbol=0").affine[1] == table
    for unit, prices in {"box": [0, 0, 1, 2, 2], "call": [0, 0, 1, 2, 1]}.items():
        assert [row[0] for row in ProgramGame([*POST, "[][]X(me)"], 1, {unit: 1}).affine[1]] == prices
    assert ProgramGame(POST, 1, {0: 0, 1: 3, 2: 4}).affine[1] == ProgramGame(POST, 1, "0=0,1=3,2=4").affine[1]
    assert [row[0] for row in ProgramGame(POST, 1, "0=0,1=3,2=4").affine[1]] == [0, 0, 3, 4]
    assert ProgramGame(POST, 1, {"world": 1}).affine[1] == ProgramGame(POST, 1, "worlds").affine[1]
    assert ProgramGame(POST, 1, lambda agent, opponent, settles: agent.depth).affine == ProgramGame(POST, 1).affine
    assert len(equilibria(POST, "1/10", "depth=1/2")) == len(equilibria(POST, "1/20"))


@pytest.mark.parametrize("paid", [-1, "much", None])
def test_a_function_that_returns_no_price_is_told(paid: object) -> None:
    def odd(agent, opponent, settles):
        return paid

    with pytest.raises(GameError, match="odd"):
        _ = ProgramGame(POST, 0, odd).affine
    with pytest.raises(GameError, match="depth 2"):
        _ = ProgramGame(POST, 0, {0: 0, 1: 1}).affine


def play_rounds(**options):
    env = modal_env.parallel_env(rounds=6, agents=[CooperateBot, DefectBot, FairBot], **options)
    env.reset(seed=0)
    for number in range(6):
        env.step({agent: (number + place) % 3 for place, agent in enumerate(env.agents)})
    return env


def test_of_an_odd_number_of_players_one_sits_out() -> None:
    history = play_rounds(players=3).unwrapped.contest.history
    for played in history:
        out = [player for player in range(3) if played.partners[player] == player]
        assert len(out) == 1
        assert played.moves[out[0]] == "-"
        assert played.payoffs[out[0]] == 0
    assert len({played.moves.index("-") for played in history}) > 1


def test_two_players_keep_their_seats() -> None:
    history = play_rounds(payoffs="matching-pennies", epsilon=0).unwrapped.contest.history
    assert {played.seats for played in history} == {("row", "column")}
    for played in history:
        assert played.payoffs == ((1, 0) if played.moves[0] == played.moves[1] else (0, 1))
