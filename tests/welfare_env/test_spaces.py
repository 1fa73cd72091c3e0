"""What an action space contains is what `step` takes, and samples are in it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import welfare_env
from welfare_env.envs.actions import CHARACTERS, MessageSpace
from welfare_env.errors import ActionError, PressError
from welfare_env.game.press import MAX_MESSAGE_LENGTH, TOKENS

ANY = st.characters(max_codepoint=sys.maxunicode)  # surrogates and control characters, too
LONG = st.integers(MAX_MESSAGE_LENGTH - 2, MAX_MESSAGE_LENGTH + 2)
TEXTS = st.one_of(
    st.text(ANY, max_size=5),
    st.text(" \n\t\u2003\x00", max_size=3),
    st.builds(lambda sign, size: sign * size, st.sampled_from("a é😀"), LONG),
    st.builds(np.str_, st.text(max_size=3)),
)
NUMBERS = st.one_of(
    st.integers(-3, 20),
    st.sampled_from([2**31, 2**63, 2**64, 10**30, -(10**30)]),
    st.booleans(),
    st.floats(),
    st.builds(np.uint64, st.integers(0, 9)),
    st.builds(np.int8, st.integers(-2, 9)),
    st.builds(np.array, st.integers(-2, 9)),
    st.sampled_from([np.bool_(True), np.timedelta64(1, "s"), np.array([1]), np.array(1.0), np.array(True)]),
)
THINGS = st.one_of(st.none(), st.binary(max_size=2), st.tuples(st.integers()), st.dictionaries(st.text(), st.none()))


@pytest.fixture(scope="module")
def free_text() -> list[Any]:
    return [make("clique:3", years=1, message_rounds=1, strict=True) for make in makers()]


@pytest.fixture(scope="module")
def tokens() -> list[Any]:
    return [make("clique:3", years=1, press="tokens", message_rounds=1, strict=True) for make in makers()]


def makers() -> list[Any]:
    return [welfare_env.make, welfare_env.parallel_env]


def says(env: Any, message: Any) -> tuple[bool, bool]:
    """Whether a message to all is in the first player's space, and whether `step` takes it."""
    env.reset(seed=0)
    in_turns = hasattr(env, "agent_selection")
    agent = env.agent_selection if in_turns else env.agents[0]
    space = env.action_space(agent)
    action = {"orders": 0 if in_turns else np.zeros(len(space["orders"].nvec), int), "messages": {"GLOBAL": message}}
    try:
        env.step(action if in_turns else {agent: action})
    except PressError:
        return message in space["messages"]["GLOBAL"], False
    return message in space["messages"]["GLOBAL"], True


@settings(max_examples=100)
@given(message=TEXTS | NUMBERS | THINGS)
@example(message="café 😀")
@example(message="\ud800")
@example(message=" ")
@example(message="")
def test_messages(free_text: list[Any], message: Any) -> None:
    for env in free_text:
        contained, taken = says(env, message)
        assert contained == taken


@settings(max_examples=100)
@given(message=NUMBERS | THINGS)
def test_tokens(tokens: list[Any], message: Any) -> None:
    for env in tokens:
        contained, taken = says(env, message)
        assert contained == taken


def test_words_are_taken_beside_their_numbers(tokens: list[Any]) -> None:
    assert [says(env, word)[1] for env in tokens for word in TOKENS] == [True] * 2 * len(TOKENS)


@pytest.fixture(scope="module")
def silent() -> list[Any]:
    return [make("clique:3", years=1, press=None) for make in makers()]


@settings(max_examples=100)
@given(action=NUMBERS | TEXTS | THINGS)
def test_order_numbers(silent: list[Any], action: Any) -> None:
    env = silent[0]
    env.reset(seed=0)
    contained = action in env.action_space(env.agent_selection)
    try:
        env.step(action)
    except ActionError:
        assert not contained
    else:
        assert contained


def lists(size: int) -> st.SearchStrategy[Any]:
    """What might stand for a choice per slot."""
    fair = st.lists(st.integers(0, 1), min_size=size, max_size=size)
    types = st.sampled_from(["i8", "u8", "i1", "?", "f4", "O", "U1"])
    one_odd = st.builds(lambda row, number: [*row[1:], number], fair, NUMBERS | st.lists(st.integers(), max_size=2))
    return st.one_of(st.builds(np.array, fair, types), fair, fair.map(tuple), one_odd, fair.map(lambda row: row[1:]))


@pytest.mark.slow
@settings(max_examples=100)
@given(data=st.data())
def test_choices(silent: list[Any], data: st.DataObject) -> None:
    env = silent[1]
    env.reset(seed=0)
    agent = env.agents[0]
    action = data.draw(lists(len(env.action_space(agent).nvec)) | THINGS)
    contained = action in env.action_space(agent)
    try:
        _, _, _, _, infos = env.step({agent: action})
    except ActionError:
        assert not contained
    else:
        assert contained or infos[agent]["refused"]


def test_samples_are_inside() -> None:
    space, blank = MessageSpace(), np.array([char == " " for char in CHARACTERS], np.int8)
    space.seed(0)
    assert all(space.sample(mask=(size, blank)) == "" for size in range(3))
    assert all(space.sample(mask=(1, None)) in space for _ in range(1000))
    for make in makers():
        for press in ("text", "tokens", None):
            env = make("clique:3", years=1, press=press, message_rounds=1)
            for agent in env.possible_agents:
                env.action_space(agent).seed(1)
                assert all(env.action_space(agent).sample() in env.action_space(agent) for _ in range(5))
