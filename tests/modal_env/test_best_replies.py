"""The search of all replies: nothing in it is wrong, and nothing is left out; certificates hold, false ones do not."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modal_env.best_replies import replies
from modal_env.best_replies.types import Types
from modal_env.best_replies.writing import agent_of
from modal_env.logic.finite_machines import machine
from modal_env.logic.library import LIBRARY, POST, CooperateBot, DefectBot, FairBot, PrudentBot
from modal_env.logic.notation import Agent, parse
from modal_env.logic.provability import play

OPPONENTS = [
    [FairBot],
    [PrudentBot, LIBRARY["UnfairBot"]],
    [CooperateBot, FairBot, PrudentBot],
    [LIBRARY["JustBot"], DefectBot],
]
CALLS: list[tuple[Agent, ...]] = [(), (DefectBot,), POST[:3]]


@pytest.mark.parametrize("opponents", OPPONENTS)
@pytest.mark.parametrize("calls", CALLS[1:])
def test_every_reply_is_one(opponents: list[Agent], calls: tuple[Agent, ...]) -> None:
    for depth in (1, 2):
        found = replies(opponents, calls, depth=depth)
        assert len({reply.moves for reply in found}) == len(found)
        for reply in found:
            assert reply.agent.depth <= depth
            assert set(reply.agent.called) <= set(calls)
            assert reply.moves == tuple(play(reply.agent, opponent).moves for opponent in opponents)


def two_boxes() -> list[Agent]:
    """Truth functions of two boxes over X(me), X(DefectBot), []false and []X(me)."""
    atoms = [f"[]({sign}{atom})" for atom in ("X(me)", "X(DefectBot)", "[]false", "[]X(me)") for sign in ("", "~")]
    joined = [f"{one} {op} {other}" for one, other in product(atoms, repeat=2) for op in ("&", "->", "<->")]
    return [CooperateBot, DefectBot, *(parse(f"{sign}({text})") for text in joined for sign in ("", "~"))]


@pytest.mark.parametrize("opponents", OPPONENTS[:2])
def test_no_listed_agent_does_anything_else(opponents: list[Agent]) -> None:
    listed = two_boxes()
    for depth in (1, 2):
        found = {reply.moves for reply in replies(opponents, [DefectBot], depth=depth)}
        agents = [agent for agent in listed if agent.depth <= depth]
        assert {tuple(play(agent, opponent).moves for opponent in opponents) for agent in agents} <= found


@given(st.data())
@settings(max_examples=25)
def test_an_agent_for_every_decision(data: st.DataObject) -> None:
    depth = data.draw(st.integers(1, 2))
    calls = data.draw(st.sampled_from([(), (DefectBot,), (CooperateBot, DefectBot, FairBot)]))
    types = Types(depth)
    words = data.draw(st.lists(st.lists(st.integers(0, (2 << len(calls)) - 1), max_size=6), min_size=1, max_size=8))
    decided = {_type(types, word): data.draw(st.booleans()) for word in words}
    agent = agent_of(types, decided, calls)
    one = machine(agent, calls)
    assert agent.depth <= depth
    for number, move in decided.items():
        assert one.outputs[one.run(types.words[number])] == move
    for word in words:  # all histories of a type are treated alike
        assert one.outputs[one.run(word)] == decided[_type(types, word)]


def _type(types: Types, word: list[int]) -> int:
    number = 0
    for symbol in word:
        number = types.after(number, symbol)
    return number


def test_depth_3_finds_more() -> None:
    picky = parse("[](X(me) <-> [][][]false)", name="Picky")  # wants three worlds of cooperation, then defection
    assert ("D", "C") not in {reply.moves[0] for reply in replies([picky], depth=2)}
    deep = {reply.moves[0]: reply.agent for reply in replies([picky], depth=3)}
    assert play(deep["D", "C"], picky).moves == ("D", "C")
    assert deep["D", "C"].depth == 3


def test_each_reply_has_the_least_depth() -> None:
    found = replies([FairBot, PrudentBot], POST[:3], depth=2)
    for depth in (0, 1):
        shallow = {reply.moves for reply in replies([FairBot, PrudentBot], POST[:3][: 2 + depth], depth=depth)}
        assert {reply.moves for reply in found if reply.agent.depth <= depth} == shallow
