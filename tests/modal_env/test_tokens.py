"""Formulas as tokens: the vocabulary, the mask, and there and back again."""

from functools import reduce

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from modal_env.envs.tokens import NOTHING, START, Vocabulary
from modal_env.errors import FormulaError
from modal_env.logic.library import LIBRARY, POST, PrudentBot
from modal_env.logic.notation import parse
from modal_env.logic.provability import Plays, play, solve

VOCABULARY = Vocabulary(POST)
CHOICES = st.lists(st.floats(0, 1, exclude_max=True), min_size=40, max_size=40)


def after(written, budget, vocabulary=VOCABULARY):
    """The open places, and the tokens that may come next."""
    places = reduce(vocabulary.after, written, START)
    return places, vocabulary.mask(places, budget - len(written))


def write(budget, choices):
    """A formula from choices in [0, 1), each among the tokens that are open, until it ends."""
    written = ()
    for choice in choices:
        tokens = np.flatnonzero(after(written, budget)[1])
        written = (*written, int(tokens[int(choice * len(tokens))]))
        if not after(written, budget)[0]:
            return written
    raise AssertionError("the formula came to no end")


def test_vocabulary_is_as_documented():
    calls = [f"X({agent.name})" for agent in POST]
    operators = ["true", "false", "~", "[]", "<>", "&", "|", "->", "<->"]
    assert list(VOCABULARY.texts) == ["", *operators, "X(", "X(me)", *calls]
    assert len(VOCABULARY) == 12 + len(POST)
    assert Vocabulary(POST, me=True).texts == (*VOCABULARY.texts, "me")


def test_library_there_and_back():
    assert VOCABULARY.text(VOCABULARY.encode(PrudentBot)) == "[] & X(me) -> X(DefectBot) [] false"
    alone = Vocabulary([], me=True)
    for agent in [agent for agent in LIBRARY.values() if not agent.is_random]:
        vocabulary = Vocabulary(tuple(dict.fromkeys((*POST, *agent.called))), me=True)
        assert vocabulary.agent(vocabulary.encode(agent)) == agent
        written = alone.agent(alone.encode(agent))  # agents without a token are written in their place
        assert [play(written, other).moves for other in POST] == [play(agent, other).moves for other in POST]
        assert written.depth == agent.depth


@settings(max_examples=30)
@given(CHOICES, CHOICES)
def test_compiled_formulas_play_as_their_agents(first, second):
    one, other = (write(16, choices) for choices in (first, second))
    agents, compiled = ([make(written) for written in (one, other)] for make in (VOCABULARY.agent, VOCABULARY.compiled))
    assert [each.depth for each in compiled] == [each.depth for each in agents]
    plays = Plays([tuple(compiled)])
    solution = solve(plays.equations)
    assert "DC"[solution.value(0, solution.settles)] == play(*agents).moves[0]


@settings(max_examples=30)
@given(CHOICES, st.integers(1, 40))
def test_what_the_mask_allows_is_an_agent_within_the_budget(choices, budget):
    written = write(budget, choices)
    agent = VOCABULARY.agent(written)
    assert len(written) == agent.size <= budget
    assert VOCABULARY.encode(agent) == written
    assert parse(agent.text) == agent


@settings(max_examples=30)
@given(CHOICES, st.integers(1, 12))
def test_the_mask_is_exactly_what_can_be_finished(choices, budget):
    """A token is open if and only if some way to go on ends in an agent: a search without places says the same."""
    written = write(budget, choices)[:-1]
    mask = after(written, budget)[1]
    for number in range(1, len(VOCABULARY)):
        assert mask[number] == can_be_finished((*written, number), budget), VOCABULARY.texts[number]
    assert mask.dtype == np.int8
    assert mask.any()
    assert not mask[NOTHING]


def can_be_finished(written, budget):
    """Filling with `false` is the shortest and the safest way to an end."""
    for count in range(budget - len(written) + 1):
        try:
            VOCABULARY.agent((*written, *[VOCABULARY.texts.index("false")] * count))
        except FormulaError:
            continue
        return True
    return False
