"""Formulas as tokens: the vocabulary, the mask, and there and back again."""

from collections import Counter
from functools import reduce
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from modal_env.envs.tokens import NOTHING, START, Vocabulary
from modal_env.errors import FormulaError, GameError
from modal_env.logic.library import LIBRARY, POST, FairBot, PrudentBot
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


def numbers(text):
    return tuple(VOCABULARY.texts.index(token) for token in text.split())


def test_vocabulary_is_as_documented():
    calls = [f"X({agent.name})" for agent in POST]
    operators = ["true", "false", "~", "[]", "<>", "&", "|", "->", "<->"]
    assert list(VOCABULARY.texts) == ["", *operators, "X(", "X(me)", *calls]
    assert len(VOCABULARY) == 12 + len(POST)
    assert Vocabulary(POST, me=True).texts == (*VOCABULARY.texts, "me")


def test_prudent_bot_in_tokens():
    written = VOCABULARY.encode(PrudentBot)
    assert VOCABULARY.text(written) == "[] & X(me) -> X(DefectBot) [] false"
    assert VOCABULARY.agent(written) == PrudentBot


@pytest.mark.parametrize("agent", [agent for agent in LIBRARY.values() if not agent.is_random], ids=lambda a: a.name)
def test_library_there_and_back(agent):
    vocabulary = Vocabulary(tuple(dict.fromkeys((*POST, *agent.called))), me=True)
    assert vocabulary.agent(vocabulary.encode(agent)) == agent
    alone = Vocabulary([], me=True)
    written = alone.agent(alone.encode(agent))  # agents without a token are written in their place
    assert [play(written, other).moves for other in POST] == [play(agent, other).moves for other in POST]
    assert written.depth == agent.depth


def test_formulas_of_a_size_are_drawn_uniformly():
    """All formulas of three tokens over `true false ~ [] <> & | -> <-> X( X(me)`, counted by trying all of them."""
    alone = Vocabulary([])
    every = {three for three in product(range(1, len(alone)), repeat=3) if is_agent(alone, three)}
    rng = np.random.default_rng(0)
    drawn = Counter(alone.sample(3, rng) for _ in range(60 * len(every)))
    assert drawn.keys() == every
    assert chisquare(list(drawn.values())).pvalue > 1e-4
    for size in (1, 8, 100):
        assert len(alone.sample(size, rng)) == size
    with pytest.raises(GameError):
        alone.sample(0, rng)


def is_agent(vocabulary, written):
    try:
        vocabulary.agent(written)
    except FormulaError:
        return False
    return True


@given(CHOICES, CHOICES)
def test_compiled_formulas_play_as_their_agents(first, second):
    one, other = (write(16, choices) for choices in (first, second))
    agents, compiled = ([make(written) for written in (one, other)] for make in (VOCABULARY.agent, VOCABULARY.compiled))
    assert [each.depth for each in compiled] == [each.depth for each in agents]
    plays = Plays([tuple(compiled)])
    solution = solve(plays.equations)
    assert "DC"[solution.value(0, solution.settles)] == play(*agents).moves[0]


@given(CHOICES, st.integers(1, 40))
def test_what_the_mask_allows_is_an_agent_within_the_budget(choices, budget):
    written = write(budget, choices)
    agent = VOCABULARY.agent(written)
    assert len(written) == agent.size <= budget
    assert VOCABULARY.encode(agent) == written
    assert parse(agent.text) == agent


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


@pytest.mark.parametrize(
    ("written", "budget", "open_tokens"),
    [
        ("", 1, "true false"),
        ("", 2, "true false ~ [] <>"),
        ("", 3, "true false ~ [] <> & | -> <->"),
        ("~", 2, "true false"),
        ("[]", 2, "true false X(me) X(CooperateBot) X(DefectBot) X(FairBot) X(PrudentBot)"),
        ("& [] X(me)", 4, "true false"),
        ("& [] X(me)", 5, "true false ~ [] <>"),
    ],
)
def test_mask_by_hand(written, budget, open_tokens):
    mask = after(numbers(written), budget)[1]
    assert [VOCABULARY.texts[number] for number in np.flatnonzero(mask)] == open_tokens.split()


def test_only_nothing_follows_a_whole_formula():
    assert np.flatnonzero(after(numbers("[] X(me)"), 16)[1]).tolist() == [NOTHING]


def test_budget_of_many_tokens_never_nests_too_deep():
    written = (VOCABULARY.texts.index("[]"),) * 499 + numbers("X(me)")
    assert VOCABULARY.agent(written).depth == 499


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("[]", "does not end here"),
        ("", "does not end here"),
        ("true true", "has ended before"),
        ("X(me)", "must stand under"),
        ("& [] X(me) X(FairBot)", "must stand under"),
    ],
)
def test_what_is_no_agent_is_told(written, message):
    with pytest.raises(FormulaError, match=message):
        VOCABULARY.agent(numbers(written))


@pytest.mark.parametrize("number", [NOTHING, -1, 16])
def test_numbers_that_are_no_token(number):
    with pytest.raises(FormulaError, match="tokens are 1 to 15"):
        VOCABULARY.agent((number,))


def test_a_token_that_is_not_open_is_pointed_at():
    error = VOCABULARY.refusal(numbers("~"), numbers("X(me)")[0])
    assert "token 2, 'X(me)'" in str(error)
    assert error.text[error.position :] == "X(me)"


def test_agents_that_cannot_be_encoded():
    with pytest.raises(FormulaError, match="not in the vocabulary"):
        VOCABULARY.encode(LIBRARY["CIMCIC"])
    with pytest.raises(FormulaError, match="not in the vocabulary"):
        VOCABULARY.encode(LIBRARY["RandomBot"])


def test_names_must_differ_and_be_names():
    with pytest.raises(GameError, match="FairBot"):
        Vocabulary([FairBot, parse("[]false", name="FairBot")])
    with pytest.raises(FormulaError):
        Vocabulary([FairBot.renamed("not a name")])


def test_equal_agents_of_two_names_are_one_token_on_the_way_back():
    twice = Vocabulary([FairBot, FairBot.renamed("Fair")])
    second = twice.texts.index("X(Fair)")
    agent = twice.agent((twice.texts.index("[]"), second))
    assert twice.agent(twice.encode(agent)) == agent
