"""The post's game, and its equilibria, which several files ask for."""

from fractions import Fraction

import pytest

from modal_env.games.game import COSTS, ProgramGame
from modal_env.games.ranges import Ranges, ranges
from modal_env.logic.library import POST


def post(epsilon: Fraction | int | str = Fraction(1, 10)) -> ProgramGame:
    return ProgramGame(POST, epsilon)


@pytest.fixture(scope="session")
def ranges_of() -> dict[str, Ranges]:
    """At all prices, by what is priced."""
    return {cost: ranges(POST, cost) for cost in COSTS}
