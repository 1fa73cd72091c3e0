"""The post's game and its equilibria, and agents by their texts, which several files ask for."""

from fractions import Fraction

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


@pytest.fixture(scope="session")
def ranges_of() -> dict[str, Ranges]:
    """At all prices, by what is priced."""
    return {cost: ranges(POST, cost) for cost in COSTS}
