"""The fixed points: against a naive evaluator, against what is known from the literature, and by the laws of GL."""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import product

import pytest

import modal_env
from modal_env.errors import GameError
from modal_env.logic.library import LIBRARY, POST, CooperateBot, DefectBot, FairBot, RandomBot
from modal_env.logic.notation import Agent, parse
from modal_env.logic.provability import Plays, play
from modal_env.logic.tournaments import tournament
from tests.modal_env import naive
from tests.modal_env.conftest import chain, parsed
from tests.modal_env.naive import Node, random_agents, tree

HALF = Fraction(1, 2)


# Against the naive evaluator


@pytest.mark.parametrize("seed", range(4))
def test_random_pairs_as_the_naive_evaluator(seed: int) -> None:
    texts = random_agents(seed, 12)
    agents, expected = parsed(texts), naive.Plays(texts)
    for a, b in product(range(12), repeat=2):
        settles = expected.settles(a, b)
        assert settles <= len(expected.boxes_of(a, b))
        outcome = play(agents[a], agents[b])
        trace = tuple(zip(expected.moves[: settles + 2, a, b], expected.moves[: settles + 2, b, a], strict=True))
        assert (outcome.settles, outcome.trace) == (settles, trace)
        assert outcome.moves == tuple("C" if cooperates else "D" for cooperates in trace[-1])
        assert outcome.cooperation == tuple(Fraction(int(cooperates)) for cooperates in trace[-1])


@pytest.mark.parametrize("seed", range(4))
def test_against_random_bot_as_by_trying_all_tosses(seed: int) -> None:
    texts = random_agents(100 + seed, 30)
    for text, agent in zip(texts.values(), parsed(texts), strict=True):
        outcome = play(agent, RandomBot, worlds=8)
        tosses = Tosses(tree(text))
        expected = [tosses.holds(tosses.whole, world, {}) for world in range(8)]
        assert [cooperates for cooperates, _ in outcome.trace] == expected
        assert {coin for _, coin in outcome.trace} == {None}
        assert outcome.cooperation == (Fraction(expected[-1]), HALF)


class Tosses:
    """An agent against RandomBot, by trying all ways in which the coins may fall: one for each agent that is called."""

    def __init__(self, whole: Node) -> None:
        self.whole = whole
        self.provable = lru_cache(maxsize=None)(self._provable)

    def _provable(self, body: Node, world: int) -> bool:
        used = sorted(_coins(body))
        falls = [dict(zip(used, fallen, strict=True)) for fallen in product((False, True), repeat=len(used))]
        return all(self.holds(body, earlier, coins) for earlier in range(world) for coins in falls)

    def holds(self, formula: Node, world: int, coins: Mapping[str, bool]) -> bool:
        """Whether a formula of the agent holds at a world where coins have fallen so."""
        kind, *parts = formula
        if kind == "[]":
            return self.provable(parts[0], world)
        if kind == "X":
            return coins[parts[0]]
        if kind == "me":
            return self.holds(self.whole, world, {})
        left, *right = [self.holds(part, world, coins) for part in parts] or [kind == "true"]
        values = {"~": not left, "&": left and all(right), "|": left or any(right)}
        values |= {"->": not left or all(right), "<->": left in right}
        return values.get(kind, left)


def _coins(formula: Node) -> set[str]:
    """The coins outside inner boxes."""
    kind, *parts = formula
    if kind == "X":
        return {parts[0]}
    return set() if kind == "[]" else {coin for part in parts for coin in _coins(part)}


# What is known


FIXED_POINTS = {
    "[][]me -> [](me -> []~me)": "CCDDCC",
    "[]me": "CC",
    "~[]me": "DCC",
    "[]~me": "CDD",
    "~[]~me": "DD",
    "<>me": "DD",
    "[]me -> []~me": "CDCC",
    "[](me -> []me)": "CC",
    "[]~me | [][]~me": "CCDD",
    "[][][]F": "CCCDD",
}


def test_fixed_points_of_one_letter() -> None:
    """The first is worked out in LaVictoire 2015, section 6; the next ones in Boolos, chapter 8, or by hand."""
    for equation, trace in FIXED_POINTS.items():
        outcome = play(parse(equation), DefectBot)
        assert "".join("C" if own else "D" for own, _ in outcome.trace) == trace
        assert outcome.settles == len(trace) - 2


