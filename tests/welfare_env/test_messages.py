"""Messages in the environments: a space contains what `step` takes; the tokens, as words and numbers; what is heard."""

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import example, given, settings
from hypothesis import strategies as st

import welfare_env
from tests.fuzz.hunting import odd
from welfare_env import Message, PressError, Rules, load_board
from welfare_env.game import press
from welfare_env.game.press import MAX_MESSAGE_LENGTH, TOKENS, observe_messages

RULES = Rules(years=1, press="tokens", message_rounds=2)
MEDIATED = Rules(years=1, press="tokens", message_rounds=2, mediator=True)
BOARD = load_board()
MAKERS = [welfare_env.make, welfare_env.parallel_env]
NO_TOKENS: list[Any] = [-1, 6, 2**70, 1.0, True, None, np.array([1]), "1", "Accept", "accept ", "x" * 5000, b"accept"]
ANY = st.characters(max_codepoint=sys.maxunicode)  # surrogates and control characters, too
LONG = st.integers(MAX_MESSAGE_LENGTH - 2, MAX_MESSAGE_LENGTH + 2)
TEXTS = st.one_of(
    st.text(ANY, max_size=5),
    st.text(" \n\t\u2003\x00", max_size=3),
    st.builds(lambda sign, size: sign * size, st.sampled_from("a é😀"), LONG),
    st.builds(np.str_, st.text(max_size=3)),
)


def speak_in(make: Callable, said: Any, rules: Rules = RULES, **options: Any) -> tuple[Any, str, tuple[str, ...]]:
    """The first one to speak says something to all: the environment, who it was, and what was refused."""
    env = make(rules=rules, **options)
    env.reset(seed=0)
    action = {"orders": [], "messages": {"GLOBAL": said}}
    if make is welfare_env.parallel_env:
        speaker = env.agents[0]
        *_, infos = env.step({speaker: action})
        return env, speaker, infos[speaker]["refused"]
    speaker = env.agent_selection
    env.step(action)
    return env, speaker, env.unwrapped._info(speaker)["refused"]


def test_the_vocabulary_is_what_version_1_is() -> None:
    """Learned players keep these numbers: a change of the words needs another version."""
    words = ("propose peace", "propose demilitarisation", "ask for support", "accept", "refuse")
    assert press.VOCABULARY_VERSION == 1
    assert words == TOKENS


@pytest.mark.parametrize("make", MAKERS)
class TestActions:
    def test_a_number_is_its_word_and_zero_is_silence(self, make: Callable) -> None:
        for number, word in enumerate(("", *TOKENS)):
            for said in (number, np.array(number), word):
                env, speaker, refused = speak_in(make, said, strict=True)
                heard = (Message(speaker, "GLOBAL", word, "S1901M", 1),) if word else ()
                assert (env.unwrapped.game.messages, refused) == (heard, ())
                assert all(type(message.text) is str for message in env.unwrapped.game.messages)

    def test_anything_else_is_refused(self, make: Callable) -> None:
        for said in NO_TOKENS:
            env, _, refused = speak_in(make, said)
            assert env.unwrapped.game.messages == ()
            assert len(refused) == 1
            assert all(word in refused[0] for word in TOKENS)
            assert len(refused[0]) < 400
            with pytest.raises(PressError, match="propose peace"):
                speak_in(make, said, strict=True)

    def test_spaces(self, make: Callable) -> None:
        for options in ({"press": None}, {"press": "text"}, {"press": "tokens", "message_rounds": 0}):
            env = make(**options)
            assert "messages" not in env.observation_space("FRANCE").spaces
            assert env.action_space("FRANCE").sample() in env.action_space("FRANCE")
            assert [0, [1]] not in env.action_space("FRANCE")
        env = make(rules=MEDIATED)
        assert env.observation_space("FRANCE")["messages"] == spaces.Box(0, 5, (8, 6), np.int8)
        assert env.action_space("FRANCE").sample() in env.action_space("FRANCE")
        said = env.action_space("FRANCE")["messages"]
        assert set(said.spaces) == {*env.possible_agents, "GLOBAL"} - {"FRANCE"}
        assert all(space == spaces.Discrete(6) for space in said.spaces.values())


@st.composite
def spoken(draw: st.DrawFn) -> tuple[Rules, list[Message]]:
    """Any messages of one phase, rounds in sequence."""
    rules = draw(st.sampled_from([RULES, MEDIATED]))
    everybody, found = press.players(BOARD, rules), []
    for _ in range(draw(st.integers(0, 30))):
        sender, word, number = (draw(st.sampled_from(each)) for each in (everybody, TOKENS, (1, 2)))
        recipient = draw(st.sampled_from(press.recipients(BOARD, rules, sender)))
        found.append(Message(sender, recipient, word, "S1901M", number))
    return rules, sorted(found, key=lambda message: message.round)


@settings(max_examples=25)
@given(spoken())
def test_every_cell_is_the_last_word_between_two(case: tuple[Rules, list[Message]]) -> None:
    """That an environment shows each player its own: test_aec.py, test_parallel.py."""
    rules, said = case
    for player in press.players(BOARD, rules):
        first = 0 if player == "MEDIATOR" else BOARD.powers.index(player)
        seats = [*BOARD.powers[first:], *BOARD.powers[:first], *(["MEDIATOR"] if rules.mediator else [])]
        seen = observe_messages(BOARD, rules, player, said)
        assert seen.shape == (len(seats), 6)
        for row, other in enumerate(seats):
            ways = [(other, player), (other, "GLOBAL"), (player, other)]
            for column in range(6):
                cell = (*ways[column % 3], 1 + column // 3)
                words = [each.text for each in said if (each.sender, each.recipient, each.round) == cell]
                assert seen[row, column] == (TOKENS.index(words[-1]) + 1 if words else 0)


# Spaces


@pytest.mark.parametrize("make", MAKERS)
@settings(max_examples=30)
@given(message=TEXTS | odd)
@example(message="café 😀")
@example(message="\ud800")
@example(message=" ")
@example(message="")
def test_a_space_contains_what_can_be_said(make: Callable, message: Any) -> None:
    rules = Rules(years=1, message_rounds=1)
    space = make("clique:3", rules).action_space("PLAYERA")["messages"]["GLOBAL"]
    with contextlib.nullcontext() if message in space else pytest.raises(PressError):
        speak_in(make, message, rules, map_name="clique:3", strict=True)
