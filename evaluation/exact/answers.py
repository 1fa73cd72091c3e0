"""The orders of fixed policies as a function of the position, and checks that they are."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

import welfare_env
from agents import Policy
from evaluation.checks import ESTIMATE, EvaluationError
from welfare_env import Board, Game, Rules, View
from welfare_env.board.orders import WAIVE
from welfare_env.engine import ADJUSTMENTS, State
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

SEEDS = (0, 1)


class _PositionView(View):
    """A view of the position alone; reading points or history raises EvaluationError."""

    def __init__(self, position: Position, power: str, opening: Position) -> None:
        super().__init__(position, power)
        self._opening = opening

    @property
    def beginning(self) -> Position:
        return self._opening

    @property
    def welfare(self) -> NoReturn:
        refuse(self.power, "it reads view.welfare")

    @property
    def scores(self) -> NoReturn:
        refuse(self.power, "it reads view.scores")

    @property
    def history(self) -> NoReturn:
        refuse(self.power, "it reads view.history")


@dataclass(frozen=True)
class _NoObservation:
    """Replaces the observation arrays; reading them raises EvaluationError."""

    power: str

    def __getitem__(self, name: object) -> NoReturn:
        refuse(self.power, f"it reads observation[{name!r:.40}]")


def refuse(power: str, why: str) -> NoReturn:
    """Raise EvaluationError for a policy whose orders do not follow from the position."""
    raise EvaluationError(
        f"policy of {power}: {why}. An exact best response needs opponents whose orders follow from the present "
        "position alone, without points, memory and chance, such as prosocial and hold; or mixes of these drawn once a "
        f"game, or networks. The gain against any other policy has no exact value: {ESTIMATE}"
    )


class PolicyAnswers:
    """The orders of some powers' policies as a function of the position."""

    def __init__(self, board: Board, rules: Rules, policies: Mapping[str, Policy]) -> None:
        self.board, self.rules, self.policies = board, rules, policies
        self.engine = make_engine("fast", board, rules)
        self._opening = Position(self.engine, self.engine.initial())

    def orders(self, power: int, position: Position) -> list[int]:
        """A power's orders, without WAIVE.

        Raises:
            EvaluationError: the policy is rejected.
        """
        if not position.slots(power):
            return []
        who, turned = self.board.powers[power], Position(self.engine, units_reversed(position.state))
        orders = self._answer(who, position, SEEDS[0])
        self._check_same(who, orders, self._answer(who, turned, SEEDS[1]), f"asked twice in {position.phase}")
        self._check_legal(who, position, orders)
        return orders

    def play(self, others: Mapping[str, Policy], seed: int) -> Game:
        """Play a whole game, with `others` in the other seats.

        Raises:
            EvaluationError: a policy's orders in the game differ from its answer to the position alone.
        """
        env = welfare_env.parallel_env(self.board.name, self.rules)
        observations, infos = env.reset(seed=seed)
        players = {who: copy.deepcopy(policy) for who, policy in self.policies.items()} | dict(others)
        for who, policy in players.items():
            policy.reset(who, seed)
        while env.agents:
            actions = {who: players[who].act(observations[who], infos[who]) for who in env.agents}
            self._check_game(env.game.position, actions)
            observations, _, _, _, infos = env.step(actions)
        return env.game

    def _check_game(self, position: Position, actions: Mapping[str, Any]) -> None:
        for power in self.policies:
            alone = self.orders(self.board.power_index[power], position)
            ordered = self._numbers(power, position.phase, actions[power])
            self._check_same(
                power, ordered, alone, f"in {position.phase} of a game, and asked about the position alone"
            )

    def _check_same(self, power: str, first: list[int], second: list[int], where: str) -> None:
        """Check that two answers have the same orders, in any sequence."""
        if sorted(first) != sorted(second):
            texts = self.board.orders.texts
            one, other = (repr([texts[order] for order in orders])[:200] for orders in (first, second))
            refuse(power, f"{where}, it orders {one} and {other}")

    def _answer(self, power: str, position: Position, seed: int) -> list[int]:
        """The policy's answer to a position, after a reset."""
        policy = self.policies[power]
        policy.reset(power, seed)
        view = _PositionView(position, power, self._opening)
        return self._numbers(power, position.phase, policy.act(_NoObservation(power), {"view": view}))

    def _numbers(self, power: str, phase: str, answer: Any) -> list[int]:
        """The order numbers of a list of order strings, without WAIVE."""
        if not isinstance(answer, list) or not all(isinstance(text, str) for text in answer):
            refuse(power, f"in {phase} it answers {answer!r:.80}, no list of orders as strings")
        unknown = [text for text in answer if text not in self.board.orders.index]
        if unknown:
            refuse(power, f"in {phase} it orders {unknown[0]!r:.80}, which is no order of this board")
        return [number for text in answer if (number := self.board.orders.index[text]) != WAIVE]

    def _check_legal(self, power: str, position: Position, orders: list[int]) -> None:
        """Check that the orders are legal together."""
        slots = [
            self._slot(position, self.board.power_index[power], order, orders[:at]) for at, order in enumerate(orders)
        ]
        for at, slot in enumerate(slots):
            if slot is None or slot in slots[:at]:
                text = repr(self.board.orders.texts[orders[at]])
                refuse(power, f"in {position.phase} it orders {text}, which is not legal there, or not with the rest")

    def _slot(self, position: Position, power: int, order: int, before: list[int]) -> int | None:
        """The slot in which this order is legal for the power, given the orders before it."""
        if position.state.phase_type == ADJUSTMENTS and order not in position.winter_orders(power, before):
            return None
        return position.slot_of(power, order)


def units_reversed(state: State) -> State:
    """The same position, with each power's units in reverse order."""
    units = state.units[::-1]
    return state.replaced(units=units[np.argsort(units[:, 0], kind="stable")])
