"""The game of choosing a program: payoffs, the five costs, mixes, best replies, and what it refuses."""

from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modal_env.errors import GameError
from modal_env.formula import parse
from modal_env.game import COSTS, PAYOFFS, Game, exact, meet
from modal_env.library import LIBRARY, POST, CooperateBot, DefectBot, FairBot, PrudentBot, RandomBot

E = F(1, 10)


def test_payoffs_of_the_post() -> None:
    assert Game(POST, E).utilities == (
        (2, 0, 2, 0),
        (3, 1, 1, 1),
        (2 - E, 1 - E, 2 - E, 2 - E),
        (3 - 2 * E, 1 - 2 * E, 2 - 2 * E, 2 - 2 * E),
    )


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
    base, slope = Game(POST, 0, cost).affine
    assert [list(row) for row in slope] == COSTS_OF_THE_POST[cost]
    assert base == Game(POST, 0).utilities


def test_an_agent_that_calls_only_others_models_its_opponent_but_a_constant_box_does_not() -> None:
    troll, vain = parse("[]X(DefectBot)"), parse("[]true")
    assert Game([troll, vain], 0, "opponent").affine[1] == ((2, 2), (0, 0))
    assert Game([troll, vain], 0, "depth").affine[1] == ((1, 1), (1, 1))


def test_random_bot_is_paid_on_average() -> None:
    """As the reply to the question in the comments says: like DefectBot, but worse against everybody."""
    game = Game([*POST, RandomBot], E)
    assert game.utilities[4] == (F(5, 2), F(1, 2), F(1, 2), F(1, 2), F(3, 2))
    assert [row[4] for row in game.utilities] == [1, 2, 2 - E, 2 - 2 * E, F(3, 2)]
    assert all(coin < defect for coin, defect in zip(game.utilities[4], game.utilities[1], strict=True))


@pytest.mark.parametrize("cost", COSTS)
def test_a_meeting_agrees_with_the_game(cost: str) -> None:
    agents = list(LIBRARY.values())
    base, slope = Game(agents, 0, cost).affine
    for i, a in enumerate(agents):
        for j, b in enumerate(agents[: i + 1]):
            met = meet(a, b, cost)
            assert (met.points, met.costs) == ((base[i][j], base[j][i]), (slope[i][j], slope[j][i]))


def test_a_meeting_tells_the_moves() -> None:
    assert meet(PrudentBot, CooperateBot).moves == ("D", "C")
    assert meet(FairBot, RandomBot).moves == ("D", "?")


def test_other_payoffs() -> None:
    game = Game([CooperateBot, DefectBot], 0, payoffs={"CC": 3, "CD": "-1/2", "DC": 5, "DD": 0.5})
    assert game.utilities == ((3, F(-1, 2)), (5, F(1, 2)))
    assert PAYOFFS == {"CC": 2, "CD": 0, "DC": 3, "DD": 1}


@pytest.mark.parametrize(
    ("epsilon", "agent", "best"),
    [
        ("1/10", CooperateBot, [DefectBot]),
        ("1/10", DefectBot, [DefectBot]),
        ("1/10", FairBot, [CooperateBot]),
        ("1/10", PrudentBot, [FairBot]),
        (1, PrudentBot, [DefectBot, FairBot]),  # the post: if epsilon is less than 1
        ("11/10", PrudentBot, [DefectBot]),
        (100, FairBot, [CooperateBot]),
        (0, CooperateBot, [DefectBot, PrudentBot]),
        (0, DefectBot, [DefectBot, FairBot, PrudentBot]),
        (0, FairBot, [CooperateBot, FairBot, PrudentBot]),
        (0, PrudentBot, [FairBot, PrudentBot]),
    ],
)
def test_best_replies_of_the_post(epsilon: object, agent: object, best: list[object]) -> None:
    assert Game(POST, epsilon).best_replies(agent) == tuple(best)


def test_a_mix_may_be_written_in_three_ways() -> None:
    game = Game(POST, E)
    assert game.mix({"FairBot": "9/10", "DefectBot": 0.1}) == game.mix([0, 0.1, F(9, 10), 0]) == (0, E, F(9, 10), 0)
    assert game.mix(FairBot) == game.mix({"FairBot": 1}) == (0, 0, 1, 0)


def test_another_epsilon_plays_nothing_again() -> None:
    game = Game(POST, 0, "worlds")
    assert game.at("1/3").utilities == Game(POST, "1/3", "worlds").utilities
    assert game.at("1/3").affine is game.affine
    assert game.epsilon == 0


@given(st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any), st.fractions(0, 3))
def test_no_mix_is_paid_more_than_a_best_reply(weights: list[int], epsilon: F) -> None:
    game = Game(POST, 0).at(epsilon)
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
        ((FairBot, 0), "give a list of agents"),
        (("FairBot", 0), "give a list of agents"),
        ((["FairBot"], 0), "give a list of agents"),
        ((None, 0), "give a list of agents"),
        ((POST, -1), "epsilon is -1: give a number from 0"),
        ((POST, "a tenth"), "epsilon is 'a tenth': give a number such as 1/100"),
        ((POST, "1/0"), "give a number"),
        ((POST, float("nan")), "give a number"),
        ((POST, float("inf")), "give a number"),
        ((POST, True), "give a number"),
        ((POST, None), "give a number"),
        ((POST, 0, "time"), "cost='time': choose one of 'depth', 'size'"),
        ((POST, 0, None), "choose one of"),
        ((POST, 0, "depth", {"CC": 2}), "give those of CC, CD, DC and DD"),
        ((POST, 0, "depth", None), "give those of CC, CD, DC and DD"),
        ((POST, 0, "depth", {"CC": 1, "CD": 0, "DC": 3, "DD": 2}), "a prisoner's dilemma has DC > CC > DD > CD"),
        ((POST, 0, "depth", {**PAYOFFS, "DC": "much"}), "the payoff of DC is 'much'"),
    ],
)
def test_what_makes_no_game(arguments: tuple, message: str) -> None:
    with pytest.raises(GameError) as caught:
        Game(*arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "shares",
    [
        [1, 0, 0],
        [1, 0, 0, 0, 0],
        [2, -1, 0, 0],
        [0.3, 0.3, 0.3, 0],
        {"FairBot": "1/2"},
        {"JustBot": 1},
        RandomBot,
        "all",
    ],
)
def test_what_makes_no_mix(shares: object) -> None:
    with pytest.raises(GameError, match=r"mix|share"):
        Game(POST, 0).mix(shares)


def test_a_meeting_refuses_an_unknown_cost() -> None:
    with pytest.raises(GameError, match="choose one of"):
        meet(FairBot, FairBot, "time")
