"""The highest expected points of a power or a coalition against fixed players, whose policies may be drawn once a game.

A depth-first search over what the deviators know: the position and the possible players per seat. A node has *plans*
(their joint orders), and each plan has *outcomes* (the others' orders, with probabilities). Values are expectations,
exact up to the rounding of float64 sums.

A call asks whether a node is worth more than a threshold. A plan is pruned as soon as upper bounds on its outcomes show
that it does not reach the threshold (Star1 of Ballard 1983, "The *-minimax search procedure for trees containing chance
nodes"). Each node stores its bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evaluation.checks import ESTIMATE, EvaluationError
from evaluation.exact.opponents import Masks, OpponentSeats, Orders, Outcome
from evaluation.exact.phases import NO_ORDER, Expander, Expansion, Given, PointBounds, Stepper, first_of_each
from welfare_env import Board, Rules
from welfare_env.engine import DONE, State, layout_of
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

Node = tuple[bytes, Masks]
OVER = 0  # number of the node of all games that are over
AHEAD = 256  # plans whose successors are queried in one batch
CLOSE = 1e-9


@dataclass(slots=True)
class Choices:
    """The possible orders at a node; of plans with the same successors, one is kept.

    Attributes:
        orders: int32 [plans, slots], NO_ORDER for a slot without an order.
        chances: probability of each outcome, float64 [outcomes].
        gains: points of the phase, float64 [plans, outcomes].
        nodes: numbers of the next nodes, int64 [plans, outcomes].
    """

    orders: np.ndarray
    chances: np.ndarray
    gains: np.ndarray
    nodes: np.ndarray


class Search:
    """Solves the game for the deciding powers. Without any, it only computes everybody's expected points.

    Args:
        board: without convoys. rules: welfare; without press, transfers and `retreat_welfare`.
        powers: the deciding powers; their points are added up.
        seats: the players of all other powers.
        max_positions: the largest number of nodes to expand.
    """

    def __init__(
        self, board: Board, rules: Rules, powers: tuple[int, ...], seats: OpponentSeats, max_positions: int
    ) -> None:
        self.board, self.powers, self.seats, self.max_positions = board, powers, seats, max_positions
        self.engine = make_engine("fast", board, rules)
        self._stepper = Stepper(board, rules, seats.reads_points, seats.sequenced)
        self._expander = Expander(board, powers, self._stepper)
        self._bounds = [PointBounds(board, rules, power) for power in powers]
        self._numbers: dict[Node, int] = {}
        self._nodes: list[Node] = [(b"", ())]
        self._low, self._high = np.zeros((2, 1024))  # of each node
        self._best: dict[int, int] = {}  # node -> its best plan, once its value is known
        self._choices: dict[int, Choices] = {}
        rows = self.engine.initial().row[None].copy()
        self._stepper.make_canonical(rows)
        self.root = int(self._numbered(rows, self.seats.start)[0])

    @property
    def expanded(self) -> int:
        """Number of expanded nodes."""
        return len(self._choices)

    def best(self, least: float) -> float:
        """The deciding powers' best expected points from the opening if they exceed `least`; else an upper bound.

        As in MTD(f) (Plaat et al. 1996), the threshold starts at the upper bound and falls by a point at a time. Stored
        bounds make later queries cheap, and the search expands few nodes that the proof does not need.
        """
        found = np.inf
        while found > least:
            above = max(self._high[self.root] - 1.0, least)
            found = self.value(self.root, above)
            if found > above or above <= least:
                break
        return float(found)

    def value(self, node: int, above: float = -1.0) -> float:
        """The best expected points from a node if they exceed `above`; else an upper bound on them."""
        if self._low[node] == self._high[node] or self._high[node] <= above:
            return self._high[node]
        choices = self.choices(node)
        upper = (choices.gains + self._high[choices.nodes]) @ choices.chances
        order = np.argsort(-upper, kind="stable").tolist()
        best, found, missed = above, -1, -np.inf
        for count, plan in enumerate(order):
            if upper[plan] <= best + CLOSE:
                missed = max(missed, float(upper[plan]))
                break
            if count % AHEAD == 0:
                self._ask_ahead(choices, order[count : count + AHEAD])
            worth = self._worth(choices, plan, best)
            if worth > best + CLOSE:
                best, found = worth, plan
            else:
                missed = max(missed, worth)
        if found < 0:
            self._high[node] = min(self._high[node], max(missed, 0.0))
            return self._high[node]
        self._low[node] = self._high[node] = best
        self._best[node] = found
        return best

    def _worth(self, choices: Choices, plan: int, best: float) -> float:
        """The value of a plan if it exceeds `best`; else an upper bound on it."""
        gains, nodes, chances = choices.gains[plan], choices.nodes[plan], choices.chances
        high = self._high[nodes]
        worth = float((gains + high) @ chances)
        for at in np.argsort(-chances, kind="stable").tolist():
            if worth <= best + CLOSE:
                return worth
            below = high[at] - (worth - best) / chances[at]
            worth -= chances[at] * (high[at] - self.value(int(nodes[at]), below))
        return worth

    def _ask_ahead(self, choices: Choices, plans: list[int]) -> None:
        """Query the opponents in one batch about the nodes that may be searched next."""
        nodes = [node for node in np.unique(choices.nodes[plans]).tolist() if node not in self._choices]
        self.seats.ask((self._nodes[node] for node in nodes if self._low[node] < self._high[node]), ahead=True)

    def policy(self) -> Iterator[tuple[np.ndarray, tuple[int, ...], float]]:
        """The best response in every position that it can reach: positions, orders, values. Call `best` first."""
        waiting, seen = [self.root], {OVER, self.root}
        while waiting:
            node = waiting.pop()
            if node not in self._best:  # no more points are possible here
                continue
            choices, plan = self._choices[node], self._best[node]
            row, orders = np.frombuffer(self._nodes[node][0], np.int32), choices.orders[plan]
            yield row, tuple(orders[orders != NO_ORDER].tolist()), float(self._low[node])
            following = [after for after in choices.nodes[plan].tolist() if after not in seen]
            seen.update(following)
            waiting += dict.fromkeys(following)

    def line(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The best response phase by phase, if the others draw nothing: short phase names, order numbers."""
        node = self.root
        while node != OVER:
            choices = self.choices(node)
            upper = choices.gains[:, 0] + self._high[choices.nodes[:, 0]]
            plan = self._best.get(node, int(upper.argmax()))
            orders = choices.orders[plan]
            yield self._position(node).phase, tuple(orders[orders != NO_ORDER].tolist())
            node = int(choices.nodes[plan, 0])

    def choices(self, node: int) -> Choices:
        """The possible orders at a node, and their outcomes.

        Raises:
            EvaluationError: too many nodes or outcomes.
        """
        if node in self._choices:
            return self._choices[node]
        if len(self._choices) >= self.max_positions:
            raise EvaluationError(
                f"{self.board.name}: more than {self.max_positions:,} positions to expand ({len(self._nodes):,} found "
                f"so far): too many for an exact value. Use fewer years, or {ESTIMATE}"
            )
        outcomes, (orders, _, own, rows, points) = self._plays(node)
        paid = points[..., list(self.powers)].sum(axis=2, dtype=np.int32)
        first = first_of_each(np.ascontiguousarray(np.concatenate([rows.reshape(len(rows), -1), paid], axis=1)))
        rows, paid = rows[first], paid[first]
        chances = np.array([chance for chance, _, _ in outcomes])
        nodes = [self._numbered(rows[:, at], masks) for at, (_, _, masks) in enumerate(outcomes)]
        self._choices[node] = Choices(orders[first, 0, :own], chances, paid.astype(float), np.stack(nodes, axis=1))
        return self._choices[node]

    def _position(self, node: int) -> Position:
        return Position(self.engine, State(layout_of(self.board), np.frombuffer(self._nodes[node][0], np.int32)))

    def _plays(self, node: int) -> tuple[list[Outcome], Expansion]:
        """The others' possible orders at a node, and the result of every plan against them."""
        position, outcomes = self._position(node), self.seats.outcomes(*self._nodes[node])
        return outcomes, self._expander.expand(position, [self._slotted(position, given) for _, given, _ in outcomes])

    def _slotted(self, position: Position, ordered: dict[int, Orders]) -> Given:
        """The others' orders by slot.

        Raises:
            EvaluationError: an order is illegal.
        """
        found: Given = {}
        for power, orders in ordered.items():
            for order in orders:
                slot = position.slot_of(power, order)
                if slot is None:
                    raise EvaluationError(
                        f"policy of {self.board.powers[power]}: in {position.phase} it orders "
                        f"{self.board.orders.texts[order]!r}, which is not legal there"
                    )
                found.setdefault(power, {})[slot] = order
        return found

    def _numbered(self, rows: np.ndarray, masks: Masks) -> np.ndarray:
        """Node numbers of positions int32 [n, state size], adding new nodes: int64 [n]."""
        if rows[0, DONE]:
            return np.full(len(rows), OVER)
        rows, new = np.ascontiguousarray(rows), []
        texts: list[bytes] = rows.view(f"V{rows.dtype.itemsize * rows.shape[1]}")[:, 0].tolist()
        for at, text in enumerate(texts):
            if (text, masks) not in self._numbers:
                self._numbers[text, masks] = len(self._nodes)
                self._nodes.append((text, masks))
                new.append(at)
        if new:
            while len(self._nodes) > len(self._high):
                self._low, self._high = (np.pad(each, (0, len(each))) for each in (self._low, self._high))
            added = slice(len(self._nodes) - len(new), len(self._nodes))
            self._high[added] = sum(bounds.upper(rows[new]) for bounds in self._bounds)
        return np.array([self._numbers[text, masks] for text in texts])

    def expected(self) -> np.ndarray:
        """Everybody's expected points if all seats have fixed players: float64 [powers].

        Raises:
            EvaluationError: too many nodes or outcomes.
        """
        total, layer = np.zeros(len(self.board.powers)), {self.root: 1.0}
        while layer:
            self.seats.ask(self._nodes[node] for node in layer)
            after: dict[int, float] = {}
            for node, chance in layer.items():
                outcomes, (_, _, _, rows, points) = self._plays(node)
                chances = chance * np.array([part for part, _, _ in outcomes])
                total += chances @ points[0]
                for at, (_, _, masks) in enumerate(outcomes):
                    number = int(self._numbered(rows[:, at], masks)[0])
                    after[number] = after.get(number, 0.0) + float(chances[at])
            after.pop(OVER, None)
            if len(after) > self.max_positions:
                raise EvaluationError(
                    f"more than {self.max_positions:,} positions at once: too many for an exact value"
                )
            layer = after
        return total
