"""Machines, canonical forms and listed behaviors: against plays, which know nothing of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from modal_env.errors import GameError
from modal_env.logic.finite_machines import canonical_forms, machine, stacked
from modal_env.logic.library import (
    LIBRARY,
    POST,
    AlikeBot,
    CooperateBot,
    DefectBot,
    FairBot,
    JustBot,
    LateBot,
    OneBot,
    PrudentBot,
    RandomBot,
)
from modal_env.logic.notation import Agent, parse
from modal_env.logic.provability import play
from modal_env.logic.syntax import closure
from modal_env.logic.tournaments import tournament
from modal_env.search.behaviors import Behaviors, behaviors_of, two_boxes

PLAYERS = [agent for agent in LIBRARY.values() if not agent.is_random]


def same_behavior(a: Agent, b: Agent) -> bool:
    """Whether two agents have equal canonical forms."""
    calls = closure((*a.called, *b.called))
    one, other = canonical_forms(*stacked([machine(a, calls), machine(b, calls)]), calls)
    return bool((one == other).all())


@pytest.fixture(scope="module")
def listed() -> Behaviors:
    """The 318 behaviors with one literal a box."""
    return two_boxes(literals=1)


def word(agent: Agent, opponent: Agent, calls: tuple[Agent, ...], worlds: int) -> list[int]:
    """What the agent's machine reads: what the opponent does against it and against those called."""
    moves = [play(opponent, other, worlds).trace for other in (agent, *calls)]
    return [sum(bool(trace[world][0]) << bit for bit, trace in enumerate(moves)) for world in range(worlds)]


@pytest.mark.slow
def test_a_machine_plays_as_its_agent(
    random_formulas: Callable[[int, int], Any], parse_formulas: Callable[[Any], list[Agent]]
) -> None:
    for seed in range(6):
        agents = parse_formulas(random_formulas(seed, 12))
        for agent in (agent for agent in agents if len(agent.called) < 4):
            for opponent in agents:
                expected = play(agent, opponent, 14).trace
                one = machine(agent)
                read = word(agent, opponent, one.calls, 14)
                assert [one.outputs[one.run(read[:world])] for world in range(14)] == [own for own, _ in expected]


@pytest.mark.parametrize("agent", PLAYERS, ids=lambda agent: agent.name)
def test_machines_of_the_library_play_as_their_agents(agent: Agent) -> None:
    one = machine(agent, closure(agent.called))
    for opponent in PLAYERS:
        read = word(agent, opponent, one.calls, 10)
        assert one.outputs[one.run(read)] == (play(agent, opponent).moves[0] == "C")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[]X(FairBot)", "[]X(me)"),  # JustBot: the third rule
        ("[](X(me) & X(FairBot))", "[]X(FairBot)"),
        ("~[]X(me) | []X(CooperateBot)", "true"),
        ("[](X(me) & (X(DefectBot) -> []false))", "[]X(me) & [](~X(DefectBot) | []false)"),
        ("[]([]false -> X(DefectBot))", "[]([]false -> X(CooperateBot))"),  # the first rule: world 0
        ("[](~[][]false | X(FairBot))", "[](~[][]false | X(CooperateBot))"),  # the second rule: world 1
        ("[]([]X(me) -> X(me))", "[]X(me)"),  # Löb's theorem
        ("~[]~X(me)", "<>X(me)"),
        ("[](X(me) | true)", "true"),
    ],
)
def test_agents_that_behave_alike(one: str, other: str) -> None:
    assert same_behavior(parse(one), parse(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[]X(me)", "[](X(me) & (X(DefectBot) -> []false))"),
        ("true", "~[]false"),  # the same moves, but not at world 0
        ("[]X(DefectBot)", "[]X(me)"),
        ("[]false | []X(me)", "[]false"),
        ("[][]X(me)", "[][]X(CooperateBot)"),
    ],
)
def test_agents_that_do_not(one: str, other: str) -> None:
    assert not same_behavior(parse(one), parse(other))


