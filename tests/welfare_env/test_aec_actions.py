"""What the AEC environment does with actions that are none, or not legal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import welfare_env
from welfare_env import ActionError, Game, IllegalOrderError, OrderError, PressError

Snapshot = Callable[[Any], Any]


def made(**options: Any) -> Any:
    env = welfare_env.make(years=2, **options)
    env.reset(seed=0)
    return env


GARBAGE: list[Any] = [
    *(-1, 10**9, 2**70, 1.0, float("nan"), True, None, "A PAR H", b"x", object, print, [1], [None], ["A PAR H", 5]),
    *((1, 2), {"A PAR H"}, {"orders": 1.5}, {}, np.array([1, 2]), np.array(1.5), np.array(True), np.float64(1)),
]
PRESS_GARBAGE: list[Any] = [
    *({"orders": orders} for orders in GARBAGE),
    *({"orders": 0, "messages": 5}, {"orders": 0, "messages": [("GLOBAL", "x")]}, {"messages": {}}),
    *(0, [1], ["A PAR H", 5], {"orders": 0, "other": 1}, {"orders": 0, "messages": None}),
]
BAD_MESSAGES: list[Any] = [
    *({"NOBODY": "x"}, {"GLOBAL": 5}, {"GLOBAL": None}, {5: "x"}, {None: "x"}, {("a", "b"): "x"}, {"GLOBAL": "\ud800"}),
    *({"GLOBAL": "x" * 5000}, {"GLOBAL": " "}, {"GLOBAL": ["x"]}, {"GLOBAL": np.array(["x", "y"])}),
]


class TestWrongActions:
    @pytest.mark.parametrize("strict", [False, True])
    def test_what_is_no_action_raises_and_changes_nothing(
        self, strict: bool, snapshot: Snapshot, subtests: pytest.Subtests
    ) -> None:
        env = made(press=None, strict=strict)
        env.step(int(env.observe("AUSTRIA")["action_mask"].argmax()))
        self.check_refused(env, GARBAGE, snapshot, subtests)

    @pytest.mark.parametrize("asked", ["messages", "orders"])
    def test_with_press_too(self, asked: str, snapshot: Snapshot, subtests: pytest.Subtests) -> None:
        env = made(message_rounds=1)
        while env.infos[env.agent_selection]["view"].asked != asked:
            env.step({"orders": 0, "messages": {}})
        self.check_refused(env, PRESS_GARBAGE, snapshot, subtests)

    def check_refused(self, env: Any, actions: list[Any], snapshot: Snapshot, subtests: pytest.Subtests) -> None:
        before = snapshot(env)
        for action in actions:
            with subtests.test(ascii(action)[:40]):
                with pytest.raises(ActionError, match=env.agent_selection):
                    env.step(action)
                assert snapshot(env) == before

    @pytest.mark.parametrize("messages", BAD_MESSAGES, ids=lambda messages: repr(messages)[:30])
    def test_messages_that_cannot_be_sent(self, messages: Any, snapshot: Snapshot) -> None:
        env, strict = made(), made(strict=True)
        before, agent = snapshot(strict), env.agent_selection
        with pytest.raises(PressError):
            strict.step({"orders": 0, "messages": {"GLOBAL": "hello"} | messages})
        assert snapshot(strict) == before
        env.step({"orders": 0, "messages": messages})
        assert env.unwrapped.game.messages == ()
        assert len(env.unwrapped._info(agent)["refused"]) == 1

    def test_messages_in_an_order_turn(self, snapshot: Snapshot) -> None:
        for strict in (False, True):
            env = made(message_rounds=1, strict=strict)
            while env.infos[env.agent_selection]["view"].asked == "messages":
                env.step({"orders": 0, "messages": {}})
            agent, before = env.agent_selection, snapshot(env)
            action = {"orders": ["A BUD H"], "messages": {"GLOBAL": "too late"}}
            if strict:
                with pytest.raises(PressError, match="not a message round"):
                    env.step(action)
                assert snapshot(env) == before
                continue
            env.step(action)
            assert env.unwrapped.game.messages == ()
            assert "not a message round" in env.unwrapped._info(agent)["refused"][0]
            assert env.unwrapped.game.orders(agent) == ("A BUD H",)

    def test_a_number_in_a_message_round(self, snapshot: Snapshot) -> None:
        for strict in (False, True):
            env = made(strict=strict)
            agent, before = env.agent_selection, snapshot(env)
            action = {"orders": 5, "messages": {"GLOBAL": "hello"}}
            if strict:
                with pytest.raises(IllegalOrderError, match="message round"):
                    env.step(action)
                assert snapshot(env) == before
                continue
            env.step(action)
            assert "message round" in env.unwrapped._info(agent)["refused"][0]
            assert [message.text for message in env.unwrapped.game.messages] == ["hello"]
            assert env.unwrapped.game.orders(agent) == ()

    def test_illegal_orders_in_a_message_round(self, snapshot: Snapshot) -> None:
        for strict in (False, True):
            env = made(strict=strict)
            agent, before = env.agent_selection, snapshot(env)
            action = {"orders": ["no order"], "messages": {"GLOBAL": "hello"}}
            if strict:
                with pytest.raises(OrderError, match="no order"):
                    env.step(action)
                assert snapshot(env) == before
                continue
            env.step(action)
            assert "no order" in env.unwrapped._info(agent)["refused"][0]
            assert [void.order for void in env.unwrapped.game.pending_void[agent]] == ["no order"]

    @pytest.mark.parametrize(
        "order", ["WAIVE", "A VIE - GAL", "A PAR - BUR", "A GRE - VEN VIA", "A BUD D", "A BUD R SER", "GIVE ITALY"]
    )
    def test_a_masked_number(self, order: str, snapshot: Snapshot) -> None:
        env, strict = made(press=None), made(press=None, strict=True)
        number = env.unwrapped.board.orders.index[order]
        before = snapshot(strict)
        with pytest.raises(IllegalOrderError, match="not allowed for AUSTRIA"):
            strict.step(number)
        assert snapshot(strict) == before
        env.step(number)
        assert env.agent_selection == "AUSTRIA"  # asked for its next unit
        for text in ("A VIE - GAL", "F TRI - ALB"):
            env.step(env.unwrapped.board.orders.index[text])
        assert env.unwrapped.game.orders("AUSTRIA") == ("A VIE - GAL", "F TRI - ALB")
        assert len(env.unwrapped.game.pending_void["AUSTRIA"]) == 1
        while not env.unwrapped.game.history:
            env.step([])
        record = env.unwrapped.game.history[0]
        assert record.orders["AUSTRIA"] == ("A VIE - GAL", "F TRI - ALB")
        assert "A BUD" in env.unwrapped.game.units["AUSTRIA"]
        assert len(record.void["AUSTRIA"]) == 1

    def test_a_masked_number_in_winter_leaves_the_rest(self) -> None:
        env = made(press=None)
        index = env.unwrapped.board.orders.index
        units = {"FRANCE": ["A PAR", "A SPA"], "ITALY": ["A ROM"]}
        centers = {"FRANCE": ["PAR", "MAR", "BRE"], "ITALY": ["ROM"]}
        bare = env.unwrapped
        bare.game = Game.from_position("W1901A", units, centers, rules=bare.rules)
        bare._turns.clear()
        bare._plan_phase()
        bare._move_on()
        env.step(index["A SPA D"])
        env.step(index["A MAR B"])
        assert env.unwrapped.game.orders("FRANCE") == ("A SPA D",)
        assert [void.order for void in env.unwrapped.game.pending_void["FRANCE"]] == ["A MAR B"]

    @pytest.mark.parametrize("orders", [["A PAR H"], ["no order"], ["A BUD - SER", "A BUD H"], [""]], ids=repr)
    def test_words_that_are_not_legal(self, orders: list[str], snapshot: Snapshot) -> None:
        env, strict = made(press=None), made(press=None, strict=True)
        before = snapshot(strict)
        with pytest.raises(OrderError):
            strict.step(orders)
        assert snapshot(strict) == before
        env.step(orders)
        assert len(env.unwrapped._info("AUSTRIA")["refused"]) == 1
        assert env.agent_selection == "ENGLAND"

    def test_it_is_told_in_the_info_when_the_agent_has_its_turn_again(self) -> None:
        env = made(press=None)
        env.step(0)
        _, _, _, _, info = env.last()
        assert "not allowed for AUSTRIA" in info["refused"][0]

    def test_a_game_with_refused_orders_can_be_saved(self, tmp_path: Path) -> None:
        env, rng = made(map_name="pure", press=None), np.random.default_rng(13)
        while env.agents:
            env.step(
                None if env.terminations[env.agent_selection] else int(rng.integers(len(env.unwrapped.board.orders)))
            )
        env.unwrapped.game.save(tmp_path / "game.json")
        assert Game.load(tmp_path / "game.json").record() == env.unwrapped.game.record()
