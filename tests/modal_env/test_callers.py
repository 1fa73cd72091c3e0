"""Direct agents against shallower callers, beside plays and beside the search of all replies."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from modal_env import parse
from modal_env.errors import GameError
from modal_env.logic.library import CooperateBot, FairBot
from modal_env.logic.notation import Agent
from modal_env.logic.provability import play
from modal_env.search import direct_agents as direct
from modal_env.search.best_replies import Types, agent_of, replies
from modal_env.search.findings import CALLS
from modal_env.search.words import Fate, fates, self_plays


def agents_with(fate: Fate, rng: np.random.Generator, count: int) -> list[Agent]:
    """Random agents of a word that nobody exploits."""
    types = Types(fate.depth).completed()
    path = next(path for word, path in self_plays(types) if word == fate.word)
    found = []
    for _ in range(count):
        moves = {}
        for kind in range(len(types.words)):
            stays = types.after(kind, 0) == kind
            moves[kind] = path.get(kind, False if stays else bool(rng.random() < 0.3))
        found.append(agent_of(types, moves))
    return found


def test_which_words_have_survivors() -> None:
    assert [fate.word for fate in fates(1)] == ["C"]
    assert [(fate.word, fate.survivor is not None) for fate in fates(2)] == [
        ("C", False),
        ("DC", False),
        ("CDC", False),
        ("CCDC", True),
    ]
    found = fates(3)
    assert len(found) == 21
    assert [fate.word for fate in found if fate.survivor] == []
    assert Counter(len(fate.refuted) for fate in found) == {1: 17, 2: 2, 4: 2}


@pytest.mark.slow
def test_the_survivor_of_depth_2_is_one_of_four() -> None:
    survivor = fates(2)[-1].survivor
    assert survivor is not None
    assert direct.code_of(survivor) in np.unique(direct.partners())
    assert {reply.moves[0] for reply in replies([survivor], CALLS, depth=1)} == {("C", "D"), ("D", "D")}


@pytest.mark.parametrize("depth", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_caller_has_the_cooperation_of_all_agents_that_it_refutes(depth: int) -> None:
    """Agents that make the moves listed, and any others elsewhere."""
    rng, types = np.random.default_rng(0), Types(depth).completed()
    for fate in fates(depth)[-1::-4]:
        for moves, caller in fate.refuted:
            assert caller.depth < depth
            drawn = {kind: moves.get(kind, bool(rng.random() < 0.5)) for kind in range(len(types.words))}
            assert play(agent_of(types, drawn), caller).moves[0] == "C"


@pytest.mark.slow
def test_random_agents_of_depth_3_are_deceived() -> None:
    """By the complete search, which shares the types but neither the plays nor the branching."""
    rng = np.random.default_rng(1)
    for fate in fates(3)[12::4]:
        for agent in agents_with(fate, rng, 1):
            own = play(agent, agent, 12).trace
            assert "".join("DC"[bool(move)] for move, _ in own).startswith(fate.word)
            assert any(reply.moves[0][1] == "C" for reply in replies([agent], CALLS, depth=2))


@pytest.mark.slow
def test_no_choice_is_left_out() -> None:
    """Every agent of a word makes the moves of some refuted set."""
    rng = np.random.default_rng(2)
    types = Types(3).completed()
    for fate in fates(3):
        path = next(path for word, path in self_plays(types) if word == fate.word)
        for _ in range(200):
            drawn = {
                kind: path.get(kind, types.after(kind, 0) != kind and bool(rng.random() < 0.5))
                for kind in range(len(types.words))
            }
            assert any(all(drawn[kind] == move for kind, move in moves.items()) for moves, _ in fate.refuted)


@pytest.mark.slow
def test_the_example_of_the_page() -> None:
    fate = next(fate for fate in fates(3) if fate.word == "CCCDDC")
    (agent,) = agents_with(fate, np.random.default_rng(3), 1)
    trace = play(agent, FairBot, 7).trace
    assert "".join("DC"[bool(move)] for move, _ in trace) == "CCCDDDC"
    assert "".join("DC"[bool(move)] for _, move in trace) == "CCCCDDD"


@pytest.mark.slow
def test_survivors_of_depth_4() -> None:
    found = fates(4)
    assert len(found) == 148
    words = [fate.word for fate in found if fate.survivor]
    assert len(words) == 10
    assert words[0] == "CCDCCDCCDC"
    for survivor in [fate.survivor for fate in found if fate.survivor]:
        assert play(survivor, survivor).moves == ("C", "C")
        assert {reply.moves[0] for reply in replies([survivor], CALLS, depth=3)} == {("C", "D"), ("D", "D")}


def test_a_depth_that_is_not_searched() -> None:
    with pytest.raises(GameError, match="depth=5"):
        fates(5)


@pytest.mark.parametrize(
    ("calls", "match"),
    [
        (None, "calls=None"),
        ("x", "calls='x'"),
        (float("nan"), "calls=nan"),
        (5, "calls=5"),
        ([5], "5"),
        (["PrudentBot"], "'PrudentBot' calls others"),
        (["RandomBot"], "RandomBot"),
        (["[][][]false"], "has depth 3, not 2"),
    ],
)
def test_calls_that_are_wrong(calls: object, match: str) -> None:
    with pytest.raises(GameError, match=re.escape(match)):
        fates(2, calls)  # type: ignore[arg-type]


def test_calls_by_name() -> None:
    assert fates(2, ["FairBot", "CooperateBot"]) == fates(2, [FairBot, CooperateBot])
    assert fates(2, ["FairBot", "SlipBot"]) == fates(2, ["FairBot"])  # the second is too deep for callers


@pytest.mark.slow
def test_more_agents_to_call_leave_fewer_survivors() -> None:
    more = [parse("[][]false", name="FalseBot2"), parse("[][][]false", name="FalseBot3")]
    words = [fate.word for fate in fates(4, (*CALLS, *more)) if fate.survivor]
    assert len(words) == 8
    assert not {"CCDCCDCCDC", "CCCDCCDCCDC"} & set(words)
