"""Opponents of an exact search: the possible players per seat, and the orders each would give.

A seat is a mix of players, drawn once per game. Its past orders rule out some of these players. The deviator can learn
nothing else, so its state is the position together with the possible players per seat.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Protocol

import numpy as np

from agents import Policy
from evaluation.checks import ESTIMATE, EvaluationError
from evaluation.exact.answers import PolicyAnswers
from welfare_env import Board, Rules
from welfare_env.board.orders import WAIVE
from welfare_env.engine import DISLODGED, FALL_RETREATS, PHASE, SPRING_RETREATS, UNITS, WINTER, State, layout_of
from welfare_env.game.position import Position

Orders = tuple[int, ...]  # order numbers of one power, without WAIVE
Answer = list[tuple[float, Orders]]  # a player's possible orders in a position, with probabilities
Masks = tuple[int, ...]  # for each seat, the possible players as bits
Outcome = tuple[float, dict[int, Orders], Masks]

MAX_WAYS = 4096
"""Largest number of joint orders of one power, or of outcomes of a position."""


class Player(Protocol):
    """A player whose orders (or their distribution) depend on the position only.

    Attributes:
        is_deterministic: whether it gives the same orders in the same position.
        reads_points: whether its orders may depend on welfare points.
        reads_sequence: whether its orders may depend on the sequence of its units.
        asked_ahead: whether many positions at once take it less time.
    """

    is_deterministic: bool
    asked_ahead: bool
    reads_points: bool
    reads_sequence: bool

    def answers(self, rows: np.ndarray, powers: np.ndarray) -> list[Answer]:
        """Its possible orders as each of `powers` int [n] in positions int32 [n, state size]."""


class ScriptedPlayer:
    """A policy that answers the same position with the same orders, as `best_response` requires."""

    is_deterministic, reads_points, reads_sequence, asked_ahead = True, False, False, False

    def __init__(self, board: Board, rules: Rules, policy: Policy) -> None:
        self._layout = layout_of(board)
        self._asked = [PolicyAnswers(board, rules, {power: policy}) for power in board.powers]

    def answers(self, rows: np.ndarray, powers: np.ndarray) -> list[Answer]:
        """As `Player.answers`.

        Raises:
            EvaluationError: the policy is rejected.
        """
        return [[(1.0, self._orders(row, power))] for row, power in zip(rows, powers.tolist(), strict=True)]

    def _orders(self, row: np.ndarray, power: int) -> Orders:
        asked = self._asked[power]
        position = Position(asked.engine, State(self._layout, row))
        return tuple(asked.given(position).get(power, {}).values())


class NetworkPlayer:
    """A checkpoint's network, queried about many positions at once.

    Args:
        policy: an `agents.rl.player.LearnedPolicy`.

    Raises:
        CheckpointError: the network does not fit the board and rules.
    """

    reads_sequence = True  # it orders its units one by one
    asked_ahead = True

    def __init__(self, board: Board, rules: Rules, policy: Any) -> None:
        from agents.rl.inputs import InputEncoder

        self._network, self._reader = policy.network_for(board, rules), InputEncoder(board, rules)
        self.is_deterministic, self.reads_points = policy.greedy, self._network.reads_points

    def answers(self, rows: np.ndarray, powers: np.ndarray) -> list[Answer]:
        """As `Player.answers`.

        Raises:
            EvaluationError: a network that samples its orders has too many joint orders.
        """
        packed = self._reader.pack(rows, powers)
        inputs = self._reader.read(packed)
        if self.is_deterministic:
            drawn, _, _ = self._network.answer(inputs, np.full(inputs.num_rows, -1.0))
            given = np.split(self._reader.choices(inputs, drawn), inputs.first_rows[1:-1])
            return [[(1.0, _without_waive(orders))] for orders in given]
        lengths = np.split(np.diff(inputs.starts), inputs.first_rows[1:-1])
        return [self._joint_answers(one, counts) for one, counts in zip(packed, lengths, strict=True)]

    def _joint_answers(self, packed: np.ndarray, counts: np.ndarray) -> Answer:
        """All its possible joint orders in one position. `counts` has the number of legal orders per unit."""
        ways = prod(counts.tolist())
        if ways > MAX_WAYS:
            raise EvaluationError(
                f"a network that samples its orders has {ways:,} joint orders for {len(counts)} units, more than "
                f"{MAX_WAYS:,}: too many for exact expectations. Use its most probable orders (rl:PATH,greedy=yes), "
                f"or {ESTIMATE}"
            )
        answers = np.array(list(product(*map(range, counts))), np.int64).reshape(ways, -1)
        inputs = self._reader.read(np.repeat(packed[None], ways, axis=0))
        import torch

        with torch.no_grad():
            logp = self._network.judge(inputs, answers.ravel()).logp.double().numpy()
        chances = np.exp(logp.reshape(ways, -1).sum(axis=1)) if len(counts) else np.ones(1)
        orders = self._reader.choices(inputs, answers.ravel()).reshape(ways, -1)
        found: dict[Orders, float] = defaultdict(float)
        for given, chance in zip(orders, (chances / chances.sum()).tolist(), strict=True):
            found[_without_waive(given)] += chance
        return [(chance, given) for given, chance in found.items()]


def _without_waive(orders: np.ndarray) -> Orders:
    return tuple(orders[orders != WAIVE].tolist())


@dataclass(frozen=True)
class OpponentSeat:
    """The possible players of a power, and their probabilities."""

    players: tuple[Player, ...]
    weights: tuple[float, ...]


class OpponentSeats:
    """The others' seats, and the orders that they may give.

    Args:
        board: of the game.
        seats: power -> its possible players.

    Attributes:
        is_drawn: whether policies or orders are drawn.
        reads_points: whether a player reads points.
        sequenced: powers with a player who reads the sequence of its units.

    Raises:
        EvaluationError: a mix contains a player that samples its orders.
    """

    def __init__(self, board: Board, seats: Mapping[int, OpponentSeat]) -> None:
        for power, seat in seats.items():
            if len(seat.players) > 1 and not all(player.is_deterministic for player in seat.players):
                raise EvaluationError(
                    f"{board.powers[power]}: a mix must not contain players that sample their orders, which never "
                    "reveal for certain which player was drawn. Use their most probable orders (rl:PATH,greedy=yes)"
                )
        self.powers, self._seats = tuple(seats), tuple(seats.values())
        self._layout = layout_of(board)
        self._known: dict[tuple[Player, int, bytes], Answer] = {}  # player, power, position -> answer
        players = [player for seat in self._seats for player in seat.players]
        self.is_drawn = len(players) > len(seats) or not all(player.is_deterministic for player in players)
        self.reads_points = any(player.reads_points for player in players)
        self.sequenced = tuple(
            power for power, seat in seats.items() if any(player.reads_sequence for player in seat.players)
        )

    @property
    def start(self) -> Masks:
        """The masks with every player of each seat possible."""
        return tuple((1 << len(seat.players)) - 1 for seat in self._seats)

    def ask(self, nodes: Iterable[tuple[bytes, Masks]], ahead: bool = False) -> None:
        """Query the players about many positions at once; `outcomes` then reuses the answers.

        Args:
            ahead: query only players whom this saves time.
        """
        wanted: dict[Player, dict[tuple[int, bytes], None]] = defaultdict(dict)
        for key, masks in nodes:
            for seat, power, mask in zip(self._seats, self.powers, masks, strict=True):
                for number in _players_in(mask):
                    player = seat.players[number]
                    if (player, power, key) not in self._known and (player.asked_ahead or not ahead):
                        wanted[player][power, key] = None
        for player, asked in wanted.items():
            rows = np.array([np.frombuffer(key, np.int32) for _, key in asked])
            powers = np.array([power for power, _ in asked])
            has_orders = self._has_orders(rows, powers)
            found = iter(player.answers(rows[has_orders], powers[has_orders]) if has_orders.any() else ())
            for (power, key), has in zip(asked, has_orders.tolist(), strict=True):
                self._known[player, power, key] = next(found) if has else [(1.0, ())]

    def _has_orders(self, rows: np.ndarray, powers: np.ndarray) -> np.ndarray:
        """Whether powers [n] may have orders to give: bool [n]. False only if a power certainly has none."""
        at, places, own = self._layout, np.arange(self._layout.most_units), powers[:, None]
        units = ((rows[:, at.power : at.piece] == own) & (places < rows[:, UNITS, None])).any(axis=1)
        waiting = np.arange(at.most_dislodged) < rows[:, DISLODGED, None]
        lost = ((rows[:, at.lost_power : at.lost_piece] == own) & waiting).any(axis=1)
        owns = (rows[:, at.owner : at.welfare] == own).any(axis=1)
        is_winter = rows[:, PHASE] == WINTER
        is_retreat = np.isin(rows[:, PHASE], (SPRING_RETREATS, FALL_RETREATS))
        return np.where(is_retreat, lost, units | (is_winter & owns))

    def outcomes(self, key: bytes, masks: Masks) -> list[Outcome]:
        """The others' possible joint orders in a position: probability, orders by power, and updated masks.

        Raises:
            EvaluationError: more than `MAX_WAYS` outcomes, or a rejected policy.
        """
        self.ask([(key, masks)])
        parts = [self._seat_answers(at, key, mask) for at, mask in enumerate(masks)]
        if (count := prod(map(len, parts))) > MAX_WAYS:
            raise EvaluationError(
                f"{count:,} joint orders of the others in a position, more than {MAX_WAYS:,}: too many for exact "
                "expectations. Use networks' most probable orders (rl:PATH,greedy=yes), or " + ESTIMATE
            )
        return [
            (
                prod(chance for chance, _, _ in each),
                dict(zip(self.powers, (orders for _, orders, _ in each), strict=True)),
                tuple(mask for _, _, mask in each),
            )
            for each in product(*parts)
        ]

    def _seat_answers(self, at: int, key: bytes, mask: int) -> list[tuple[float, Orders, int]]:
        """A seat's possible orders: probability, orders, and the updated mask."""
        weights, players, power = self._seats[at].weights, self._seats[at].players, self.powers[at]
        total = sum(weights[number] for number in _players_in(mask))
        chances: dict[Orders, float] = defaultdict(float)
        members: dict[Orders, int] = defaultdict(int)
        for number in _players_in(mask):
            for chance, orders in self._known[players[number], power, key]:
                chances[orders] += chance * weights[number] / total
                members[orders] |= 1 << number
        return [(chance, orders, members[orders]) for orders, chance in chances.items() if chance > 0]


def _players_in(mask: int) -> Sequence[int]:
    return [number for number in range(mask.bit_length()) if mask >> number & 1]