def test_as_many_worlds_as_boxes_may_be_needed() -> None:
    """[]^k false holds at the first k worlds; depth k, k boxes."""
    for boxes in (0, 1, 2, 25, 26, 27, 28, 29, 100, 499):
        outcome = play(parse("[]" * boxes + "false"), DefectBot)
        assert outcome.settles == boxes
        assert [cooperates for cooperates, _ in outcome.trace] == [True] * boxes + [False] * 2


# Chains of helpers


@pytest.mark.parametrize("rank", [12, 64, 500])
def test_a_chain_of_helpers_takes_as_many_plays_as_it_is_long(rank: int) -> None:
    agent = chain(rank, "[]X(me)", "[]X(P)")
    assert len(Plays([(agent, agent)]).pairs) <= 2 * rank + 2
    assert play(agent, agent).moves == ("C", "C")
    assert play(agent, DefectBot).moves == ("D", "D")
    other = chain(rank, "[]X(me)", "~[]X(P)")
    assert len(Plays([(agent, other)]).pairs) <= 4 * rank + 4


# Laws


def test_what_gl_proves_holds_at_every_world() -> None:
    """K, transitivity and Löb's axiom, and that <> is ~[]~, with random formulas of the agents in them."""
    laws = ["[](p -> q) -> ([]p -> []q)", "[]p -> [][]p", "[]([]p -> p) -> []p", "<>p <-> ~[]~p"]
    agents = parsed(random_agents(200, 8))
    known = {agent.name: agent for agent in agents}
    for law, a, b in product(laws, agents, agents):
        text = law.replace("p", f"({a.text})").replace("q", f"({b.text})")
        law_agent = parse(text, helpers=known)
        for opponent in (FairBot, a, RandomBot):
            assert {cooperates for cooperates, _ in play(law_agent, opponent).trace} == {True}


# RandomBot


def test_nothing_is_provable_about_a_coin() -> None:
    assert [play(agent, RandomBot).moves for agent in POST] == [("C", "?"), ("D", "?"), ("D", "?"), ("D", "?")]
    assert play(RandomBot, LIBRARY["UnfairBot"]).moves == ("?", "D")
    both = play(RandomBot, RandomBot)
    assert (both.moves, both.cooperation, both.settles) == (("?", "?"), (HALF, HALF), 0)


def test_the_same_play_has_one_coin() -> None:
    same = {"A": FairBot, "B": parse("[]X(me)"), "C": LIBRARY["JustBot"]}
    assert play(parse("[](X(A) -> X(B))", helpers=same), RandomBot).moves == ("C", "?")
    assert play(parse("[](X(A) -> X(C))", helpers=same), RandomBot).moves == ("D", "?")


def test_calling_the_opponent_on_random_bot() -> None:
    """X(RandomBot) is the opponent's move against a coin, no coin itself."""
    agent = parse("[]~X(RandomBot) & []X(me)")
    assert play(agent, FairBot).moves == ("D", "D")
    assert play(parse("~[]X(RandomBot)"), FairBot).moves[0] == "C"
    assert play(parse("~[]X(RandomBot)"), CooperateBot).moves[0] == "D"


def test_many_coins_are_refused_in_a_play_and_in_a_tournament() -> None:
    def caller(number: int) -> Agent:
        helpers = {f"H{k}": "[]" * (k + 1) + "X(me)" for k in range(number)}
        return parse("[](" + " & ".join(f"X(H{k})" for k in range(number)) + ")", name="Many", helpers=helpers)

    assert play(caller(11), RandomBot).moves == ("D", "?")
    assert play(caller(12), FairBot).moves == ("C", "C")
    for other in (RandomBot, parse("[]X(RandomBot)")):
        with pytest.raises(GameError, match="'Many' calls RandomBot on 12 agents"):
            play(caller(12), other)
        with pytest.raises(GameError, match="at most 11"):
            tournament([caller(12), other])


def test_results_in_words() -> None:
    assert str(modal_env.play("PrudentBot", "CooperateBot")) == "D against C, settled at world 2"
    game = modal_env.ProgramGame(["CB", "DB"], "1/10")
    assert str(game).splitlines()[-2:] == ["0 CooperateBot  2 0", "1 DefectBot     3 1"]
    many = [modal_env.parse("[]" * (1 + n) + "X(me)", name=f"B{n}") for n in range(43)]
    assert str(modal_env.tournament(many)).splitlines()[-1] == "... and 3 more agents"
