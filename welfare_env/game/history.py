"""The history of a game: the phases played so far."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from welfare_env.board.orders import WAIVE
from welfare_env.checks import quoted
from welfare_env.engine import ADJUSTMENTS, RESULTS, RETREATS
from welfare_env.errors import UnknownPowerError
from welfare_env.game.position import Position, PublicPosition
from welfare_env.game.press import Message


@dataclass(frozen=True)
class Void:
    """An illegal order that was submitted; its unit holds (or disbands, or is not built)."""

    order: str
    reason: str


class PhaseRecord(PublicPosition):
    """A phase that has been played. Read-only: properties return copies.

    `position`, `units`, `centers` and `welfare` describe its start; the outcome is in `after`.

    Attributes:
        after: the resulting position: the next phase, or the end of the game.
        messages: in the order they were sent.
    """

    def __init__(
        self,
        position: Position,
        after: Position,
        orders: Mapping[str, tuple[str, ...]],
        void: Mapping[str, tuple[Void, ...]],
        results: Mapping[str, Sequence[str]],
        messages: tuple[Message, ...],
    ) -> None:
        self._position = position
        self.after = after
        self.messages = messages
        self._orders, self._void, self._results = orders, void, results
        self._seen_by: dict[str, PhaseRecord] = {}

    def __repr__(self) -> str:
        orders = sum(map(len, self._orders.values()))
        return f"<PhaseRecord of {self.phase}: orders: {orders}, messages: {len(self.messages)}>"

    @property
    def orders(self) -> dict[str, tuple[str, ...]]:
        """Power -> the legal orders that were executed, in the order given."""
        return dict(self._orders)

    @property
    def void(self) -> dict[str, tuple[Void, ...]]:
        """Power -> orders that were refused; only powers that have any."""
        return dict(self._void)

    @property
    def results(self) -> dict[str, list[str]]:
        """Unit -> the results of its order, in the `diplomacy` package's terms; an empty list is success.

        The terms are "bounce", "void", "cut", "dislodged", "disrupted", "no convoy" and "disband". In Winter only
        forced removals have a result.
        """
        return {unit: list(words) for unit, words in self._results.items()}

    def seen_by(self, player: str) -> PhaseRecord:
        """The record without the messages and refused orders hidden from `player`.

        Raises:
            UnknownPowerError: not a name.
        """
        if not isinstance(player, str):
            raise UnknownPowerError(f"player={quoted(player)}: give the name of a power")
        if player not in self._seen_by:  # cached, since players read the whole history in every phase
            self._seen_by[player] = self._only_for(player)
        return self._seen_by[player]

    def _only_for(self, player: str) -> PhaseRecord:
        visible = tuple(message for message in self.messages if message.is_visible_to(player))
        own_void = {power: void for power, void in self._void.items() if power == player}
        return PhaseRecord(self.position, self.after, self._orders, own_void, self._results, visible)


def play_phase(
    position: Position,
    orders: Mapping[str, Sequence[int]],
    void: Mapping[str, tuple[Void, ...]] | None = None,
    messages: tuple[Message, ...] = (),
) -> PhaseRecord:
    """Resolve a phase. The record's `after` is the next position with orders to give, or the end of the game.

    Args:
        orders: power -> the numbers of its legal orders (`Board.orders`); powers left out give no orders.
        void, messages: for the record only.
    """
    board = position.board
    given = {power: tuple(orders.get(power, ())) for power in board.powers}
    numbers = [np.array([number for number in given[power] if number != WAIVE], np.int32) for power in board.powers]
    state, flags = position.engine.step(position.state, numbers)
    texts = {power: tuple(board.orders.texts[number] for number in given[power]) for power in board.powers}
    after = Position(position.engine, state)
    return PhaseRecord(position, after, texts, void or {}, _results(position, flags), messages)


def _results(position: Position, flags: np.ndarray) -> dict[str, tuple[str, ...]]:
    rows = position.state.dislodged if position.state.phase_type == RETREATS else position.state.units
    pieces = position.board.pieces
    named = {pieces[piece]: _words(flag) for piece, flag in zip(rows[:, 1].tolist(), flags.tolist(), strict=True)}
    if position.state.phase_type == ADJUSTMENTS:
        return {unit: result for unit, result in named.items() if result}
    return named


@functools.cache
def _words(flag: int) -> tuple[str, ...]:
    """The results in one of the engine's flags."""
    return tuple(word for bit, word in enumerate(RESULTS) if flag >> bit & 1)
