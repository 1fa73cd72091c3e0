"""The complete class of direct agents, against plays and against the search of replies."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modal_env.errors import GameError
from modal_env.logic.library import CooperateBot, DefectBot, FairBot, PrudentBot, RandomBot
from modal_env.logic.notation import Agent, parse
from modal_env.logic.provability import play
from modal_env.search import direct_agents as direct
from modal_env.search.best_replies import replies

PAYOFF = {"CC": 2, "CD": 0, "DC": 3, "DD": 1}


@pytest.mark.slow
def test_how_many_there_are() -> None:
    assert [len(direct.types(depth).words) for depth in range(3)] == [1, 4, 21]
    assert [len(direct.codes_up_to(lower)) for lower in range(2)] == [2, 16]
    assert len(direct.survey().best) == 2**21
    assert set(direct.codes_up_to(0).tolist()) == {0, 2**21 - 1}


@given(st.integers(0, 2**21 - 1))
@settings(max_examples=40)
def test_every_code_has_an_agent(code: int) -> None:
    agent = direct.agent_with(code)
    assert agent.depth <= 2
    assert not agent.called
    assert direct.code_of(agent) == code


@pytest.mark.slow
def test_codes_of_a_lower_depth_are_those_of_its_agents() -> None:
    shallow = {direct.code_of(direct.agent_with(code, 1)) for code in range(16)}
    assert shallow == set(direct.codes_up_to(1).tolist())
    assert direct.survey().least[sorted(shallow)].tolist().count(1) == 14
    assert direct.survey().least[direct.code_of(FairBot)] == 1
    assert direct.survey().least[direct.code_of(parse("[]true & []X(me)"))] == 1
    assert direct.survey().least[direct.code_of(parse("[][]X(me)"))] == 2


def test_survey_of_depth_1_as_all_plays() -> None:
    agents = [direct.agent_with(code, 1) for code in range(16)]
    seen = direct.survey(1)
    assert seen.least.tolist() == [agent.depth if code else 0 for code, agent in enumerate(agents)]
    for code, agent in enumerate(agents):
        for depth in (0, 1):
            met = [play(other, agent).moves for other in agents if other.depth <= depth]
            assert seen.best[code, depth] == max(PAYOFF["".join(moves)] for moves in met)
            assert seen.befriends[code, depth] == any(theirs == "C" for _, theirs in met)


@pytest.mark.slow
@given(st.integers(0, 2**21 - 1))
@settings(max_examples=60)
def test_survey_of_depth_2_as_the_search_of_replies(code: int) -> None:
    agent, seen = direct.agent_with(code), direct.survey()
    for depth in range(3):
        moves = [reply.moves[0] for reply in replies([agent], depth=depth)]
        assert seen.best[code, depth] == max(PAYOFF["".join(pair)] for pair in moves)
        assert seen.befriends[code, depth] == any(theirs == "C" for _, theirs in moves)


def test_partners_need_each_other() -> None:
    pairs, seen = direct.partners(), direct.survey()
    assert pairs.shape == (820, 2)
    assert (pairs[:, 0] <= pairs[:, 1]).all()
    assert (seen.least[pairs] == 2).all()
    assert (seen.best[pairs] == [1, 1, 2]).all()
    for a, b in pairs[:: len(pairs) // 20].tolist():
        assert play(direct.agent_with(a), direct.agent_with(b)).moves == ("C", "C")


def test_partners_of_depth_1() -> None:
    agents = [direct.agent_with(code, 1) for code in range(16)]
    paid = np.array([[PAYOFF["".join(play(a, b).moves)] for b in agents] for a in agents])
    found = []
    for a, b in product(range(16), repeat=2):
        sides = ((a, b), (b, a))
        best = all(paid[x, y] == 2 == paid[:, y].max() and paid[[0, 15], y].max() <= 1 for x, y in sides)
        if best and a <= b:
            found.append([a, b])
    assert direct.partners(1).tolist() == found == []


@pytest.mark.parametrize("agent", [PrudentBot, parse("[][][]X(me)"), parse("[](X(me) <-> me)")])
def test_agents_that_are_not_direct(agent: Agent) -> None:
    with pytest.raises(GameError, match="not a direct agent of depth 2"):
        direct.code_of(agent)
    with pytest.raises(GameError, match="RandomBot"):
        direct.code_of(RandomBot)


def test_codes_and_depths_that_do_not_exist() -> None:
    with pytest.raises(GameError, match="from 0 to 2,097,151"):
        direct.agent_with(2**21)
    with pytest.raises(GameError, match="depth=3"):
        direct.types(3)
    assert direct.agent_with(0).text == DefectBot.text
    assert direct.agent_with(2**21 - 1).text == CooperateBot.text
