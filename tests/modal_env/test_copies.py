"""Copies of environments go on as their original would, and neither changes the other; arrays are the caller's own."""

import copy
import hashlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import modal_env
from modal_env import RandomBot, parse
from tests.modal_env.conftest import chosen

Copier = Callable[[Any], Any]
TEXTS = ("[]X(me)", "~[]~X(me)", "PrudentBot", "RandomBot", "no formula", "[](X(FairBot) -> X(me))")


def pickled(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing, pickle.HIGHEST_PROTOCOL))  # noqa: S301


MODES = ["library", "formula", "tokens"]


def begun(maker: Callable[..., Any], actions: str) -> Any:
    helper = parse("[](X(me) | X(FairBot))", name="Wary")
    agents = [*modal_env.POST, helper, *([RandomBot] if actions == "library" else [])]
    env = maker(actions=actions, agents=agents, rounds=3, players=4, render_mode="ansi")
    env.reset(seed=3)
    return env


def bytes_of(seen: dict[str, Any]) -> list[bytes]:
    return [array.tobytes() for array in seen.values()]


def advanced(env: Any, steps: int, seed: int) -> str:
    """Play so many steps, or to the end; a digest of all that can be seen on the way."""
    rng, told = np.random.default_rng(seed), []
    parallel = not hasattr(env, "agent_iter")
    while env.agents and len(told) < steps:
        if parallel:
            seen = {agent: env.contest.observe(player) for player, agent in enumerate(env.agents)}
            result = env.step({agent: chosen(rng, seen[agent], TEXTS) for agent in env.agents})
            told.append(([bytes_of(one) for one in result[0].values()], result[1:]))
        else:
            seen, *rest = env.last()
            env.step(None if rest[1] else chosen(rng, seen, TEXTS))
            told.append((bytes_of(seen), rest))
    return hashlib.sha256(repr((told, env.render())).encode()).hexdigest()


MAKERS = [modal_env.make, modal_env.parallel_env]
EVERY = pytest.mark.parametrize("maker", MAKERS, ids=["aec", "parallel"])


@EVERY
@pytest.mark.parametrize("actions", MODES)
@pytest.mark.parametrize(("copier", "steps"), [(copy.copy, 1), (copy.deepcopy, 0), (pickled, 7)])
def test_a_copy_goes_on_as_its_original(maker: Callable[..., Any], actions: str, copier: Copier, steps: int) -> None:
    env = begun(maker, actions)
    advanced(env, steps, seed=1)
    other, third = copier(env), copier(env)
    assert type(other) is type(env)
    theirs = advanced(other, 200, seed=2)  # which the original does not notice
    assert advanced(env, 200, seed=2) == theirs == advanced(third, 200, seed=2)
    env.reset()  # the generators go on alike, too
    other.reset()
    assert advanced(env, 10, seed=3) == advanced(other, 10, seed=3)


@EVERY
@pytest.mark.parametrize("actions", MODES)
def test_what_is_written_into_an_observation_changes_nothing(maker: Callable[..., Any], actions: str) -> None:
    env, other = begun(maker, actions), begun(maker, actions)
    advanced(env, 9, seed=1), advanced(other, 9, seed=1)
    contest = env.unwrapped.contest
    for player in range(4):
        for array in contest.observe(player).values():
            if array.flags.writeable:
                array[...] = 1
    for player in range(4):
        assert bytes_of(contest.observe(player)) == bytes_of(other.unwrapped.contest.observe(player))
    assert advanced(env, 50, seed=2) == advanced(other, 50, seed=2)
