"""The transcript of games that are played together: positions and past phases in words, for players that want them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from agents.rl.token_press import Said
from welfare_env.board.board import Board
from welfare_env.engine import State, layout_of
from welfare_env.engine.fast import FastEngine
from welfare_env.envs.vector import LegalLists
from welfare_env.game.history import PhaseRecord, play_phase
from welfare_env.game.position import Position
from welfare_env.rules import Rules


@dataclass(frozen=True)
class _Phase:
    """A phase of all games: their states [games, size], and what was ordered, as columns [orders]; words."""

    states: np.ndarray
    games: np.ndarray
    powers: np.ndarray
    numbers: np.ndarray
    said: Said


class Transcript:
    """What has happened in games that began together, and play their phases together.

    Everything is kept as arrays, and put into words when somebody reads it.

    Attributes:
        states: int32 [games, size], the present positions; set by `turn`.
    """

    states: np.ndarray

    def __init__(self, board: Board, rules: Rules) -> None:
        self._engine, self._layout = FastEngine(board, rules), layout_of(board)
        self._phases: list[_Phase] = []
        self._records: dict[int, list[PhaseRecord]] = {}
        self._positions: dict[int, Position] = {}

    def begin(self) -> None:
        """New games begin; what happened in the last ones is forgotten."""
        self._phases, self._records, self._positions = [], {}, {}

    def turn(self, states: np.ndarray) -> None:
        """A phase begins in states int32 [games, size], which are kept: give a copy."""
        self.states, self._positions = states, {}

    def add(self, legal: LegalLists, choices: np.ndarray, said: Said) -> None:
        """All games play the phase with these choices of `vector_env`, and what was said in it."""
        rows = np.flatnonzero(choices >= 0)
        numbers = legal.orders[legal.starts[rows] + choices[rows]]
        self._phases.append(_Phase(self.states, legal.games[rows], legal.powers[rows], numbers, said.copy()))

    def position(self, game: int) -> Position:
        """The present position of a game."""
        if game not in self._positions:
            self._positions[game] = Position(self._engine, State(self._layout, self.states[game].copy()))
        return self._positions[game]

    def history(self, game: int) -> Sequence[PhaseRecord]:
        """The phases that a game has played."""
        return _History(self, game, len(self._phases))

    def record(self, game: int, number: int) -> PhaseRecord:
        """A phase that a game has played, from 0."""
        known = self._records.setdefault(game, [])
        while len(known) <= number:
            known.append(self._read(self._phases[len(known)], game))
        return known[number]

    def _read(self, phase: _Phase, game: int) -> PhaseRecord:
        position = Position(self._engine, State(self._layout, phase.states[game].copy()))
        rows = np.flatnonzero(phase.games == game)
        powers, numbers = phase.powers[rows], phase.numbers[rows]
        orders = {name: numbers[powers == power].tolist() for power, name in enumerate(position.board.powers)}
        return play_phase(position, orders, messages=tuple(phase.said.messages(game, position.phase)))


class _History(Sequence[PhaseRecord]):
    """The records of a game, each made when it is read."""

    def __init__(self, transcript: Transcript, game: int, length: int) -> None:
        self._transcript, self._game, self._length = transcript, game, length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> PhaseRecord: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[PhaseRecord]: ...
    def __getitem__(self, at: int | slice) -> PhaseRecord | Sequence[PhaseRecord]:
        if isinstance(at, slice):
            return [self._transcript.record(self._game, number) for number in range(*at.indices(self._length))]
        return self._transcript.record(self._game, range(self._length)[at])
