"""A message space contains what `step` takes, and samples of all spaces are in them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import welfare_env
from welfare_env.errors import PressError
from welfare_env.game.press import MAX_MESSAGE_LENGTH

ANY = st.characters(max_codepoint=sys.maxunicode)  # surrogates and control characters, too
LONG = st.integers(MAX_MESSAGE_LENGTH - 2, MAX_MESSAGE_LENGTH + 2)
TEXTS = st.one_of(
    st.text(ANY, max_size=5),
    st.text(" \n\t\u2003\x00", max_size=3),
    st.builds(lambda sign, size: sign * size, st.sampled_from("a é😀"), LONG),
    st.builds(np.str_, st.text(max_size=3)),
)
NUMBERS = st.one_of(st.integers(-3, 20), st.sampled_from([np.int8(3), np.array(3)]), st.floats())
THINGS = st.one_of(st.none(), st.binary(max_size=2), st.tuples(st.integers()), st.dictionaries(st.text(), st.none()))
MAKERS = [welfare_env.make, welfare_env.parallel_env]


@pytest.fixture(scope="module", params=MAKERS, ids=["aec", "parallel"])
def make(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def free_text(make: Any) -> Any:
    return make("clique:3", years=1, message_rounds=1, strict=True)


def is_said(env: Any, message: Any) -> bool:
    """Whether `step` takes a message to all."""
    env.reset(seed=0)
    action = {"orders": [], "messages": {"GLOBAL": message}}
    try:
        env.step(action if hasattr(env, "agent_selection") else {env.agents[0]: action})
    except PressError:
        return False
    return True


def space_of(env: Any) -> Any:
    return env.action_space(env.possible_agents[0])["messages"]["GLOBAL"]


@settings(max_examples=30)
@given(message=TEXTS | NUMBERS | THINGS)
@example(message="café 😀")
@example(message="\ud800")
@example(message=" ")
@example(message="")
def test_messages(free_text: Any, message: Any) -> None:
    assert is_said(free_text, message) == (message in space_of(free_text))


@pytest.mark.parametrize("press", ["text", "tokens", None])
def test_samples_are_inside(make: Any, press: str | None) -> None:
    env = make("clique:3", years=1, press=press, message_rounds=1)
    for agent in env.possible_agents:
        env.action_space(agent).seed(1)
        assert all(env.action_space(agent).sample() in env.action_space(agent) for _ in range(5))
    assert [0, [1]] not in env.action_space(agent)
