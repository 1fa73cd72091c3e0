"""The highest expected points of a power against opponents drawn once per game, or opponents that randomize orders.

A depth-first search over what the deviator knows: the position and the possible players per seat. A node has *plans*
(the deviator's joint orders), and each plan has *outcomes* (the others' orders, with probabilities). Values are
expectations, exact up to the rounding of float64 sums.

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
from evaluation.exact.planner import FAR, NO_ORDER, Expander, Expansion, Given, PointBounds, Stepper, first_of_each
from welfare_env import Board, Rules
from welfare_env.engine import DONE, UNITS, State, layout_of
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

Node = tuple[bytes, Masks]
AHEAD = 256  # plans whose successors are queried in one batch
CLOSE = 1e-9


@dataclass(slots=True)
class Choices:
    """The possible orders at a node; of plans with the same successors, one is kept.

    Attributes:
        orders: int32 [plans, slots], NO_ORDER for a slot without an order.
        chances: probability of each outcome, float64 [outcomes].
        gains: points of the phase, float64 [plans, outcomes].
        nodes: numbers of the next nodes, int64 [plans, outcomes]; -1 where the game is over.
    """

    orders: np.ndarray
    chances: np.ndarray
    gains: np.ndarray
    nodes: np.ndarray


class SequencedStepper(Stepper):
    """A stepper whose canonical form keeps what opponents read: points, and the unit order of some powers."""

    def __init__(self, board: Board, rules: Rules, reads_points: bool, sequenced: tuple[int, ...]) -> None:
        super().__init__(board, rules)
        self._reads_points, self._sequenced = reads_points, np.isin(np.arange(len(board.powers)), sequenced)

    def make_canonical(self, rows: np.ndarray) -> None:
        """As `Stepper.make_canonical`, but what opponents read stays unchanged."""
        at, points = self._layout, rows[:, self._layout.welfare : self._layout.influence].copy()
        powers, pieces = rows[:, at.power : at.piece].copy(), rows[:, at.piece : at.lost_power].copy()
        super().make_canonical(rows)
        if self._reads_points:
            rows[:, at.welfare : at.influence] = points
        if self._sequenced.any():
            places = np.arange(at.most_units)
            exists = places < rows[:, UNITS, None]
            ranks = powers << 16 | np.where(self._sequenced[powers], places, pieces)
            order = np.argsort(np.where(exists, ranks, FAR), axis=1, kind="stable")
            rows[:, at.power : at.piece] = np.where(exists, np.take_along_axis(powers, order, 1), 0)
            rows[:, at.piece : at.lost_power] = np.where(exists, np.take_along_axis(pieces, order, 1), 0)


class BeliefSearch:
    """Solves the game for one power. Without a deciding power, it only computes everybody's expected points.

    Args:
        board, rules: as for `Planner`.
        power: the deciding power; None if all seats have fixed players.
        seats: the players of all other powers.
        most: the largest number of nodes to expand.
    """

    def __init__(self, board: Board, rules: Rules, power: int | None, seats: OpponentSeats, most: int) -> None:
        self.board, self.power, self.seats, self.most = board, power, seats, most
        self.engine = make_engine("fast", board, rules)
        self._stepper = SequencedStepper(board, rules, seats.reads_points, seats.sequenced)
        self._expander = Expander(board, () if power is None else (power,), self._stepper)
        self._bounds = PointBounds(board, rules, 0 if power is None else power)
        self._numbers: dict[Node, int] = {}
        self._nodes: list[Node] = []
        self._low: list[float] = []
        self._high: list[float] = []
        self._best: dict[int, int] = {}  # node -> its best plan, once its value is known
        self._choices: dict[int, Choices] = {}

    @property
    def root(self) -> int:
        """The number of the opening's node."""
        rows = self.engine.initial().row[None].copy()
        self._stepper.make_canonical(rows)
        return int(self._numbered(rows, self.seats.start)[0])

    @property
    def expanded(self) -> int:
        """Number of expanded nodes."""
        return len(self._choices)

    def best(self, least: float) -> float:
        """The power's best expected points from the opening if they exceed `least`; else an upper bound on them.

        As in MTD(f) (Plaat et al. 1996), the threshold starts at the upper bound and falls by a point at a time. Stored
        bounds make later queries cheap, and the search expands few nodes that the proof does not need.
        """
        root, found = self.root, np.inf
        while found > least:
            above = max(self._high[root] - 1.0, least)
            found = self.value(root, above)
            if found > above or above <= least:
                break
        return found

    def value(self, node: int, above: float = -1.0) -> float:
        """The power's best expected points from a node if they exceed `above`; else an upper bound on them."""
        if self._low[node] == self._high[node] or self._high[node] <= above:
            return self._high[node]
        choices = self.choices(node)
        upper = self._upper(choices) @ choices.chances
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
        gains, nodes = choices.gains[plan], choices.nodes[plan]
        high = np.array([self._high[node] if node >= 0 else 0.0 for node in nodes.tolist()])
        worth = float((gains + high) @ choices.chances)
        for at in np.argsort(-choices.chances, kind="stable").tolist():
            if worth <= best + CLOSE:
                return worth
            if (node := int(nodes[at])) >= 0:
                chance = float(choices.chances[at])
                below = high[at] - (worth - best) / chance
                worth -= chance * (high[at] - self.value(node, below - CLOSE))
        return worth

    def _upper(self, choices: Choices) -> np.ndarray:
        """Upper bounds on each plan's outcomes: float64 [plans, outcomes]."""
        numbers, place = np.unique(choices.nodes, return_inverse=True)
        high = np.array([self._high[node] if node >= 0 else 0.0 for node in numbers.tolist()])
        return choices.gains + high[place.reshape(choices.nodes.shape)]

    def _ask_ahead(self, choices: Choices, plans: list[int]) -> None:
        """Query the opponents in one batch about the nodes that may be searched next."""
        nodes = [node for node in np.unique(choices.nodes[plans]).tolist() if node >= 0 and node not in self._choices]
        self.seats.ask(self._nodes[node] for node in nodes if self._low[node] < self._high[node])

    def policy(self) -> Iterator[tuple[np.ndarray, tuple[int, ...], float]]:
        """The best response in every position that it can reach: positions, orders, values. Call `best` first."""
        waiting, seen = [self.root], {self.root}
        while waiting:
            node = waiting.pop()
            if node not in self._best:  # no more points are possible here
                continue
            choices, plan = self._choices[node], self._best[node]
            row, orders = np.frombuffer(self._nodes[node][0], np.int32), choices.orders[plan]
            yield row, tuple(orders[orders != NO_ORDER].tolist()), self._low[node]
            following = [after for after in choices.nodes[plan].tolist() if after >= 0 and after not in seen]
            seen.update(following)
            waiting += dict.fromkeys(following)

    def choices(self, node: int) -> Choices:
        """The possible orders at a node, and their outcomes.

        Raises:
            EvaluationError: too many nodes or outcomes.
        """
        if node in self._choices:
            return self._choices[node]
        if len(self._choices) >= self.most:
            raise EvaluationError(
                f"{self.board.name}: more than {self.most:,} positions to expand ({len(self._nodes):,} found so "
                f"far): too many for an exact value. Use fewer years, or {ESTIMATE}"
            )
        outcomes, (orders, _, own, rows, points) = self._plays(node)
        paid = points[..., self.power]
        if rows[0, 0, DONE]:
            nodes = np.full(paid.shape, -1)
        else:
            nodes = np.stack([self._numbered(rows[:, at], masks) for at, (_, _, masks) in enumerate(outcomes)], axis=1)
        first = first_of_each(np.ascontiguousarray(np.concatenate([nodes, paid.astype(np.int64)], axis=1)))
        chances = np.array([chance for chance, _, _ in outcomes])
        self._choices[node] = Choices(orders[first, 0, :own], chances, paid[first].astype(np.float64), nodes[first])
        return self._choices[node]

    def _plays(self, node: int) -> tuple[list[Outcome], Expansion]:
        """The others' possible orders at a node, and the result of every plan of the power against them."""
        key, masks = self._nodes[node]
        position = Position(self.engine, State(layout_of(self.board), np.frombuffer(key, np.int32)))
        outcomes = self.seats.outcomes(key, masks)
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
        rows, new = np.ascontiguousarray(rows), []
        texts: list[bytes] = rows.view(f"V{rows.dtype.itemsize * rows.shape[1]}")[:, 0].tolist()
        for at, text in enumerate(texts):
            if (text, masks) not in self._numbers:
                self._numbers[text, masks] = len(self._nodes)
                self._nodes.append((text, masks))
                new.append(at)
        if new:
            self._high += self._bounds.upper(rows[new]).astype(float).tolist()
            self._low += [0.0] * len(new)
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
                if rows[0, 0, DONE]:
                    continue
                for at, (_, _, masks) in enumerate(outcomes):
                    number = int(self._numbered(rows[:, at], masks)[0])
                    after[number] = after.get(number, 0.0) + float(chances[at])
            if len(after) > self.most:
                raise EvaluationError(f"more than {self.most:,} positions at once: too many for an exact value")
            layer = after
        return total
