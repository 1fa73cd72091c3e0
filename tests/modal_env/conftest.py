"""The post's game and its equilibria, and agents by their texts, which several files ask for."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from modal_env.games.game import COSTS, ProgramGame
from modal_env.games.ranges import Ranges, ranges
from modal_env.logic.library import POST
from modal_env.logic.notation import Agent, parse


def post(epsilon: Fraction | int | str = Fraction(1, 10)) -> ProgramGame:
    return ProgramGame(POST, epsilon)


def parsed(texts: dict[str, str]) -> list[Agent]:
    """Our agents: each is parsed once, and calls those before it."""
    known: dict[str, Agent] = {}
    for name, text in texts.items():
        known[name] = parse(text, name=name, helpers=dict(known))
    return list(known.values())


def chain(rank: int, first: str, step: str) -> Agent:
    """An agent that calls one that calls one ... `rank` times: `step` says so of X(P)."""
    agent = parse(first, name="P")
    for _ in range(rank):
        agent = parse(step, name="P", helpers={"P": agent})
    return agent


def chosen(rng: np.random.Generator, seen: dict[str, Any], texts: Sequence[str] = ()) -> Any:
    """A random action: one that is open, or a text."""
    if "action_mask" in seen:
        return int(rng.choice(np.flatnonzero(seen["action_mask"])))
    return str(rng.choice(texts))


@pytest.fixture(scope="session")
def ranges_of() -> dict[str, Ranges]:
    """At all prices, by what is priced."""
    return {cost: ranges(POST, cost) for cost in COSTS}
