"""Agents that know a word, beside the evaluator of the table's checker, which shares no code with the search."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import pytest

from modal_env.errors import GameError
from modal_env.logic.provability import play
from modal_env.search.best_replies import Types, replies
from modal_env.search.direct_agents import agent_with
from modal_env.search.findings import CALLS
from modal_env.search.settling import latest_world, longest_play
from modal_env.search.table_checker import depth as depth_of
from modal_env.search.table_checker import outcome, reachable, read, view
from modal_env.search.words import MAX_LENGTH, MAX_SEARCHED, WordAgent, word_agent, words


def moves_of(word: str, depth: int, history: tuple[bool, ...]) -> bool:
    """What the agent of a word does after a history of its opponent's moves, from the definition."""
    seen = view(history, depth)
    for length in range(len(word) + 2 * depth + 2):
        own = tuple(word[min(n, len(word) - 1)] == "C" for n in range(length))
        if view(own, depth) == seen:
            return word[min(length, len(word) - 1)] == "C"
    return False


def friends(word: str, depth: int, lower: int) -> set[str]:
    """All outcomes of agents of a lower depth, with the views of the checker in place of types."""
    found: set[str] = set()
    todo: list[tuple[dict[object, bool], tuple[bool, ...], tuple[bool, ...]]] = [({}, (), ())]
    while todo:
        decided, own, theirs = todo.pop()
        seen = view(theirs, lower)
        if seen not in decided:
            todo += [({**decided, seen: move}, own, theirs) for move in (True, False)]
            continue
        own_now, theirs_now = (*own, decided[seen]), (*theirs, moves_of(word, depth, own))
        if view(own_now, depth) == view(own, depth) and view(theirs_now, lower) == seen:
            found.add("DC"[own_now[-1]] + "DC"[theirs_now[-1]])
        else:
            todo.append((decided, own_now, theirs_now))
    return found


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_the_words_of_the_proof_are_equilibria(depth: int) -> None:
    word = "C" * depth + "D" * (depth - 1) + "C"
    found = word_agent(word, depth)
    assert found is not None
    assert found.is_equilibrium
    assert found.below == friends(word, depth, depth - 1) == {"CD", "DD"}
    assert found.alike == friends(word, depth, depth) == {"CC", "CD", "DD"}


@pytest.mark.parametrize("depth", [5, 6])
def test_and_at_greater_depths(depth: int) -> None:
    found = word_agent("C" * depth + "D" * (depth - 1) + "C", depth)
    assert found is not None
    assert "CC" not in found.below
    assert "DC" not in found.below | found.alike


@pytest.mark.slow
def test_the_formula_of_a_word_does_what_the_word_says() -> None:
    found = word_agent("CCCDDC", 3)
    assert found is not None
    agent = found.agent
    assert agent.depth == 3
    own = play(agent, agent, 8)
    assert "".join("DC"[bool(first)] for first, _ in own.trace) == "CCCDDCCC"
    formula = read(agent.text)
    assert depth_of(formula) == 3
    assert outcome(formula, formula) == "CC"
    assert reachable(formula, 2) == {"CD", "DD"}


@pytest.mark.slow
def test_agents_that_call_others_may_have_its_cooperation() -> None:
    found = word_agent("CDCCDC", 3)
    assert found is not None
    assert (("C", "C"),) in [reply.moves for reply in replies([found.agent], CALLS, depth=2)]


def test_how_many_words_there_are() -> None:
    assert [found.word for found in words(2, 6)] == ["CCDC"]
    assert [found.word for found in words(3, 6)] == ["CCCDDC", "CDCCDC", "DCCCDC"]
    assert [*words(1, 6)] == []
    assert word_agent("CCCDC", 2) is None  # at depth 2, three worlds of C look like two


@pytest.mark.parametrize(("depth", "world"), [(1, 3), (2, 8), (3, 15), pytest.param(4, 24, marks=pytest.mark.slow)])
def test_the_latest_world(depth: int, world: int) -> None:
    assert latest_world(depth) == world


@pytest.mark.parametrize("depth", range(1, 9))
def test_a_play_reaches_the_latest_world(depth: int) -> None:
    """The moves are functions of the types, so two agents play it; types change up to world n(n + 2) and no more."""
    words = longest_play(depth)
    assert [len(word) for word in words] == [depth * (depth + 2)] * 2
    types, seen, moves, changes = Types(depth), (0, 0), {}, []
    for world in range(len(words[0]) + 2 * depth):
        played = [(word + word[-1] * 2 * depth)[world] for word in words]
        for one in (0, 1):
            assert moves.setdefault((one, seen[one]), played[one]) == played[one]
        after = tuple(types.after(seen[one], "DC".index(played[1 - one])) for one in (0, 1))
        changes += [world + 1] if after != seen else []
        seen = after
    assert changes == [*range(1, depth * (depth + 2) + 1)]


def test_types_change_where_a_new_short_word_can_be_picked_out() -> None:
    """The lemma of the page's proof, and its count of such worlds, for all histories of ten worlds."""
    for depth in (1, 2, 3):
        types = Types(depth)
        for history in product((0, 1), repeat=10):
            seen, known, counts = 0, set[tuple[int, ...]](), Counter[int]()
            for world, symbol in enumerate(history):
                new = {
                    (*(history[place] for place in chosen), symbol)
                    for length in range(depth)
                    for chosen in combinations(range(world), length)
                } - known
                after = types.after(seen, symbol)
                assert (after != seen) == bool(new)
                counts[min((len(word) for word in new), default=0)] += 1
                seen, known = after, known | new
            assert all(counts[length] <= length + 1 for length in range(1, depth + 1))


def test_the_latest_world_is_that_of_the_16_agents_of_depth_1() -> None:
    agents = [agent_with(code, 1) for code in range(16)]
    settled = []
    for a in agents:
        for b in agents:
            moves = play(a, b, 20).trace
            settled.append(max((n + 1 for n in range(19) if moves[n] != moves[n + 1]), default=0))
    assert max(settled) <= latest_world(1)


def test_wrong_words_are_refused() -> None:
    with pytest.raises(GameError, match="letters C and D"):
        word_agent("CXD", 2)
    assert word_agent("C" * MAX_LENGTH, 1) is not None
    with pytest.raises(GameError, match=f"{MAX_LENGTH} at most"):
        word_agent("C" * (MAX_LENGTH + 1), 1)
    with pytest.raises(GameError, match=f"to {MAX_SEARCHED}"):
        next(words(1, MAX_SEARCHED + 1))


def test_a_word_that_nobody_plays_has_no_formula() -> None:
    assert word_agent("CCD", 1) is None
    with pytest.raises(GameError, match="no agent of depth 1"):
        _ = WordAgent("CCD", 1, frozenset(), frozenset()).agent


def test_a_play_has_at_most_a_million_moves() -> None:
    with pytest.raises(GameError, match="1,000"):
        longest_play(1001)
