"""The search of all replies: nothing in it is wrong, and nothing is left out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modal_env.errors import GameError
from modal_env.logic.finite_machines import machine
from modal_env.logic.library import POST, CooperateBot, DefectBot, FairBot, JustBot, PrudentBot, RandomBot, UnfairBot
from modal_env.logic.notation import Agent, parse
from modal_env.logic.provability import play
from modal_env.search.behaviors import two_boxes
from modal_env.search.best_replies import Types, agent_of, replies

OPPONENTS = [[FairBot], [PrudentBot, UnfairBot], [CooperateBot, FairBot, PrudentBot], [JustBot, DefectBot]]
CALLS: list[tuple[Agent, ...]] = [(), (DefectBot,), POST[:3]]


@pytest.mark.parametrize("opponents", OPPONENTS)
@pytest.mark.parametrize("calls", CALLS)
def test_every_reply_is_one(opponents: list[Agent], calls: tuple[Agent, ...]) -> None:
    for depth in (1, 2):
        found = replies(opponents, calls, depth=depth)
        assert len({reply.moves for reply in found}) == len(found)
        for reply in found:
            assert reply.agent.depth <= depth
            assert set(reply.agent.called) <= set(calls)
            assert reply.moves == tuple(play(reply.agent, opponent).moves for opponent in opponents)


@pytest.mark.parametrize("opponents", OPPONENTS)
def test_no_listed_agent_does_anything_else(opponents: list[Agent]) -> None:
    listed = two_boxes(literals=1)
    for depth in (1, 2):
        found = {reply.moves for reply in replies(opponents, listed.calls, depth=depth)}
        agents = [agent for agent in listed.agents if agent.depth <= depth]
        made = {tuple(play(agent, opponent).moves for opponent in opponents) for agent in agents}
        assert made <= found


def test_what_16_agents_of_depth_1_do() -> None:
    # What has been seen: nothing, cooperation, defection, both.
    seen = ("[]false", "[]X(me) & ~[]false", "[]~X(me) & ~[]false", "~[]X(me) & ~[]~X(me)")
    chosen = [[part for bit, part in enumerate(seen) if code >> bit & 1] for code in range(16)]
    agents = [parse(" | ".join(parts) or "false") for parts in chosen]
    for opponents in OPPONENTS:
        made = {tuple(play(agent, opponent).moves for opponent in opponents) for agent in agents}
        assert made == {reply.moves for reply in replies(opponents, depth=1)}


def test_depth_0() -> None:
    assert [reply.agent.text for reply in replies([FairBot], depth=0)] == ["true", "false"]


def test_types_with_two_agents_to_call() -> None:
    types = Types(1)
    todo = [types.after(0, symbol) for symbol in (0, 7)]  # all letters are equal at world 0
    for number in todo:  # grows
        todo.extend(later for s in range(8) if (later := types.after(number, s)) not in todo)
    assert len({0, *todo}) == 193


@given(st.data())
@settings(max_examples=60)
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


def test_the_same_every_time() -> None:
    first, second = (replies([FairBot, PrudentBot], POST[:3], depth=2) for _ in range(2))
    assert [(r.moves, r.agent.text) for r in first] == [(r.moves, r.agent.text) for r in second]


def test_depth_3_finds_more() -> None:
    picky = parse("[](X(me) <-> [][][]false)", name="Picky")  # wants three worlds of cooperation, then defection
    assert ("D", "C") not in {reply.moves[0] for reply in replies([picky], depth=2)}
    deep = {reply.moves[0]: reply.agent for reply in replies([picky], depth=3)}
    assert play(deep["D", "C"], picky).moves == ("D", "C")
    assert deep["D", "C"].depth == 3


def test_wrong_arguments() -> None:
    with pytest.raises(GameError, match=r"opponents=\[\]: give a list of agents, one at least"):
        replies([], depth=1)
    with pytest.raises(GameError, match="depth=-1"):
        replies([FairBot], depth=-1)
    with pytest.raises(GameError, match="an agent that calls 'PrudentBot' has depth 2, not 1"):
        replies([FairBot], [PrudentBot], depth=1)
    with pytest.raises(GameError, match="names that can stand in"):
        replies([FairBot], [parse("[]false")], depth=1)
    with pytest.raises(GameError, match="names that can stand in"):
        replies([FairBot], [parse("[]false", name="A"), parse("~[]false", name="A")], depth=1)
    with pytest.raises(GameError, match="RandomBot"):
        replies([RandomBot], depth=1)
    with pytest.raises(GameError, match="give a list of at most 7 agents"):
        replies([FairBot], [parse(f"{'~' * n}[]false", name=f"F{n}") for n in range(8)], depth=1)
