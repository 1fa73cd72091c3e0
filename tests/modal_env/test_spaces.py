"""An action space contains what `step` takes, and samples are in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import modal_env
from modal_env import FormulaError, ProgramActionError

BUDGET = 20
ODD = [None, b"a", True, np.bool_(True), 1.0, np.timedelta64(1, "s"), np.array([1]), np.array(True), 10**30, -1, ()]
ACTIONS = st.one_of(
    st.sampled_from(ODD),
    st.integers(-2, 20),
    st.builds(np.uint64, st.integers(0, 20)),
    st.builds(np.array, st.integers(0, 20)),
    st.text(st.characters(), max_size=4),  # surrogates and control characters, too
    st.sampled_from(["", "[]X(me)", "[]\t X(Ängstlich)", "é" * BUDGET, "é" * (BUDGET + 1)]),
)


EVERY_MAKER = pytest.mark.parametrize("maker", [modal_env.make, modal_env.parallel_env])
EVERY_MODE = pytest.mark.parametrize("actions", ["library", "formula", "tokens"])


@EVERY_MAKER
@EVERY_MODE
@settings(max_examples=30)
@given(action=ACTIONS)
def test_what_is_contained_is_taken(maker: Any, actions: str, action: Any) -> None:
    helper = modal_env.parse("[]X(me)", name="Ängstlich")
    budget = None if actions == "library" else BUDGET
    env = maker(actions=actions, agents=[*modal_env.POST, helper], budget=budget, strict=True)
    env.reset(seed=0)
    first, second = env.agents
    space = env.action_space(first)
    contained, fair = action in space, space.sample()
    assert fair in space
    try:
        env.step(action if maker is modal_env.make else {first: action, second: fair})
    except ProgramActionError:
        assert not contained
    except FormulaError:  # a text or a token that makes no program; or the other player's
        pass
    else:
        assert contained
    if actions == "formula":
        assert contained == (isinstance(action, str) and 1 <= len(action) <= BUDGET)
