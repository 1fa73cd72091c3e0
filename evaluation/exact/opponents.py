"""Opponents of an exact search: the possible players per seat, and the orders each would give.

A seat is a mix of players, drawn once per game. Its past orders rule out some of these players. The deviator can learn
nothing else, so its state is the position together with the possible players per seat. A scripted policy is asked about
positions alone, and refused if its orders do not follow from them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, NoReturn, Protocol

import numpy as np

from agents import Policy
from evaluation.checks import ESTIMATE, EvaluationError
from welfare_env import Board, Rules, View
from welfare_env.board.orders import WAIVE
from welfare_env.engine import ADJUSTMENTS, State, layout_of
from welfare_env.engine.engines import make_engine
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
        self._board, self._policy = board, policy
        self._engine = make_engine("fast", board, rules)
        self._opening = Position(self._engine, self._engine.initial())

    def answers(self, rows: np.ndarray, powers: np.ndarray) -> list[Orders]:
        """As `Player.answers`.

        Raises:
            EvaluationError: the policy is rejected.
        """
        positions = (Position(self._engine, State(layout_of(self._board), row)) for row in rows)
        return [self.orders(*each) for each in zip(powers.tolist(), positions, strict=True)]

    def orders(self, power: int, position: Position) -> Orders:
        """Its orders in a position, asked twice, the second time with another seed and each power's units reversed.

        Raises:
            EvaluationError: as `answers`.
        """
        if not position.slots(power):
            return ()
        units = position.state.units[::-1]
        turned = position.state.replaced(units=units[np.argsort(units[:, 0], kind="stable")])
        who = self._board.powers[power]
        orders, again = self._asked(who, position, 0), self._asked(who, Position(self._engine, turned), 1)
        self._check_same(who, orders, again, f"asked twice in {position.phase}")
        slots: list[int | None] = []
        for at, order in enumerate(orders):
            is_open = position.state.phase_type != ADJUSTMENTS or order in position.winter_orders(power, orders[:at])
            slots.append(position.slot_of(power, order) if is_open else None)
            if slots[-1] is None or slots[-1] in slots[:-1]:
                text = repr(self._board.orders.texts[order])
                refuse(who, f"in {position.phase} it orders {text}, which is not legal there, or not with the rest")
        return orders

    def check_played(self, who: str, position: Position, answer: Any) -> None:
        """Check that its answer in a game is the one to the position alone."""
        orders, alone = self._numbers(who, position.phase, answer), self.orders(self._board.power_index[who], position)
        self._check_same(who, orders, alone, f"in {position.phase} of a game, and asked about the position alone")

    def _check_same(self, who: str, first: Orders, second: Orders, where: str) -> None:
        """Check that two answers have the same orders, in any sequence."""
        if sorted(first) != sorted(second):
            texts = self._board.orders.texts
            one, other = (repr([texts[order] for order in orders])[:200] for orders in (first, second))
            refuse(who, f"{where}, it orders {one} and {other}")

    def _asked(self, who: str, position: Position, seed: int) -> Orders:
        """Its answer to a position, after a reset."""
        self._policy.reset(who, seed)
        view = _PositionView(position, who, self._opening)
        return self._numbers(who, position.phase, self._policy.act(_NoObservation(who), {"view": view}))

    def _numbers(self, who: str, phase: str, answer: Any) -> Orders:
        """The order numbers of a list of order strings, without WAIVE."""
        if not isinstance(answer, list) or not all(isinstance(text, str) for text in answer):
            refuse(who, f"in {phase} it answers {answer!r:.80}, no list of orders as strings")
        index = self._board.orders.index
        if unknown := [text for text in answer if text not in index]:
            refuse(who, f"in {phase} it orders {unknown[0]!r:.80}, which is no order of this board")
        return tuple(number for text in answer if (number := index[text]) != WAIVE)


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
    """The others' seats (power -> its possible players), and the orders that they may give.

    Attributes:
        is_drawn: whether policies are drawn.
        reads_points: whether a player reads points.
        sequenced: powers with a player who reads the sequence of its units.
        start: the masks with every player of each seat possible.
    """

    def __init__(self, seats: Mapping[int, OpponentSeat]) -> None:
        self.powers, self._seats = tuple(seats), tuple(seats.values())
        self._known: dict[tuple[Player, int, bytes], Orders] = {}  # player, power, position -> its orders
        self.is_drawn = any(len(seat.players) > 1 for seat in self._seats)
        self.reads_points = any(player.reads_points for seat in self._seats for player in seat.players)
        self.sequenced = tuple(who for who, seat in seats.items() if any(each.reads_sequence for each in seat.players))
        self.start: Masks = tuple((1 << len(seat.players)) - 1 for seat in self._seats)

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
            answers = player.answers(rows, np.array([power for power, _ in asked]))
            self._known |= {(player, *each): orders for each, orders in zip(asked, answers, strict=True)}

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
        outcomes = []
        for each in product(*parts):
            chances, orders, left = zip(*each, strict=True) if each else ((), (), ())
            outcomes.append((prod(chances), dict(zip(self.powers, orders, strict=True)), tuple(left)))
        return outcomes

    def _seat_answers(self, at: int, key: bytes, mask: int) -> list[tuple[float, Orders, int]]:
        """A seat's possible orders: probability, orders, and the updated mask."""
        seat, power = self._seats[at], self.powers[at]
        total = sum(seat.weights[number] for number in _players_in(mask))
        chances: dict[Orders, float] = defaultdict(float)
        members: dict[Orders, int] = defaultdict(int)
        for number in _players_in(mask):
            orders = self._known[seat.players[number], power, key]
            chances[orders] += seat.weights[number] / total
            members[orders] |= 1 << number
        return [(chance, orders, members[orders]) for orders, chance in chances.items() if chance > 0]


def _players_in(mask: int) -> Sequence[int]:
    return [number for number in range(mask.bit_length()) if mask >> number & 1]
