"""The game of choosing a program: payoffs, the five costs, mixes, best replies, and what it refuses."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import modal_env
from modal_env.errors import FormulaError, GameError
from modal_env.games.game import COSTS, PAYOFFS, ProgramGame, exact, meet
from modal_env.logic.library import LIBRARY, POST, CooperateBot, DefectBot, FairBot, PrudentBot, RandomBot
from modal_env.logic.notation import parse

E = F(1, 10)


def test_a_meeting_pays_points_less_the_cost() -> None:
    assert meet(FairBot, CooperateBot).paid(E) == 2 - E


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
    for i, a in enumerate(agents):
        for j, b in enumerate(agents[: i + 1]):
            met = meet(a, b, cost)
            assert (met.points, met.costs) == ((base[i][j], base[j][i]), (slope[i][j], slope[j][i]))


def test_a_meeting_tells_the_moves() -> None:
    assert meet(PrudentBot, CooperateBot).moves == ("D", "C")
    assert meet(FairBot, RandomBot).moves == ("D", "?")


def test_other_payoffs() -> None:
    game = ProgramGame([CooperateBot, DefectBot], 0, payoffs={"CC": 3, "CD": "-1/2", "DC": 5, "DD": 0.5})
    assert game.utilities == ((3, F(-1, 2)), (5, F(1, 2)))
    assert PAYOFFS == {"CC": 2, "CD": 0, "DC": 3, "DD": 1}


def test_a_mix_may_be_written_in_three_ways() -> None:
    game = ProgramGame(POST, E)
    assert game.mix({"FairBot": "9/10", "DefectBot": 0.1}) == game.mix([0, 0.1, F(9, 10), 0]) == (0, E, F(9, 10), 0)
    assert game.mix(FairBot) == game.mix({"FairBot": 1}) == (0, 0, 1, 0)


def test_another_epsilon_plays_nothing_again() -> None:
    game = ProgramGame(POST, 0, "worlds")
    assert game.at("1/3").utilities == ProgramGame(POST, "1/3", "worlds").utilities
    assert game.at("1/3").affine is game.affine
    assert game.epsilon == 0


@pytest.mark.slow
@given(st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any), st.fractions(0, 3))
def test_no_mix_is_paid_more_than_a_best_reply(weights: list[int], epsilon: F) -> None:
    game = ProgramGame(POST, 0).at(epsilon)
    mix = [F(weight, sum(weights)) for weight in weights]
    replies = game.replies(mix)
    assert game.utility(mix, mix) == sum(share * paid for share, paid in zip(mix, replies, strict=True)) <= max(replies)
    assert {replies[POST.index(agent)] for agent in game.best_replies(mix)} == {max(replies)}


@pytest.mark.parametrize(
    ("value", "fraction"), [(0.1, F(1, 10)), ("1e-2", F(1, 100)), ("2/6", F(1, 3)), (1e-300, F(1, 10**300)), (3, F(3))]
)
def test_a_float_is_the_decimal_number_that_it_prints_as(value: object, fraction: F) -> None:
    assert exact(value, "epsilon") == fraction


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], 0), "give a list of agents"),
        (("FairBot", 0), "give a list of agents"),
        ((["FB", "DB", "FairBot"], 0), "2 are called 'FairBot'; give each agent once"),
        ((POST, -1), "epsilon is -1: give a number from 0"),
        ((POST, "a tenth"), "epsilon is 'a tenth': give a number such as 1/100"),
        ((POST, float("nan")), "give a number"),
        ((POST, True), "give a number"),
        ((POST, 0, "time"), "cost='time': choose one of 'depth', 'size'"),
        ((POST, 0, "depth", {"CC": 2}), "give those of CC, CD, DC and DD"),
        ((POST, 0, "depth", None), "give those of CC, CD, DC and DD"),
        ((POST, 0, "depth", {**PAYOFFS, "DC": "much"}), "the payoff of DC is 'much'"),
    ],
)
def test_what_makes_no_game(arguments: tuple, message: str) -> None:
    with pytest.raises(GameError) as caught:
        ProgramGame(*arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "shares",
    [
        [1, 0, 0],
        [1, 0, 0, 0, 0],
        [2, -1, 0, 0],
        [0.3, 0.3, 0.3, 0],
        {"FairBot": "1/2"},
        RandomBot,
        "all",
    ],
)
def test_what_makes_no_mix(shares: object) -> None:
    with pytest.raises(GameError, match=r"mix|share"):
        ProgramGame(POST, 0).mix(shares)


@pytest.mark.parametrize("name", ["JustBot", "JB", "FireBot", "[]X(", 1, None])
def test_a_mix_names_agents_of_the_game(name: object) -> None:
    with pytest.raises(GameError, match=r"agent .* is not among CooperateBot, DefectBot, FairBot, PrudentBot"):
        ProgramGame(POST, 0).mix({name: 1})


def test_a_mix_names_no_agent_twice() -> None:
    with pytest.raises(GameError, match="FairBot is named twice"):
        ProgramGame(POST, 0).mix({"FairBot": "1/2", "FB": "1/2"})


def test_agents_by_name_and_as_formulas() -> None:
    game = ProgramGame(["cooperatebot", "DB", FairBot, "[](X(me) & (X(DefectBot) -> []false))"], E)
    assert game.utilities == ProgramGame(POST, E).utilities
    assert game.names[:3] == ("CooperateBot", "DefectBot", "FairBot")
    assert game.mix({"FB": 1, game.names[3]: 0}) == game.mix(FairBot)
    with pytest.raises(FormulaError, match="no agent is called 'FairBat'"):
        ProgramGame(["FairBat"], 0)


def test_deviants_by_name() -> None:
    family = modal_env.ranges(["DB", "FB"]).families[0]
    assert modal_env.survival_range(family, ["DB", "FB"], ["JB"]) == (family.interval,)


def test_agents_that_do_the_same_may_have_names_of_their_own() -> None:
    game = ProgramGame([FairBot, parse("[]X(me)", name="Twin")], 0)
    assert game.mix({"twin": 1}) == (0, 1)


@pytest.mark.parametrize("value", [np.int64(3), np.uint8(3), np.float64(3), np.float32(3), "3", np.str_("6/2"), F(3)])
def test_numbers_of_numpy(value: object) -> None:
    found = exact(value, "epsilon")
    assert (found, type(found.numerator), type(found.denominator)) == (3, int, int)


def test_a_game_in_words() -> None:
    assert str(ProgramGame(["CB", "DB"], "1/10", "size")) == (
        "epsilon 1/10, cost 'size'; what the row's agent is paid:\n"
        "                    0     1\n"
        "0 CooperateBot  19/10 -1/10\n"
        "1 DefectBot     29/10  9/10"
    )
    assert repr(ProgramGame(POST, 0)) == (
        "ProgramGame(4 agents: CooperateBot, DefectBot, FairBot, PrudentBot; epsilon 0, cost 'depth')"
    )
    assert len(repr(ProgramGame(LIBRARY.values(), 0))) < 200


def test_a_number_without_a_game_is_answered_with_the_numbers():
    with pytest.raises(GameError, match=r"^game 'rg-79': there are prisoners-dilemma, .*rg-1 to rg-78$"):
        ProgramGame(["FairBot"], 0, payoffs="rg-79")
