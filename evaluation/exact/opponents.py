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
from welfare_env.engine import State, layout_of
from welfare_env.game.position import Position

Orders = tuple[int, ...]  # order numbers of one power, without WAIVE
Masks = tuple[int, ...]  # for each seat, the possible players as bits
Outcome = tuple[float, dict[int, Orders], Masks]

MAX_WAYS = 4096
"""Largest number of outcomes of a position."""


class Player(Protocol):
    """A player whose orders depend on the position only.

    Attributes:
        reads_points: whether its orders may depend on welfare points.
        reads_sequence: whether its orders may depend on the sequence of its units.
        asked_ahead: whether many positions at once take it less time.
    """

    asked_ahead: bool
    reads_points: bool
    reads_sequence: bool

    def answers(self, rows: np.ndarray, powers: np.ndarray) -> list[Orders]:
        """Its orders as each of `powers` int [n] in positions int32 [n, state size]."""


class ScriptedPlayer:
    """A policy that answers the same position with the same orders, as `best_response` requires."""

    reads_points, reads_sequence, asked_ahead = False, False, False

    def __init__(self, board: Board, rules: Rules, policy: Policy) -> None:
        self._layout, self._asked = layout_of(board), PolicyAnswers(board, rules, dict.fromkeys(board.powers, policy))

    def answers(self, rows: np.ndarray, powers: np.ndarray) -> list[Orders]:
        """As `Player.answers`.

        Raises:
            EvaluationError: the policy is rejected.
        """
        positions = (Position(self._asked.engine, State(self._layout, row)) for row in rows)
        return [tuple(self._asked.orders(*each)) for each in zip(powers.tolist(), positions, strict=True)]


class NetworkPlayer:
    """A checkpoint's network, queried about many positions at once.

    Args:
        policy: an `agents.rl.player.LearnedPolicy`.

    Raises:
        CheckpointError: the network does not fit the board and rules.
        EvaluationError: it samples its orders.
    """

    reads_sequence = True  # it orders its units one by one
    asked_ahead = True

    def __init__(self, board: Board, rules: Rules, policy: Any) -> None:
        from agents.rl.inputs import InputEncoder

        if not policy.greedy:
            raise EvaluationError(
                "a network that samples its orders has no exact value. Use its most probable orders "
                f"(rl:PATH,greedy=yes), or {ESTIMATE}"
            )
        self._network, self._reader = policy.network_for(board, rules), InputEncoder(board, rules)
        self.reads_points = self._network.reads_points

    def answers(self, rows: np.ndarray, powers: np.ndarray) -> list[Orders]:
        """As `Player.answers`."""
        inputs = self._reader.read(self._reader.pack(rows, powers))
        if not inputs.num_rows:
            return [()] * len(rows)
        drawn, _, _ = self._network.answer(inputs, np.full(inputs.num_rows, -1.0))
        given = np.split(self._reader.choices(inputs, drawn), inputs.first_rows[1:-1])
        return [tuple(orders[orders != WAIVE].tolist()) for orders in given]


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
        is_drawn: whether policies are drawn.
        reads_points: whether a player reads points.
        sequenced: powers with a player who reads the sequence of its units.
    """

    def __init__(self, board: Board, seats: Mapping[int, OpponentSeat]) -> None:
        self.powers, self._seats = tuple(seats), tuple(seats.values())
        self._known: dict[tuple[Player, int, bytes], Orders] = {}  # player, power, position -> its orders
        players = [player for seat in self._seats for player in seat.players]
        self.is_drawn = len(players) > len(seats)
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
            self._known |= {
                (player, *each): orders for each, orders in zip(asked, player.answers(rows, powers), strict=True)
            }

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
                f"expectations. Mix fewer policies, or {ESTIMATE}"
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
            orders = self._known[players[number], power, key]
            chances[orders] += weights[number] / total
            members[orders] |= 1 << number
        return [(chance, orders, members[orders]) for orders, chance in chances.items() if chance > 0]


def _players_in(mask: int) -> Sequence[int]:
    return [number for number in range(mask.bit_length()) if mask >> number & 1]
