"""The game of choosing a program: payoffs, the five costs, mixes, best replies, and what it refuses."""

from fractions import Fraction as F
from typing import Any

import pytest

from modal_env.errors import GameError
from modal_env.games.game import COSTS, PAYOFFS, ProgramGame, arranged, exact, meet
from modal_env.logic.library import LIBRARY, POST, CooperateBot, DefectBot, FairBot, RandomBot
from modal_env.logic.notation import parse

E = F(1, 10)


# By hand. Sizes are 1, 1, 2, 7. FairBot's box falls at world 1 against DefectBot; PrudentBot needs the []false in its
# code, which falls at 1, against everybody, and its own box falls at 2 against CooperateBot.
COSTS_OF_THE_POST = {
    "depth": [[0] * 4, [0] * 4, [1] * 4, [2] * 4],
    "size": [[1] * 4, [1] * 4, [2] * 4, [7] * 4],
    "opponent": [[0] * 4, [0] * 4, [1, 1, 2, 7], [1, 1, 2, 7]],
    "sum": [[1] * 4, [1] * 4, [3, 3, 4, 9], [8, 8, 9, 14]],
    "worlds": [[0] * 4, [0] * 4, [1, 2, 1, 2], [3, 2, 2, 2]],
}


@pytest.mark.parametrize("cost", COSTS)
def test_costs_of_the_post(cost: str) -> None:
    base, slope = ProgramGame(POST, 0, cost).affine
    assert [list(row) for row in slope] == COSTS_OF_THE_POST[cost]
    assert base == ProgramGame(POST, 0).utilities


def test_an_agent_that_calls_only_others_models_its_opponent_but_a_constant_box_does_not() -> None:
    troll, vain = parse("[]X(DefectBot)"), parse("[]true")
    assert ProgramGame([troll, vain], 0, "opponent").affine[1] == ((2, 2), (0, 0))
    assert ProgramGame([troll, vain], 0, "depth").affine[1] == ((1, 1), (1, 1))


def test_random_bot_is_paid_on_average() -> None:
    """As the reply to the question in the comments says: like DefectBot, but worse against everybody."""
    game = ProgramGame([*POST, RandomBot], E)
    assert game.utilities[4] == (F(5, 2), F(1, 2), F(1, 2), F(1, 2), F(3, 2))
    assert [row[4] for row in game.utilities] == [1, 2, 2 - E, 2 - 2 * E, F(3, 2)]
    assert all(coin < defect for coin, defect in zip(game.utilities[4], game.utilities[1], strict=True))


@pytest.mark.parametrize("cost", COSTS)
def test_a_meeting_agrees_with_the_game(cost: str) -> None:
    agents = list(LIBRARY.values())
    base, slope = ProgramGame(agents, 0, cost).affine
    paid = ProgramGame(agents, E, cost).utilities
    for i, a in enumerate(agents):
        for j, b in enumerate(agents[: i + 1]):
            met = meet(a, b, cost)
            assert (met.points, met.costs) == ((base[i][j], base[j][i]), (slope[i][j], slope[j][i]))
            assert met.paid(E) == paid[i][j]


def test_other_payoffs() -> None:
    game = ProgramGame([CooperateBot, DefectBot], 0, payoffs={"CC": 3, "CD": "-1/2", "DC": 5, "DD": 0.5})
    assert game.utilities == ((3, F(-1, 2)), (5, F(1, 2)))
    assert PAYOFFS == {"CC": 2, "CD": 0, "DC": 3, "DD": 1}


@pytest.mark.parametrize("payoffs", ["prisoners-dilemma", "battle-of-the-sexes"])
def test_the_same_game_at_another_price(payoffs: str) -> None:
    game, wanted = (ProgramGame(POST, epsilon, "size", payoffs) for epsilon in (0, E))
    assert game.turned.utilities != wanted.turned.utilities
    assert game.at(E).utilities == wanted.utilities
    assert game.at(E).turned.utilities == wanted.turned.utilities


def test_a_mix_may_be_written_in_three_ways() -> None:
    game = ProgramGame(POST, E)
    assert game.mix({"FairBot": "9/10", "DefectBot": 0.1}) == game.mix([0, 0.1, F(9, 10), 0]) == (0, E, F(9, 10), 0)
    assert game.mix(FairBot) == game.mix({"FairBot": 1}) == (0, 0, 1, 0)


@pytest.mark.parametrize(
    ("value", "fraction"), [(0.1, F(1, 10)), ("1e-2", F(1, 100)), ("2/6", F(1, 3)), (1e-300, F(1, 10**300)), (3, F(3))]
)
def test_a_float_is_the_decimal_number_that_it_prints_as(value: object, fraction: F) -> None:
    assert exact(value, "epsilon") == fraction


@pytest.mark.parametrize("given", [{"Nobody": 1}, {3: 1}, {"FB": 1, "FairBot": 2}])
def test_what_is_given_for_unknown_agents_or_twice_is_refused(given: dict[Any, int]) -> None:
    with pytest.raises(GameError):
        arranged(["FairBot", "DefectBot"], given, 0)
    assert arranged(["FairBot", "DefectBot"], {"db": 1}, 0) == [0, 1]
