"""The search of all replies: nothing in it is wrong, and nothing is left out; certificates hold, false ones do not."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modal_env.best_replies import Certificate, certify, faults, replies
from modal_env.best_replies.certificates import line_text
from modal_env.best_replies.types import Types
from modal_env.best_replies.writing import agent_of
from modal_env.errors import GameError
from modal_env.logic.finite_machines import machine
from modal_env.logic.library import (
    LIBRARY,
    POST,
    CooperateBot,
    DefectBot,
    FairBot,
    MirrorBot,
    OneBot,
    PrudentBot,
    RandomBot,
    SlipBot,
)
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
@pytest.mark.parametrize("calls", CALLS)
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


@pytest.mark.parametrize("opponents", OPPONENTS)
def test_no_listed_agent_does_anything_else(opponents: list[Agent]) -> None:
    listed = two_boxes()
    for depth in (1, 2):
        found = {reply.moves for reply in replies(opponents, [DefectBot], depth=depth)}
        agents = [agent for agent in listed if agent.depth <= depth]
        assert {tuple(play(agent, opponent).moves for opponent in opponents) for agent in agents} <= found


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


def test_each_reply_has_the_least_depth() -> None:
    found = replies([FairBot, PrudentBot], POST[:3], depth=2)
    for depth in (0, 1):
        shallow = {reply.moves for reply in replies([FairBot, PrudentBot], POST[:3][: 2 + depth], depth=depth)}
        assert {reply.moves for reply in found if reply.agent.depth <= depth} == shallow


def test_a_long_search_tells_how_far_it_is() -> None:
    shares: list[float] = []
    replies(["FairBot", "PrudentBot"], ["FairBot"], depth=2, report=shares.append)
    assert shares == sorted(shares)
    assert len({share for share in shares if share > 0.2}) > 3


HALF, THIRD, ZERO, ONE = Fraction(1, 2), Fraction(1, 3), Fraction(0), Fraction(1)
GOOD_MIX = {CooperateBot: (ZERO, ONE), FairBot: (ONE, Fraction(-3, 2)), PrudentBot: (ZERO, HALF)}


@pytest.fixture(scope="module")
def good_mix() -> Certificate:
    """With DefectBot to call, which is enough for PrudentBot."""
    return certify("The good mix", GOOD_MIX, tuple(GOOD_MIX), [DefectBot])


@pytest.fixture(scope="module")
def slip() -> Certificate:
    return certify("SlipBot", {SlipBot: (ONE, ZERO)}, [SlipBot], [DefectBot])


class TestCertificates:
    def test_the_good_mix_is_an_equilibrium_up_to_a_third(self, good_mix: Certificate) -> None:
        assert (good_mix.low, good_mix.high, faults(good_mix)) == (0, THIRD, [])
        assert good_mix.paid(DefectBot) == (1, 2)  # 1 + 2 eps > 2 - eps above 1/3
        assert {reply.agent.depth for reply in good_mix.replies} == {0, 1, 2}

    def test_onebot_is_one_at_1_alone(self) -> None:
        found = certify("OneBot", {OneBot: (ONE, ZERO)}, [OneBot], [DefectBot])
        assert (found.low, found.high, faults(found)) == (1, 1, [])
        assert {reply.moves[0]: found.paid(reply.agent) for reply in found.replies} == {
            ("C", "D"): (0, 0),
            ("D", "D"): (1, 0),
            ("C", "C"): (2, -1),
            ("D", "C"): (3, -2),
        }
        assert "OneBot: best replies for 1 <= epsilon <= 1" in list(found.lines())

    def test_false_ones_are_at_fault(self, good_mix: Certificate, slip: Certificate) -> None:
        for wrong in (replace(good_mix, high=HALF), replace(good_mix, low=Fraction(1, 4)), replace(slip, high=None)):
            assert [fault.split(" for ")[0] for fault in faults(wrong)] == ["it holds"]
        swapped = replace(slip.replies[0], agent=FairBot)
        assert any("makes the moves" in fault for fault in faults(replace(slip, replies=(swapped, *slip.replies))))
        assert any("paid differently" in fault for fault in faults(replace(slip, support=(SlipBot, DefectBot))))
        assert any("not 1" in fault for fault in faults(replace(good_mix, shares=((ONE, ZERO),) * 3)))
        assert faults(replace(good_mix, shares=())) == ["there are 0 shares for 3 opponents"]

    def test_what_cannot_be_certified(self) -> None:
        fair = certify("FairBot in a crowd", {PrudentBot: (ONE, ZERO)}, [FairBot], [DefectBot])
        assert (fair.low, fair.high) == (0, 1)
        with pytest.raises(GameError, match="paid differently: "):
            certify("no", {FairBot: (ONE, ZERO)}, [CooperateBot, DefectBot])
        with pytest.raises(GameError, match="at no epsilon"):
            certify("no", {CooperateBot: (ONE, ZERO)}, [CooperateBot])
        with pytest.raises(GameError, match="shares sum to 1/2"):
            certify("half", {DefectBot: (HALF, ZERO)}, [DefectBot], [])

    def test_lines_of_epsilon(self) -> None:
        lines = [(ONE, ZERO), (Fraction(2), Fraction(-1)), (ZERO, HALF), (ZERO, -ONE), (ONE, Fraction(-3, 2))]
        assert list(map(line_text, lines)) == ["1", "2 - eps", "1/2 eps", "-eps", "1 - 3/2 eps"]


class TestFactsOfThePost:
    def test_nobody_is_trusted_by_both_fairbot_and_unfairbot(self) -> None:
        found = replies((FairBot, LIBRARY["UnfairBot"]), POST[:3], depth=2)
        assert not [reply for reply in found if [theirs for _, theirs in reply.moves] == ["C", "C"]]

    def test_slipbot_cooperates_with_nobody_of_depth_1(
        self, random_formulas: Callable[[int, int], Any], parse_formulas: Callable[[Any], list[Agent]]
    ) -> None:
        chain = [parse("[]false", name="F0")]
        for number in range(1, 6):  # each defects on SlipBot two worlds later than the one before
            text = f"[]X(F{number - 1}) & []X(me)"
            chain.append(parse(text, name=f"F{number}", helpers={f"F{number - 1}": chain[-1]}))
        assert "C" not in {reply.moves[0][1] for reply in replies([SlipBot], chain, depth=1)}
        shallow = [
            agent
            for seed in range(40)
            for agent in parse_formulas([flat(formula) for formula in random_formulas(seed, 12)])
            if agent.depth < 2
        ]
        assert len(shallow) > 200
        assert {play(SlipBot, agent).moves[0] for agent in shallow} == {"D"}

    def test_with_me_slipbot_is_broken_and_mirrorbot_is_an_equilibrium(self) -> None:
        aware = parse("[](me <-> X(me)) | ~[](me | X(me))")
        assert (aware.depth, play(aware, SlipBot).moves) == (1, ("C", "C"))
        for depth in (1, 2, 3, 4):
            mirror = parse(f"{'[]' * depth}false | ~[]me & [](X(me) <-> me)", name="Mirror")
            assert depth > 1 or mirror == MirrorBot
            assert (mirror.depth, play(mirror, mirror).moves) == (depth, ("C", "C"))
            for agent in LIBRARY.values():
                moves = play(mirror, agent).moves
                assert moves[0] == "D" or agent.depth >= depth or agent.is_random
                assert moves != ("C", "D")


def flat(formula: tuple[Any, ...], under: bool = False) -> tuple[Any, ...]:
    """Without `me`, and without boxes under boxes."""
    kind, *parts = formula
    if kind in ("[]", "<>") and under:
        return flat(parts[0], under)
    if kind == "own":
        return ("x", None)
    deeper = under or kind in ("[]", "<>")
    return (kind, *(flat(part, deeper) if isinstance(part, tuple) else part for part in parts))
