"""Exact best responses to the players of a point of the frontier, who randomize jointly after a deviation.

Each phase is drawn independently, so of the history only one bit matters: whether the deviator has left the path.
Backward induction over (position, this bit) solves the deviator's problem. Unlike the certificates, it uses the
players' actual orders, including those in unlisted positions. It shares its adjudication and plans with
`evaluation.exact.planner`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from agents.toy_boards.drawn_orders import DrawnOrders
from evaluation.exact.drawn.proofs import given_orders
from evaluation.exact.planner import NO_ORDER, Expander, PointBounds, Stepper, first_of_each
from welfare_env import Rules
from welfare_env.engine import DONE, State, layout_of
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

CLOSE = 1e-9  # points; tolerance for rounding errors of probability sums
Node = tuple[bytes, bool]  # position in canonical form; whether nobody has left the path so far


class DrawnResponse:
    """A power's best response to the players of a point of the frontier.

    Args:
        orders: the players' orders. power: the deviator.

    Attributes:
        value: expected points of the whole game.
    """

    def __init__(self, orders: DrawnOrders, power: str) -> None:
        board, rules = orders.board, Rules(press=None, years=orders.years)
        self._orders, self._power, self._who = orders, power, board.power_index[power]
        self._layout, self._engine = layout_of(board), make_engine("fast", board, rules)
        stepper = Stepper(board, rules)
        self._expander = Expander(board, (self._who,), stepper)
        self._bounds = PointBounds(board, rules, self._who)
        self._values: dict[Node, float] = {}
        self._plans: dict[Node, tuple[tuple[int, ...], list[Node]]] = {}  # best orders, and possible next nodes
        start = self._engine.initial().row[None].copy()
        stepper.make_canonical(start)
        self._root = (start.tobytes(), True)
        self.value = self._value(self._root)

    @property
    def positions(self) -> int:
        """Number of solved positions; a position counts twice if it occurs on and off the path."""
        return len(self._values)

    def plan(self) -> Iterator[tuple[np.ndarray, tuple[int, ...], float]]:
        """The best response at every node that it can reach: position, own order numbers, expected points to come."""
        waiting, seen = [self._root], {self._root}
        while waiting:
            node = waiting.pop()
            orders, following = self._plans[node]
            yield np.frombuffer(node[0], np.int32), orders, self._values[node]
            new = [after for after in dict.fromkeys(following) if after not in seen]
            seen.update(new)
            waiting += new

    def _value(self, node: Node) -> float:
        """Expected points still to come."""
        if node not in self._values:
            own, rows, gains, chances = self._plan_outcomes(node)
            if rows[0, 0, DONE]:
                worth = gains @ chances
                number, best, following = int(worth.argmax()), float(worth.max()), list[Node]()
            else:
                number, best, following = self._best(node, rows, gains, chances)
            self._values[node] = best
            self._plans[node] = tuple(order for order in own[number].tolist() if order != NO_ORDER), following
        return self._values[node]

    def _plan_outcomes(self, node: Node) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All plans against all draws of the others.

        Returns:
            own orders int32 [plans, own], next positions int32 [plans, draws, state size], own points [plans, draws],
            and probabilities [draws].
        """
        position = self._position(node[0])
        if node[1]:
            mix = [(1, self._orders.path_orders(position.phase))]
        else:
            mix = self._orders.mix(position.state, self._power)
        given = [
            given_orders(position, tuple(text for who, texts in each.items() if who != self._power for text in texts))
            for _, each in mix
        ]
        weights = np.array([weight for weight, _ in mix], float)
        found = self._expander.expand(position, given)
        own, gains = found.orders[:, 0, : found.own], found.points[:, :, self._who].astype(float)
        return own, found.rows, gains, weights / weights.sum()

    def _best(
        self, node: Node, rows: np.ndarray, gains: np.ndarray, chances: np.ndarray
    ) -> tuple[int, float, list[Node]]:
        """The best plan, its value and its next nodes. Plans with bounds not above the best value are skipped."""
        plans, draws, size = rows.shape
        first = first_of_each(np.ascontiguousarray(rows.reshape(plans, draws * size)))
        rows, gains = rows[first], gains[first]
        tops = gains + self._bounds.upper(np.ascontiguousarray(rows.reshape(-1, size))).reshape(gains.shape)
        bounds, choice, best, following = tops @ chances, 0, -1.0, list[Node]()
        for number in np.argsort(-bounds, kind="stable").tolist():
            if bounds[number] <= best + CLOSE:
                break
            to = [(row.tobytes(), node[1] and self._stays(row)) for row in rows[number]]
            worth = float((gains[number] + [self._value(after) for after in to]) @ chances)
            if worth > best:
                choice, best, following = int(first[number]), worth, to
        return choice, best, following

    def _stays(self, row: np.ndarray) -> bool:
        return self._orders.has(self._position(row.tobytes()))

    def _position(self, key: bytes) -> Position:
        return Position(self._engine, State(self._layout, np.frombuffer(key, np.int32)))
