"""What nobody should give: long texts, deep ones, huge numbers, things of other kinds."""

import importlib
import pkgutil
import sys
from collections.abc import Callable
from fractions import Fraction
from time import perf_counter

import numpy as np
import pytest

import modal_env
from modal_env import FairBot, PrudentBot
from modal_env.checks import brief, exact, items
from modal_env.errors import FormulaError, GameError, ProgramActionError
from modal_env.games.game import ProgramGame
from modal_env.logic.library import POST
from modal_env.logic.notation import parse
from modal_env.logic.provability import play
from modal_env.logic.syntax import MAX_NAME, MAX_NESTING, Agent
from modal_env.logic.tournaments import tournament

SOON = 20.0  # seconds; what is meant is far below one, and what was wrong took minutes or for ever


def nested(opening: str, number: int) -> str:
    return opening * number + "X(me)" + (")" * number if "(" in opening else "")


class TestTexts:
    @pytest.mark.parametrize(
        "text",
        [
            "[" + " " * 99_000,
            "<" + " " * 99_000,
            "[" + "1" * 99_000,
            "[ " * 49_000,
            "~" * 99_000,
            "(" * 99_000,
            " " * 99_000,
        ],
        ids=lambda text: text[:4],
    )
    def test_long_texts_are_refused_soon(self, text: str) -> None:
        begun = perf_counter()
        with pytest.raises(FormulaError):
            parse(text)
        assert perf_counter() - begun < SOON

    def test_many_helpers_take_time_in_proportion_to_their_number(self) -> None:
        begun = perf_counter()
        texts = {f"H{i}": f"[]X(h{i - 1})" if i else "[]X(me)" for i in range(2000)}
        assert parse("[]X(h1999)", helpers=texts).depth == 1
        assert perf_counter() - begun < SOON

    def test_a_name_to_be_called_is_not_long(self) -> None:
        assert parse("[]X(B)", helpers={"B": "true"}).depth == 1
        assert parse(f"[]X({'B' * MAX_NAME})", helpers={"B" * MAX_NAME: "true"}).depth == 1
        with pytest.raises(FormulaError, match="give a name of letters"):
            parse("true", helpers={"B" * (MAX_NAME + 1): "true"})


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


class TestNumbers:
    @pytest.mark.parametrize(
        "value",
        [
            "1e999999999",
            "1e٩٩٩٩٩٩٩٩٩",  # Python reads these digits, too
            "1/" + "9" * 100_000,
            " " * 10**6 + "1",
            10**100_000,
            Fraction(1, 10**100_000),
            "nan",
            "1e__5",
            "1/0",
            True,
            None,
            1j,
            np.zeros(3),
        ],
        ids=lambda value: f"{type(value).__name__}",
    )
    def test_no_numbers_and_numbers_that_are_too_much(self, value: object) -> None:
        game = ProgramGame(POST, "1/10")
        begun = perf_counter()
        with pytest.raises(GameError):
            exact(value, "a share")
        with pytest.raises(GameError):
            ProgramGame(POST, value)  # type: ignore[arg-type]
        with pytest.raises(GameError):
            game.mix([value, 0, 0, 0])  # type: ignore[list-item]
        with pytest.raises(GameError):
            modal_env.make(value)  # type: ignore[arg-type]
        assert perf_counter() - begun < SOON

    def test_what_is_told_of_what_cannot_be_printed(self) -> None:
        lists: list = []
        for _ in range(100_000):
            lists = [lists]
        assert brief(lists) == "of type list, too long to print"
        assert brief(10**5000) == "of type int, too long to print"
        assert items(np.array(3)) is items("text") is items(5) is None
        assert items([1, 2, 3], 2) == (1, 2)


class TestEnvironments:
    @pytest.mark.parametrize("make", [modal_env.make, modal_env.parallel_env])
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
    def test_bounds(self, make: Callable, wrong: dict) -> None:
        begun = perf_counter()
        with pytest.raises(GameError, match=next(iter(wrong))):
            make(**wrong)
        assert perf_counter() - begun < SOON

    def test_the_largest_are_made(self) -> None:
        env = modal_env.make(players=1000, rounds=100_000)
        env.reset(seed=2**128)
        assert env.observe("player_999")["observation"].shape == (1001, 3)
        assert modal_env.make(players=np.int64(2), rounds=np.int64(2)).unwrapped.setting.rounds == 2

    @pytest.mark.parametrize("make", [modal_env.make, modal_env.parallel_env])
    def test_names_of_players(self, make: Callable) -> None:
        env = make()
        env.reset(seed=0)
        for name in ("player_2", "", None, 0, [], np.zeros(2)):
            with pytest.raises(ProgramActionError, match="there are player_0, player_1"):
                env.action_space(name)
            with pytest.raises(ProgramActionError, match="there are player_0, player_1"):
                env.observation_space(name)


class TestFace:
    def test_no_name_hides_a_module(self) -> None:
        for module in pkgutil.iter_modules(modal_env.__path__):
            if module.name != "__main__":
                found = importlib.import_module(f"modal_env.{module.name}")
                assert getattr(modal_env, module.name) is found

    def test_agents_by_name_are_taken_wherever_a_game_takes_them(self) -> None:
        names = ["FB", "db", "[]X(me)"]
        assert tournament(names).agents == (*ProgramGame(names[:2], 0).agents, FairBot)
        assert play("FB", "PB").moves == play(FairBot, PrudentBot).moves
