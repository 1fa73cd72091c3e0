"""The equilibria of the post's game, which three files ask for."""

import pytest

from modal_env.games.game import COSTS
from modal_env.games.ranges import Ranges, ranges
from modal_env.logic.library import POST


@pytest.fixture(scope="session")
def ranges_of() -> dict[str, Ranges]:
    """At all prices, by what is priced."""
    return {cost: ranges(POST, cost) for cost in COSTS}
