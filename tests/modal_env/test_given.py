"""What nobody should give: long texts, deep ones, huge numbers, things of other kinds."""

import sys

import numpy as np
import pytest

import modal_env
from modal_env import FairBot
from modal_env.errors import FormulaError, GameError
from modal_env.games.game import ProgramGame
from modal_env.logic.notation import parse
from modal_env.logic.provability import play


class TestTexts:
    def test_long_texts_are_refused(self) -> None:
        """Runs of one sign took minutes where they were matched with backtracking."""
        for text in (
            "[" + " " * 99_000,
            "<" + " " * 99_000,
            "[" + "1" * 99_000,
            "[ " * 49_000,
            *(c * 99_000 for c in "~( "),
        ):
            with pytest.raises(FormulaError):
                parse(text)

    def test_thousands_of_helpers_that_call_each_other(self) -> None:
        texts = {f"H{i}": f"[]X(h{i - 1})" if i else "[]X(me)" for i in range(2000)}
        assert parse("[]X(h1999)", helpers=texts).depth == 1


class TestDepth:
    """Long chains of agents; test_formula plays the deepest formulas."""

    def test_a_longer_chain_than_the_stack_is_deep_plays(self) -> None:
        chain = FairBot
        for _ in range(sys.getrecursionlimit() + 100):
            chain = parse("[](X(P) | []false)", name="Chain", helpers={"P": chain})
        assert play(chain, chain).settles >= 0
        assert ProgramGame([chain, FairBot], "1/1000").utilities

    def test_a_play_that_depends_on_too_many_others_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("modal_env.logic.provability.MAX_PLAYS", 1000)
        chain = FairBot
        for _ in range(40):
            chain = parse("[](X(P) & X(me))", helpers={"P": chain})
        with pytest.raises(GameError, match="depends on more than"):
            play(chain, chain)


class TestEnvironments:
    @pytest.mark.parametrize(
        "wrong",
        [
            {"players": 10**30},
            {"players": 1000, "actions": "tokens", "budget": 500},
            {"rounds": 100_001},
            {"rounds": 10**5000},
            {"agents": ["FB"] * 10_001},
            {"actions": np.array(["library", "x"])},
            {"cost": np.array(["depth", "x"])},
            {"render_mode": np.zeros(2)},
            {"budget": 10**5000, "actions": "tokens"},
        ],
        ids=lambda wrong: "-".join(wrong),
    )
    def test_bounds(self, wrong: dict) -> None:
        for make in (modal_env.make, modal_env.parallel_env):
            with pytest.raises(GameError, match=next(iter(wrong))):
                make(**wrong)

    def test_the_largest_are_made(self) -> None:
        env = modal_env.make(players=1000, rounds=100_000)
        env.reset(seed=2**128)
        assert env.observe("player_999")["observation"].shape == (1001, 3)
        assert modal_env.make(players=np.int64(2), rounds=np.int64(2)).unwrapped.setting.rounds == 2
