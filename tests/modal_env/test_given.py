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
from modal_env.logic.syntax import MAX_NESTING, Agent
from modal_env.logic.tournaments import tournament


def nested(opening: str, number: int) -> str:
    return opening * number + "X(me)" + (")" * number if "(" in opening else "")


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


@pytest.fixture(scope="module")
def deep() -> list[Agent]:
    texts = [nested("[]", MAX_NESTING), nested("~[](", MAX_NESTING // 2), nested("<>~", MAX_NESTING // 2)]
    chain = modal_env.FairBot
    for _ in range(sys.getrecursionlimit() + 100):
        chain = parse("[](X(P) | []false)", helpers={"P": chain})
    return [*map(parse, texts), chain]


class TestDepth:
    """The deepest formulas there may be, and longer chains of agents than Python's stack is deep."""

    def test_plays(self, deep: list[Agent]) -> None:
        for agent in deep:
            assert play(agent, FairBot).settles >= 0
            assert play(agent, agent).settles >= 0
        assert tournament([*deep[:3], FairBot]).worlds.max() == MAX_NESTING + 1
        assert ProgramGame([deep[3].renamed("Chain"), FairBot], "1/1000").utilities

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
