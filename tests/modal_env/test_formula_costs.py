"""The post's lemma at the price of symbols, boxes and calls: the search, and the agent with fewer calls."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from modal_env.errors import GameError
from modal_env.logic.library import LIBRARY, POST, PrudentBot, SlipBot
from modal_env.logic.notation import Agent, parse
from modal_env.logic.provability import play
from modal_env.logic.syntax import Op
from modal_env.search import direct_agents as direct
from modal_env.search.best_replies import replies
from modal_env.search.formula_costs import _cheapest_friends, _partners, lemma_at_cost
from modal_env.search.priced_agents import priced_agents, prices_of
from modal_env.search.substitutes import fewer_calls
from modal_env.search.table_checker import outcome, read


def number_of(agent: Agent, least: int, most: int = 10**9) -> int:
    return sum(least <= code <= most for code in agent.program)


def calls(agent: Agent) -> int:
    return number_of(agent, Op.CALL)


PRICES = {
    "symbol": lambda agent: agent.size,
    "box": lambda agent: number_of(agent, Op.BOX, Op.DIAMOND),
    "call": calls,
}


def all_texts(size: int) -> list[str]:
    """All formulas of a size, with a box for each X(me) or not."""
    if size == 1:
        return ["true", "false", "X(me)"]
    found = [f"{op}{part}" for op in ("~", "[]", "<>") for part in all_texts(size - 1)]
    for left in range(1, size - 1):
        pairs = product(all_texts(left), ("&", "|", "->", "<->"), all_texts(size - 1 - left))
        found += [f"({one} {op} {other})" for one, op, other in pairs]
    return found


def behaviors(texts: list[str]) -> set[int]:
    """The codes of the formulas that are agents of depth up to 2."""
    found = set()
    for text in texts:
        try:
            found.add(direct.code_of(parse(text)))
        except ValueError:  # an X(me) without a box, or too deep
            continue
    return found


@pytest.mark.parametrize("most", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_all_agents_up_to_a_size_are_found(most: int) -> None:
    listed = priced_agents({"symbol": 1}, most, 2)
    seen: set[int] = set()
    for size in range(1, most + 1):
        fresh = behaviors(all_texts(size)) - seen
        assert {direct.code_of(listed.agent(n)) for n in range(len(listed)) if listed.costs[n] == size} == fresh
        seen |= fresh


@pytest.mark.parametrize(("unit", "most"), [("symbol", 8), ("box", 2), ("call", 1)])
def test_an_agent_has_the_cost_and_the_moves_that_are_listed(unit: str, most: int) -> None:
    listed = priced_agents({unit: 1}, most, 2)
    for number in range(0, len(listed), 7):
        agent = listed.agent(number)
        code = direct.code_of(agent)
        assert PRICES[unit](agent) == listed.costs[number]
        assert listed.moves[number].tolist() == [bool(code >> kind & 1) for kind in range(21)]


@pytest.mark.parametrize(("prices", "most"), [({"symbol": 1}, 8), ({"box": 1}, 2), ({"box": 1, "call": 2}, 4)])
def test_whom_agents_cooperate_with_as_all_plays(prices: dict[str, int], most: int) -> None:
    """Against the evaluator of the periodic table's checker."""
    found = lemma_at_cost(prices, most, 2)
    costs = found.listed.costs.tolist()
    agents = [read(found.listed.agent(number).text) for number in range(len(costs))]
    for one in found.costs:
        own = [number for number, cost in enumerate(costs) if cost == one.cost]
        near = [(cost, agent) for cost, agent in zip(costs, agents, strict=True) if cost <= one.cost]
        least = [next((cost for cost, other in near if outcome(agents[a], other)[0] == "C"), -1) for a in own]
        assert one.agents == len(own)
        assert one.friendly == sum(cost >= 0 for cost in least)
        assert len(one.counterexamples) == least.count(one.cost)
    assert found.pairs == ()


def test_the_lemma_fails_at_three_boxes() -> None:
    found = lemma_at_cost({"box": 1}, 3, 3)
    assert [(one.cost, one.agents, one.friendly, len(one.counterexamples)) for one in found.costs] == [
        (1, 6, 5, 0),
        (2, 38, 35, 0),
        (3, 294, 279, 6),
    ]
    for agent, friend in found.costs[-1].counterexamples:
        assert outcome(read(agent.text), read(friend.text))[0] == "C"
        assert PRICES["box"](agent) == PRICES["box"](friend) == 3