@pytest.mark.slow
def test_agents_with_equal_forms_play_alike(
    random_formulas: Callable[[int, int], Any], parse_formulas: Callable[[Any], list[Agent]]
) -> None:
    texts = [f"{a}{b}{c}X({name})" for a in ("", "~") for b in ("[]", "<>", "[][]", "[]<>") for c in ("", "~")
             for name in ("me", "CooperateBot", "DefectBot", "FairBot")]  # fmt: skip
    texts += [f"{one} | {other}" for one in texts[:16] for other in texts[::5]]
    opponents = [agent for agent in parse_formulas(random_formulas(3, 25)) if agent.depth < 4]
    groups: dict[bytes, list[Agent]] = {}
    found = behaviors_of([parse(text) for text in texts])
    for text in texts:
        groups.setdefault(bytes(found.index(parse(text)) or 0), []).append(parse(text))
    assert len(groups) == len(found) < len(texts) / 2
    for group in groups.values():
        for opponent in opponents:
            assert len({play(agent, opponent).moves for agent in group}) == 1


def test_classes_of_boxes(listed: Behaviors) -> None:
    assert len(listed) == 318
    assert np.bincount(listed.depths).tolist() == [2, 203, 113]
    assert [agent.depth for agent in listed.agents] == listed.depths.tolist()
    assert [listed.index(agent) for agent in POST[:3]] == [0, 1, 2]
    assert listed.index(PrudentBot) is None
    small = two_boxes((DefectBot,))
    place = small.index(PrudentBot)
    assert place is not None
    assert same_behavior(small.agent(place), PrudentBot)
    assert small.depths[place] == 2


def test_every_listed_behavior_is_another(listed: Behaviors) -> None:
    again = behaviors_of(listed.agents)
    assert len(again) == len(listed)
    assert again.depths.tolist() == listed.depths.tolist()


def test_everybody_against_everybody_as_the_plain_evaluator(listed: Behaviors) -> None:
    chosen = np.random.default_rng(0).choice(len(listed), 60, replace=False)
    expected = tournament([listed.agent(int(number)) for number in chosen]).cooperates
    assert (listed.cooperates[np.ix_(chosen, chosen)] == expected).all()


@pytest.mark.parametrize(
    "agents",
    [
        [
            *(agent for agent in PLAYERS if agent not in (LateBot, OneBot)),
            parse("[][][]X(PrudentBot)"),
            parse("[]X(JustBot)"),
        ],
        [*POST, JustBot, AlikeBot, LateBot, OneBot],  # who call seven, the most that are possible
    ],
)
def test_a_list_of_behaviors_of_different_kinds(agents: list[Agent]) -> None:
    found = behaviors_of(agents)
    assert len(found) < len(agents)  # JustBot is FairBot, and more
    for agent in agents:
        assert found.index(agent) is not None
    assert (found.cooperates == tournament(found.agents).cooperates).all()


def test_what_cannot_be_a_machine() -> None:
    with pytest.raises(GameError, match="RandomBot, which is not a machine"):
        machine(RandomBot)
    with pytest.raises(GameError, match="calls 'DefectBot', which is not among"):
        machine(PrudentBot, [FairBot])
    with pytest.raises(GameError, match="one at least"):
        behaviors_of([])
    one, other = (parse("[]X(H)", helpers={"H": text}) for text in ("[]false", "[]X(me)"))
    with pytest.raises(GameError, match="different names"):
        behaviors_of([one, other])
    with pytest.raises(GameError, match="different names"):
        two_boxes([parse("[]false")])
    with pytest.raises(GameError, match="literals=0"):
        two_boxes(literals=0)
    with pytest.raises(GameError, match="calls 'Deep' has depth 3, not 2"):
        two_boxes([parse("[][][]X(me)", name="Deep")])
    many = [parse("[]X(me)" + " & []X(me)" * number, name=f"A{number}") for number in range(9)]
    with pytest.raises(GameError, match="9 calls: at most 7"):
        machine(CooperateBot, many)
