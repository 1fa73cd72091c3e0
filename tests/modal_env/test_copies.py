"""Copies of environments go on as their original would, and neither changes the other; arrays are the caller's own."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import modal_env
from modal_env import RandomBot, parse
from tests.modal_env.conftest import chosen

TEXTS = ("[]X(me)", "~[]~X(me)", "PrudentBot", "RandomBot", "no formula", "[](X(FairBot) -> X(me))")


def pickled(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing, pickle.HIGHEST_PROTOCOL))  # noqa: S301


MODES = ["library", "formula", "tokens"]


def begun(actions: str) -> Any:
    helper = parse("[](X(me) | X(FairBot))", name="Wary")
    agents = [*modal_env.POST, helper, *([RandomBot] if actions == "library" else [])]
    env = modal_env.make(actions=actions, agents=agents, rounds=3, players=4, render_mode="ansi")
    env.reset(seed=3)
    return env


def bytes_of(seen: dict[str, Any]) -> list[bytes]:
    return [array.tobytes() for array in seen.values()]


def advanced(env: Any, steps: int, seed: int) -> str:
    """Play so many steps, or to the end; all that can be seen on the way."""
    rng, told = np.random.default_rng(seed), []
    while env.agents and len(told) < steps:
        seen, *rest = env.last()
        env.step(None if rest[1] else chosen(rng, seen, TEXTS))
        told.append((bytes_of(seen), rest))
    return repr((told, env.render()))


@pytest.mark.parametrize("actions", MODES)
@pytest.mark.parametrize(("copier", "steps"), [(copy.copy, 1), (copy.deepcopy, 0), (pickled, 7)])
def test_a_copy_goes_on_as_its_original(actions: str, copier: Callable[[Any], Any], steps: int) -> None:
    env = begun(actions)
    advanced(env, steps, seed=1)
    other, third = copier(env), copier(env)
    theirs = advanced(other, 200, seed=2)  # which the original does not notice
    assert advanced(env, 200, seed=2) == theirs == advanced(third, 200, seed=2)
    env.reset()  # the generators go on alike, too
    other.reset()
    assert advanced(env, 10, seed=3) == advanced(other, 10, seed=3)


@pytest.mark.parametrize("actions", MODES)
def test_what_is_written_into_an_observation_changes_nothing(actions: str) -> None:
    env, other = begun(actions), begun(actions)
    advanced(env, 9, seed=1), advanced(other, 9, seed=1)
    for agent in env.agents:
        for array in env.observe(agent).values():
            if array.flags.writeable:
                array[...] = 1
    assert [bytes_of(env.observe(agent)) for agent in env.agents] == [
        bytes_of(other.observe(agent)) for agent in other.agents
    ]
    assert advanced(env, 50, seed=2) == advanced(other, 50, seed=2)