@pytest.mark.slow
def test_the_lemma_fails_at_size_10() -> None:
    found = lemma_at_cost({"symbol": 1}, 13)
    assert (len(found.listed), found.listed.formulas, found.pairs) == (30_603, 106_730, ())
    assert [(one.cost, len(one.counterexamples)) for one in found.costs if one.counterexamples] == [(10, 2), (13, 2)]
    picky, friend = parse("[](X(me) <-> []X(me) <-> [][][]false)"), parse("[][][]false <-> [][][][]false")
    assert (picky.size, friend.size, play(picky, friend).moves) == (10, 10, ("C", "C"))
    assert (picky, friend) in found.costs[8].counterexamples
    caller = parse("[]X(FalseBot) <-> [][]X(FalseBot)")
    assert (caller.size, play(picky, caller).moves) == (6, ("C", "C"))


@pytest.mark.slow
def test_a_pair_would_be_found() -> None:
    """At the price of depth SlipBot against itself is an equilibrium: the pairs of 40 agents, without cheaper ones."""
    codes = [0, *np.unique(direct.partners()).tolist()]
    columns = np.array([[code >> kind & 1 for code in codes] for kind in range(21)], np.bool_)
    costs, following = np.array([0] + [2] * 40), direct.following_types(2)
    ends = np.searchsorted(costs, costs, side="right")
    friends = _cheapest_friends(columns, ends, following)
    assert len(_partners(columns, costs, friends, ends, following)) == 820


def test_all_direct_equilibria_cooperate_with_a_short_agent() -> None:
    short = parse("~[]X(me) | [][]false")
    assert (short.size, PRICES["box"](short), calls(short)) == (7, 3, 1)
    codes, other = np.unique(direct.partners()).tolist(), direct.code_of(short)
    assert direct.code_of(SlipBot) in codes
    assert {direct._play(direct.following_types(2), code, other) for code in codes} == {(1, 1)}


def check_substitute(agent: Agent, friend: Agent) -> None:
    """It does to all that the agent calls what the friend does, and has fewer calls than these are."""
    made = fewer_calls(agent, friend)
    targets = {*agent.called, *([agent] if agent.calls_itself else [])}
    assert calls(made) <= max(len(targets) - 1, 0)
    for target in targets:
        new, old = play(made, target, 60), play(friend, target, 60)
        assert max(new.settles, old.settles) < 60
        assert [own for own, _ in new.trace] == [own for own, _ in old.trace]
    assert not targets or play(agent, made, 60).trace[-1][0] == play(agent, friend, 60).trace[-1][0]


def test_agents_with_fewer_calls() -> None:
    formulas = [agent for agent in LIBRARY.values() if not agent.is_random]
    for agent in formulas[::2]:
        for friend in formulas[::3]:
            check_substitute(agent, friend)
    assert calls(fewer_calls("OneBot", "OneBot")) == 3
    assert calls(fewer_calls(PrudentBot, PrudentBot)) == 1


@pytest.mark.slow
def test_random_agents_with_fewer_calls(
    random_formulas: Callable[[int, int], Any], parse_formulas: Callable[[Any], list[Agent]]
) -> None:
    most = 0
    for seed in range(60):
        agents = parse_formulas(random_formulas(seed, 12))
        for agent, friend in zip(agents, reversed(agents), strict=True):
            check_substitute(agent, friend)
            most = max(most, calls(fewer_calls(agent, friend)))
    assert most > 1


def test_prudentbot_at_the_price_of_worlds_and_of_the_opponent() -> None:
    """What the page's proofs use, for all that call the post's four."""
    for reply in replies([PrudentBot], POST, depth=2):
        settles = play(reply.agent, PrudentBot).settles
        assert reply.moves[0] != ("D", "C")
        assert settles >= 1
        assert reply.moves[0][1] == "D" or calls(reply.agent)


def test_prices_that_are_wrong() -> None:
    assert prices_of("box=1, call=2") == {"box": 1, "call": 2}
    for text in ("size", "box=", "box=1,box=2", "depth=1", "box=-1", "box=1/2"):
        with pytest.raises(GameError, match="whole prices of symbol, box, call"):
            prices_of(text)
    with pytest.raises(GameError, match="price above 0"):
        priced_agents({"box": 0}, 3)
    with pytest.raises(GameError, match="give prices of"):
        priced_agents({"depth": 1}, 3)
    with pytest.raises(GameError, match="no formula costs at most 20"):
        lemma_at_cost({"symbol": 999}, 20)
    with pytest.raises(GameError, match="RandomBot"):
        fewer_calls("RandomBot", "FairBot")
