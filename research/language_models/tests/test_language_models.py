"""Random models under a schema, and two kinds of memory in the same game."""

import pytest

from agents.lm.reading.schemas import order_schema
from research.language_models.constraint_bias import WINTERS, constrained, replies, shares, unconstrained
from research.language_models.memory_cost import played


def test_an_unconstrained_model_waives_and_a_constrained_one_does_not() -> None:
    winter = WINTERS["two to disband"]
    assert len(replies(order_schema(winter))) > 1
    assert min(shares(winter, 50, False, constrained)[0]) > 0.2
    assert max(shares(winter, 50, False, unconstrained)[0]) < 0.1


@pytest.mark.slow
def test_both_memories_play_the_same_game() -> None:
    (phases, game), (rolling, same) = (played(kind, 3, 1) for kind in ("phases", "rolling"))
    assert game == same
    assert rolling.longest < phases.longest
